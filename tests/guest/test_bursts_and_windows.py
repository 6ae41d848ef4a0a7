"""Token bucket, segmentation offload and initial window: each with an answer that is known beforehand, and
the certificate knows what was asked.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gauntlet.certificate import certify
from gauntlet.certificate.capture import CAPTURE_BYTES, record_dtype
from tests.guest.conftest import Play, run_plan, tcp_flow

MSS_BYTES = 1448
PACKET_BYTES = 1500
RATE_BPS = 5_200_000

Records = npt.NDArray[np.void]


def _flow(size_bytes: int = 200_000, **params: Any) -> dict[str, Any]:
    return tcp_flow(size_bytes, stack_params={"congestion_control": "cubic", **params})


def _with_bucket(size_bytes: int, **changes: Any) -> dict[str, Any]:
    timeline = [
        {**entry, "burst_bytes": size_bytes} if "rate_bps" in entry else entry
        for entry in run_plan()["timeline"]
    ]
    return run_plan(timeline=timeline, **changes)


def _seen(folder: Path, link: str) -> Records:
    """The packets of a tap, in order."""
    record = json.loads((folder / "record.json").read_text())
    number = next(tap["tap"] for tap in record["taps"] if tap["link"] == link)
    packets: Records = np.fromfile(folder / "packets.bin", record_dtype(CAPTURE_BYTES["headers"]))
    found: Records = packets[packets["tap"] == number]
    return found


def _payload_bytes(packets: Records) -> npt.NDArray[np.int64]:
    """Of TCP over IPv4."""
    header = packets["packet"][:, 32].astype(np.int64) >> 4
    return packets["length"].astype(np.int64) - 20 - 4 * header


def _checks(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The certificate's checks by name; that it is trusted is part of every test here."""
    found = certify(run, folder)
    failed = [check["sentence"] for check in found["checks"] if not check["passed"]]
    assert found["trusted"], failed
    return {check["name"]: check for check in found["checks"]}


@pytest.mark.parametrize("stack", ["tcp", "mptcp", "tls"])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_the_first_flight_is_as_long_as_the_initial_window(
    play: Play, tmp_path: Path, stack: str, direction: str
) -> None:
    """Whichever host sends: the route at either end has it."""
    ends = {"from": "client", "to": "server"} if direction == "up" else {"from": "server", "to": "client"}
    windows = {"usual": None, "three": 3, "thirty": 30}
    runs = []
    for name, segments in windows.items():
        own = {} if segments is None else {"initial_window_segments": segments}
        flow = _flow(**own) | {"stack": stack} | ends
        runs.append(run_plan(id=name, flows=[flow]))
    records = play(*runs)
    out = "client>west" if direction == "up" else "server>east"
    back = "mid>west" if direction == "up" else "mid>east"
    for run in runs:
        segments = windows[run["id"]]
        folder = tmp_path / "out" / run["id"]
        assert records[run["id"]]["flows"][0]["outcome"] == "ok"
        checks = _checks(run, folder)
        assert ("initial_window" in checks) == (segments is not None)
        data, answers = _seen(folder, out), _seen(folder, back)
        sends = _payload_bytes(data) > 0
        if stack != "tcp":
            # Handshakes and options of their own have data acknowledged before the flow's begin.
            if segments is not None:
                assert checks["initial_window"]["measured"]["segments"] <= segments
            continue
        first_ns = data["time_ns"][sends][0]
        flight = (data["time_ns"] < first_ns + 45_000_000) & sends
        assert flight.sum() == (segments or 10), run["id"]
        assert len(answers)
        if segments is not None:
            assert checks["initial_window"]["measured"]["segments"] == segments


def test_a_larger_window_ends_a_small_transfer_sooner(play: Play) -> None:
    """40 segments are 3, 6, 12, 19 with one window and 30, 10 with the other: two round trips less."""
    flows = {n: _flow(40 * MSS_BYTES, initial_window_segments=n) for n in (3, 30)}
    records = play(*(run_plan(id=f"w{n}", flows=[flow]) for n, flow in flows.items()))
    took_s = {n: records[f"w{n}"]["flows"][0]["last_received_s"] for n in flows}
    assert 0.08 < took_s[3] - took_s[30] < 0.12, took_s


