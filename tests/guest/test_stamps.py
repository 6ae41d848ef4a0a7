"""Stamps of captured packets: those of one tap stand in the order of arrival, and never run backwards."""

from pathlib import Path

import numpy as np

from gauntlet.certificate.capture import CAPTURE_BYTES, read_capture
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import load_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import ROOT, Play

LINK = "mid>east"
RESET = 0x04
"""The flag of TCP's header."""


def test_a_reset_behind_a_segment_of_the_same_instant_is_not_stamped_before_it(
    play: Play, tmp_path: Path
) -> None:
    """Once it was, by two readings of the clock: the kernel stamps a segment of TCP, which bears the instant
    of its departure, only when its turn comes, and a reset for which there is no socket when it is put in
    line.
    """
    study = ROOT / "studies" / "en50159" / "experiments" / "availability-both-sides.toml"
    specs = {spec.id: spec for spec in expand(load_experiment(study, seed=731846))}
    run = plan_run(specs["rasta-tls_freshness-on_threat-delay_rep-028"])
    record = play(run)[run["id"]]
    packets = tmp_path / "out" / run["id"] / "packets.bin"
    taps = [(tap["tap"], tap["link"]) for tap in record["taps"]]
    capture = read_capture(packets, CAPTURE_BYTES["headers"], taps)
    assert all((np.diff(tap.time_ns) >= 0).all() for tap in capture.taps.values())
    tap = capture.taps[LINK]
    flags = np.array([_flags(capture.packet(row)) for row in tap.rows])
    behind = (np.diff(tap.time_ns) == 0) & (flags[:-1] & RESET == 0) & (flags[1:] == RESET)
    assert behind.any(), "the run no longer has what this is about"


def _flags(packet: bytes) -> int:
    return packet[(packet[0] & 15) * 4 + 13]
