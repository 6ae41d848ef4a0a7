"""Captures as people expect them who look with Wireshark: checksums fit, nothing seems to be sent twice."""

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import gauntlet

EXPERIMENT = """
[experiment]
name = "captured"
repetitions = 1
[scenario]
name = "hsr"
start = "20min"
[record]
packets = "full"
[matrix]
protocols = ["tcp-cubic"]
[workload]
app = "bulk"
size = "500kB"
"""
WRONG = "ip.checksum.status == 0 || tcp.checksum.status == 0"
AGAIN = "tcp.analysis.retransmission || tcp.analysis.duplicate_ack || tcp.analysis.out_of_order"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_what_one_end_saw_has_no_wrong_checksum_and_no_repetition(tmp_path: Path) -> None:
    (tmp_path / "captured.toml").write_text(EXPERIMENT)
    played = gauntlet("run", "captured.toml", "--capture", "--out", "r", "--quiet", cwd=tmp_path)
    assert played.code == 0, played.err
    for place in ("train", "trackside"):
        shown = gauntlet("show", "r/runs/tcp-cubic_rep-001", "--tap", place, cwd=tmp_path)
        assert shown.code == 0, shown.err
        capture = tmp_path / shown.out.strip()
        # Both directions, each packet once: 500,000 bytes are 346 segments of 1448.
        assert 346 <= _count(capture, "tcp.len > 0") < 360
        assert _count(capture, "tcp.len == 0") > 100
        assert _count(capture, WRONG) == 0
        assert _count(capture, AGAIN) == 0


def _count(capture: Path, which: str) -> int:
    command = ["tshark", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    told = subprocess.run([*command, "-Y", which], capture_output=True, text=True, check=True)
    return len(told.stdout.splitlines())