def test_the_certificate_does_not_take_the_plans_word_for_the_window(play: Play, tmp_path: Path) -> None:
    """The kernel's ten segments are neither three nor thirty."""
    run = run_plan(flows=[_flow()])
    play(run)
    for segments, said in ((3, "before any was acknowledged"), (30, "although it had more")):
        asked = {**run, "flows": [_flow(initial_window_segments=segments)]}
        failed = [it for it in certify(asked, tmp_path / "out" / "run")["checks"] if not it["passed"]]
        assert [it["name"] for it in failed] == ["initial_window"]
        assert said in failed[0]["sentence"]


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ([_flow(initial_window_segments=0)], "it must be from 1 to 122"),
        ([_flow(initial_window_segments=123)], "it must be from 1 to 122"),
        (
            [_flow(initial_window_segments=3), tcp_flow(id="f1")],
            "flow f1 between the same hosts has another initial window",
        ),
        ([tcp_flow(stack="sctp", stack_params={"initial_window_segments": 3})], "unknown field"),
        (
            [tcp_flow(stack="tls", stack_params={"transport": "sctp", "initial_window_segments": 3})],
            "unknown field",
        ),
    ],
)
def test_a_window_that_cannot_be_is_refused_in_a_sentence(
    play: Play, flows: list[dict[str, Any]], said: str
) -> None:
    record = play(run_plan(flows=flows))["run"]
    assert record["outcome"] == "failed"
    assert said in record["reason"]


def test_what_a_full_bucket_holds_passes_at_once(play: Play, tmp_path: Path) -> None:
    """Of a first flight of 40 packets, 20 find tokens in 31 kB; the others leave one by one at the rate."""
    wide = _with_bucket(31_000, id="wide", flows=[_flow(initial_window_segments=40)])
    usual = run_plan(id="usual", flows=[_flow(initial_window_segments=40)])
    play(wide, usual)
    packet_ns = PACKET_BYTES * 8 * 1_000_000_000 // RATE_BPS
    # The bucket is full but for the handshake's last packet. The first one behind the burst finds what is
    # left of the tokens, which do not come to a whole number of packets.
    for run, burst in ((usual, 1), (wide, 20)):
        folder = tmp_path / "out" / run["id"]
        checks = _checks(run, folder)
        assert checks["pace"]["answer"] == checks["rate"]["answer"] == "confirmed"
        packets = _seen(folder, "west>mid")
        left_ns = packets["time_ns"][_payload_bytes(packets) == MSS_BYTES].astype(np.int64)[:40]
        gaps_ns = np.diff(left_ns)
        assert (gaps_ns[: burst - 1] < 50_000).all(), gaps_ns
        assert (np.abs(gaps_ns[burst:] - packet_ns) < 20_000).all(), gaps_ns


def test_another_bucket_than_asked_is_noticed(play: Play, tmp_path: Path) -> None:
    wide = _with_bucket(30_000, id="wide", flows=[_flow(initial_window_segments=40)])
    usual = run_plan(id="usual", flows=wide["flows"])
    play(wide, usual)
    for run, other, said in ((wide, usual, "faster than asked"), (usual, wide, "slower than asked")):
        folder = tmp_path / "out" / run["id"]
        record = json.loads((folder / "record.json").read_text())
        asked = {**run, "timeline": other["timeline"]}
        # The record tells the changes that were asked for, as one of the other bucket would.
        for made, planned in zip(record["timeline"], asked["timeline"], strict=True):
            made.pop("burst_bytes", None)
            made.update({key: value for key, value in planned.items() if key == "burst_bytes"})
        (folder / "record.json").write_text(json.dumps(record))
        failed = [it for it in certify(asked, folder)["checks"] if not it["passed"]]
        assert {it["name"] for it in failed} <= {"rate", "pace"}
        assert any(said in it["sentence"] for it in failed), failed


@pytest.fixture
def bursts() -> dict[str, dict[str, Any]]:
    """A flight of 40 packets that reaches the receiver at one instant, without and with offload there."""
    usual = _with_bucket(64_000, id="off", flows=[_flow(100_000, initial_window_segments=40)])
    return {"off": usual, "on": {**usual, "id": "on", "offload": True}}


def test_a_host_with_offload_merges_what_comes_at_once(
    play: Play, tmp_path: Path, bursts: dict[str, dict[str, Any]]
) -> None:
    """It acknowledges the segments that the sender made, which at this rate have two packets each (Linux,
    `tcp_tso_autosize`), where it acknowledges each of the first 16 packets without (`TCP_MAX_QUICKACKS`). On
    every link there are packets of at most an MTU all the same.
    """
    records = play(*bursts.values())
    steps: dict[str, npt.NDArray[np.int64]] = {}
    for name, run in bursts.items():
        folder = tmp_path / "out" / name
        assert records[name]["flows"][0]["outcome"] == "ok"
        _checks(run, folder)
        flight = _seen(folder, "east>server")
        data = flight[_payload_bytes(flight) > 0]
        burst = data["time_ns"][data["time_ns"] < data["time_ns"][0] + 1_000_000]
        assert len(burst) == 40
        record = json.loads((folder / "record.json").read_text())
        for tap in record["taps"]:
            assert _seen(folder, tap["link"])["length"].max() <= PACKET_BYTES, tap["link"]
        answers = _seen(folder, "server>east")
        of_burst = answers["packet"][answers["time_ns"] < data["time_ns"][0] + 1_000_000]
        acknowledged = np.ascontiguousarray(of_burst[:, 28:32]).view(">u4")[:, 0].astype(np.int64)
        steps[name] = np.diff(acknowledged)
        assert steps[name].sum() >= 38 * MSS_BYTES
    assert (steps["off"][:16] == MSS_BYTES).all()
    assert (steps["on"] >= 2 * MSS_BYTES).all()


