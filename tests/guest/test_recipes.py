"""Programs of Debian on the line, where they are installed (docs/guide/recipes.md)."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gauntlet import report

from .conftest import gauntlet

RECIPES = Path(__file__).parents[2] / "experiments" / "recipes.toml"
LINE = ("--scenario", "constant", "-p", "rate=5Mbit/s", "-p", "delay=25ms")
SERVER = ("--server", "iperf3 -s -1")

with_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
with_ditg = pytest.mark.skipif(shutil.which("ITGSend") is None, reason="D-ITG is not installed")
with_ngtcp2 = pytest.mark.skipif(
    shutil.which("gtlsclient") is None, reason="ngtcp2's client is not installed"
)


with_gstreamer = pytest.mark.skipif(
    shutil.which("gst-launch-1.0") is None, reason="GStreamer's tools are not installed"
)


@with_iperf3
def test_iperf3_has_what_the_line_leaves_of_its_rate(tmp_path: Path) -> None:
    command = "iperf3 -c trackside -t 40 -O 10 -J"
    answer = gauntlet("exec", *LINE, *SERVER, "--", "sh", "-c", command, cwd=tmp_path)
    assert answer.code == 0, answer.err
    rate_bps = json.loads(answer.out)["end"]["sum_received"]["bits_per_second"]
    assert rate_bps == pytest.approx(5e6 * 1448 / 1500, rel=0.001)


@with_iperf3
def test_its_datagrams_arrive_at_the_rate_that_is_asked_for(tmp_path: Path) -> None:
    command = "iperf3 -c trackside -u -b 1M -l 1000 -t 20 -J"
    answer = gauntlet("exec", *LINE, *SERVER, "--", "sh", "-c", command, cwd=tmp_path)
    assert answer.code == 0, answer.err
    end = json.loads(answer.out)["end"]["sum"]
    assert end["bits_per_second"] == pytest.approx(1e6, rel=0.001)
    assert end["lost_packets"] == 0


def of_d_itg(folder: Path, size_bytes: int, packets_a_second: int) -> dict[str, float]:
    """What D-ITG's receiver says of datagrams at a steady pace."""
    pace = ["-T", "UDP", "-c", str(size_bytes), "-C", str(packets_a_second), "-t", "10000"]
    command = ["ITGSend", "-a", "trackside", *pace, "-l", "sent.log"]
    answer = gauntlet("exec", *LINE, "--server", "exec ITGRecv -l received.log", "--", *command, cwd=folder)
    assert answer.code == 0, answer.err
    decoder = ["ITGDec", "received.log"]
    told = subprocess.run(decoder, capture_output=True, text=True, check=True, cwd=folder).stdout
    found = re.findall(r"^(\w[\w ]*?) +=\s+([\d.]+)", told.partition("TOTAL RESULTS")[2], re.MULTILINE)
    return {name: float(value) for name, value in found}


@with_ditg
def test_d_itg_has_what_the_line_leaves_of_its_rate(tmp_path: Path) -> None:
    told = of_d_itg(tmp_path, 1400, 600)
    assert told["Average bitrate"] == pytest.approx(5e3 * 1400 / 1428, rel=0.001)
    assert told["Packets dropped"] > 0, "more was sent than the line takes"


@with_ditg
def test_d_itg_finds_the_delay_of_the_line(tmp_path: Path) -> None:
    told = of_d_itg(tmp_path, 1000, 25)
    assert told["Packets dropped"] == 0
    # The ends have one clock.
    assert told["Average delay"] == pytest.approx(0.025, rel=0.001)


@with_ngtcp2
def test_curl_and_ngtcp2_are_stacks_of_an_experiment(tmp_path: Path) -> None:
    answer = gauntlet("run", RECIPES, "--repetitions", "1", "--out", tmp_path / "r", "--quiet")
    assert answer.code == 0, answer.err
    data = report.summary(tmp_path / "r")
    assert data["trust"]["trusted"] == 2
    cells = [it for it in data["cells"] if it["kpi"] == "download_time_s"]
    assert {it["protocol"] for it in cells} == {"curl", "ngtcp2"}
    for cell in cells:
        # 500 kB at 5.2 Mbit/s take 0.77 s at the very least.
        assert cell["completed"] == 1
        assert 0.77 < cell["mean"] < 10


def frames_of_video(folder: Path, loss: str) -> list[int]:
    """The sizes in bytes of the frames that came whole of 250 that GStreamer encodes and sends."""
    receive, send = (f"sh {RECIPES.parent}/recipes/video-{end}.sh" for end in ("receive", "send"))
    line = ("--scenario", "constant", "-p", "rate=4Mbit/s", "-p", "delay=30ms", "--loss", loss)
    folder.mkdir()
    answer = gauntlet("exec", *line, "--server", receive, "--", *send.split(), cwd=folder)
    assert answer.code == 0, answer.err
    return [frame.stat().st_size for frame in sorted((folder / "frames").iterdir())]


@with_gstreamer
def test_a_real_encoders_frames_come_whole_where_nothing_is_lost(tmp_path: Path) -> None:
    whole = frames_of_video(tmp_path / "whole", "0%")
    assert len(whole) == 250
    assert 8 * sum(whole) / 10 == pytest.approx(1e6, rel=0.15)
    damaged = frames_of_video(tmp_path / "damaged", "1%")
    # Five packets a frame on average, more in key frames: with independent losses 0.99^5 of the frames.
    assert 200 <= len(damaged) <= 245
    assert frames_of_video(tmp_path / "again", "1%") == damaged
