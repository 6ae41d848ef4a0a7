"""The certificate: code that shares nothing with the emulator replays a run's captured packets and says
whether the network did what was asked."""

from gauntlet.certificate.certify import certify

__all__ = ["certify"]
