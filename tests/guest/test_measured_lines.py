"""A line is exported, imported, played and captured: what is imported from the capture is the line again."""

from collections import Counter
from pathlib import Path

import pytest

from gauntlet.results import layout
from gauntlet.scenario import read_trace
from gauntlet.scenario.measured import packets
from tests.guest.conftest import gauntlet

LINE = """t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes
0,4000000,4000000,0.02,0.02,0,0,64000
20,1500000,1500000,0.02,0.02,0,0,64000
40,6000000,6000000,0.02,0.02,0,0,64000
# end_s=60
"""
EXPERIMENT = """
[experiment]
name = "measured"
repetitions = 1
[scenario]
name = "link.csv"
[matrix]
protocols = ["udp"]
[workload]
app = "cbr"
rate = "7Mbit/s"
direction = "up"
duration = "58s"
"""


def test_export_replay_and_import_give_the_rate_back_within_5_percent(tmp_path: Path) -> None:
    """UDP sends more than the link takes, and what arrives is its rate."""
    (tmp_path / "line.csv").write_text(LINE)
    (tmp_path / "own.toml").write_text(EXPERIMENT)
    for words in (
        ("scenario", "export", "line.csv", "line", "--format", "mahimahi"),
        (
            "scenario",
            "import",
            "line.up",
            "line.down",
            "--delay",
            "20ms",
            "--queue",
            "64kB",
            "--out",
            "link.csv",
        ),
        ("run", "own.toml", "--out", "results", "--capture", "--quiet"),
    ):
        answer = gauntlet(*words, cwd=tmp_path)
        assert answer.code == 0, answer.err
    [capture] = (tmp_path / "results").rglob(layout.CAPTURE)
    found = packets.read(capture)
    arrived = found.interfaces.index("mid>east")
    sources = Counter(packet.source for packet in found.packets if packet.interface == arrived)
    [(train, _)] = sources.most_common(1)
    answer = gauntlet(
        "scenario", "import", capture, "--terminal", train, "--interface", "mid>east", "--loaded", "up",
        "--delay", "20ms", "--out", "back.csv", cwd=tmp_path,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    back = read_trace(tmp_path / "back.csv")
    # The flow begins within the first second or two of the line.
    for from_s, to_s, rate_bps in ((3, 17, 4e6), (23, 37, 1.5e6), (43, 54, 6e6)):
        assert back.mean("rate_up_bps", from_s, to_s) == pytest.approx(rate_bps, rel=0.05)
