"""`gauntlet show`: the packets of one end, listed and written."""

import json
from pathlib import Path

from gauntlet.results import pcapng
from tests.cli.conftest import Gauntlet
from tests.results.test_pcapng import PLAN, ip_packet, parse, write_record


def run(folder: Path) -> Path:
    """A run over a wire, of which one packet each way was captured."""
    folder.mkdir()
    write_record(folder, [(10, 3, ip_packet(100, 1)), (20, 7, ip_packet(60, 2))])
    pcapng.convert(folder, PLAN, folder / "capture.pcapng")
    taps = [
        {"tap": tap, "link": link, "captured_packets": 1} for tap, link in ((3, "rasa>ra"), (7, "sb>tsb1"))
    ]
    paths = [{"flow": "f0", "forward": ["rasa>ra"], "return": ["sb>tsb1"]}]
    (folder / "record.json").write_text(json.dumps({"taps": taps, "paths": paths}))
    flow = {"id": "f0", "from": "tc1", "to": "tsb1"}
    (folder / "plan.json").write_text(json.dumps({"network": {"preset": "rail-d34"}, "flows": [flow]}))
    return folder


def test_places_are_listed(gauntlet: Gauntlet, tmp_path: Path) -> None:
    told = gauntlet("show", str(run(tmp_path / "a-run"))).stdout
    assert told == (
        "train: rasa>ra, sb>tsb1\ntrackside: rasa>ra, sb>tsb1\nrasa>ra: 1 packets\nsb>tsb1: 1 packets\n"
    )


def test_a_file_has_the_packets_of_one_tap(gauntlet: Gauntlet, tmp_path: Path) -> None:
    place = tmp_path / "out.pcapng"
    done = gauntlet("show", str(run(tmp_path / "a-run")), "--tap", "rasa>ra", "--out", str(place))
    assert (done.exit_code, done.stdout) == (0, f"{place}\n")
    names, packets = parse(place.read_bytes())
    assert (names, len(packets)) == (["rasa>ra"], 1)


def test_what_cannot_be_shown_is_a_sentence(gauntlet: Gauntlet, tmp_path: Path) -> None:
    folder = run(tmp_path / "a-run")
    assert (
        "choose train, trackside, rasa>ra, sb>tsb1" in gauntlet("show", str(folder), "--tap", "tunnel").stderr
    )
    (folder / "capture.pcapng").unlink()
    assert "play it again with --capture" in gauntlet("show", str(folder)).stderr
    assert "no run is there" in gauntlet("show", str(tmp_path)).stderr
