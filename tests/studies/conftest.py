"""Commands for tests of studies, run as those of the command line are."""

from tests.cli.conftest import gauntlet

__all__ = ["gauntlet"]