def test_loss_meets_single_packets_with_offload(play: Play, tmp_path: Path) -> None:
    """What is lost of a burst is packets here and there; the certificate counts them as it always does."""
    timeline = [
        {**entry, "loss": 0.05} if "delay_s" in entry else entry for entry in _with_bucket(64_000)["timeline"]
    ]
    flow = _flow(2_000_000, initial_window_segments=40)
    run = run_plan(timeline=timeline, flows=[flow], offload=True)
    record = play(run)["run"]
    assert record["flows"][0]["outcome"] == "ok"
    checks = certify(run, tmp_path / "out" / "run")
    assert checks["trusted"], [it["sentence"] for it in checks["checks"] if not it["passed"]]
    (lost,) = [it for it in checks["checks"] if (it["name"], it["link"]) == ("loss", "mid>east")]
    assert lost["answer"] == "confirmed"
    (counted,) = [it["dropped_packets"] for it in record["links"] if it["link"] == "mid>east"]
    # Of 1,400 packets and repetitions 5 %, and each was one packet.
    assert 40 < counted < 120


@pytest.mark.parametrize("stack", ["sctp", "quic-quinn", "restp", "udp"])
def test_other_transports_keep_what_they_promise_with_offload(play: Play, tmp_path: Path, stack: str) -> None:
    params = {"profile": "file_arq"} if stack == "restp" else {}
    app: dict[str, Any] = {"app": "bulk", "app_params": {"size_bytes": 300_000}}
    if stack == "udp":
        app = {"app": "cbr", "app_params": {
            "rate_bps": 2_000_000, "message_size_bytes": 1000, "duration_s": 2.0}}  # fmt: skip
    flow = tcp_flow(stack=stack, stack_params=params, **app)
    run = _with_bucket(64_000, flows=[flow], offload=True)
    record = play(run)["run"]
    (result,) = record["flows"]
    assert result["outcome"] == "ok", result
    assert result["received_bytes"] == result["sent_bytes"]
    _checks(run, tmp_path / "out" / "run")


def test_on_the_railway_network_too(play: Play, tmp_path: Path) -> None:
    """Through a switch and a tunnel."""
    delay = [{"at_s": 0.0, "link": link, "delay_s": 0.02} for link in ("ra>rabc", "rabc>ra")]
    rate = [
        {"at_s": 0.0, "link": link, "rate_bps": 20_000_000, "burst_bytes": 64_000}
        for link in ("rasa>ra", "rbsb>rb")
    ]
    flow = _flow(1_000_000, initial_window_segments=30) | {"from": "tc1", "to": "tsb1"}
    run = run_plan(network={"preset": "rail-d34"}, timeline=[*rate, *delay], flows=[flow], offload=True)
    record = play(run)["run"]
    assert record["flows"][0]["outcome"] == "ok", record["flows"]
    checks = _checks(run, tmp_path / "out" / "run")
    assert checks["initial_window"]["measured"]["segments"] == 30


def test_beside_an_in_path_node(play: Play, tmp_path: Path) -> None:
    """It stands between the hosts that cut and merge, and sees packets as they are on the link."""
    nodes = [
        {"node": "near", "between": ["client", "west"], "rules": []},
        {"node": "far", "between": ["east", "server"], "rules": []},
    ]
    run = run_plan(flows=[_flow()], offload=True, in_path=nodes)
    record = play(run)["run"]
    assert record["flows"][0]["outcome"] == "ok", record["flows"]
    assert all(node["refused_packets"] == 0 for node in record["in_path"])
    _checks(run, tmp_path / "out" / "run")


def test_damage_right_before_a_host_that_merges_is_refused(play: Play) -> None:
    timeline = [*run_plan()["timeline"], {"at_s": 0.0, "link": "east>server", "corrupt": 0.01}]
    record = play(run_plan(timeline=timeline, flows=[_flow()], offload=True))["run"]
    assert record["outcome"] == "failed"
    assert "leads to a host with `offload`" in record["reason"]
