"""Forgeries of an in-path node against real stacks: what resets a connection, and what is nothing to it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.certificate.certify import certify
from tests.guest.conftest import Play, run_plan, tcp_flow

MALLORY = {"node": "mallory", "between": ["east", "server"]}
WHOLE = {"messages": True, "socket_interval_s": None, "packets": "full", "taps": None}
UP, DOWN = {"towards": "server"}, {"towards": "client"}
QUIC = ("quic-quinn", "quic-s2n")


def _flow(stack: str, **changes: Any) -> dict[str, Any]:
    return tcp_flow(300_000, stack=stack, stack_params={"congestion_control": "cubic"}, **changes)


def _run(
    name: str, stack: str, match: Mapping[str, Any], do: Mapping[str, Any], *more: Any
) -> dict[str, Any]:
    rules = [{"id": "r", "match": dict(match), "do": dict(do)}, *more]
    # The node's neighbours by its own names.
    for rule in rules:
        if rule["match"].get("towards") == "client":
            rule["match"]["towards"] = "east"
    node = {**MALLORY, "rules": rules}
    return run_plan(id=name, flows=[_flow(stack)], in_path=[node], record=WHOLE, limit_s=60.0)


def _trusted(runs: list[dict[str, Any]], folder: Path) -> None:
    for run in runs:
        found = certify(run, folder / "out" / run["id"])
        assert found["trusted"], [check["sentence"] for check in found["checks"] if not check["passed"]]


def _kernel(record: Mapping[str, Any], node: str) -> dict[str, int]:
    """What the kernel of a node counted."""
    (found,) = [entry["counters"] for entry in record["kernel"] if entry["node"] == node]
    return dict(found)


def test_the_exact_number_resets_tcp_and_a_guess_has_it_ask_back(play: Play, tmp_path: Path) -> None:
    # Acknowledgements of the server, so that resets come to it in the client's name.
    match = {**DOWN, "protocol": "tcp", "nth": [20, 24]}
    runs = [
        _run(guess, "tcp", match, {"action": "reset", "guess": guess, "times": 3})
        for guess in ("exact", "window", "any")
    ]
    records = play(*runs)
    _trusted(runs, tmp_path)
    flows = {name: record["flows"][0] for name, record in records.items()}
    assert flows["exact"]["outcome"] == "failed"
    assert flows["window"]["outcome"] == flows["any"]["outcome"] == "ok", flows
    for name in ("window", "any"):
        assert records[name]["in_path"][0]["inserted_packets"] == 15
        assert flows[name]["received_bytes"] == 300_000
    assert _kernel(records["window"], "server")["TcpExtTCPChallengeACK"] >= 1
    assert _kernel(records["exact"], "server")["TcpEstabResets"] == 1
    assert "TcpEstabResets" not in _kernel(records["any"], "server")


@pytest.mark.parametrize("stack", QUIC)
def test_guessed_tokens_reset_no_quic(play: Play, tmp_path: Path, stack: str) -> None:
    run = _run("run", stack, {**UP, "protocol": "udp"}, {"action": "stateless_reset", "times": 5})
    record = play(run)["run"]
    _trusted([run], tmp_path)
    assert record["flows"][0]["outcome"] == "ok", record["flows"][0]["reason"]
    node = record["in_path"][0]
    assert node["inserted_packets"] == 5 * node["rules"][0]["matched_packets"] > 100


@pytest.mark.parametrize("stack", QUIC)
def test_a_negotiation_of_versions_counts_before_anything_else_came_and_never_after(
    play: Play, tmp_path: Path, stack: str
) -> None:
    deed = {"action": "version_negotiation"}
    runs = [
        _run("first", stack, {**UP, "protocol": "udp", "nth": 1}, deed),
        # Its own version is among them: the client has to discard it.
        _run("same", stack, {**UP, "protocol": "udp", "nth": 1}, {**deed, "versions": ["00000001"]}),
    ]
    records = play(*runs)
    _trusted(runs, tmp_path)
    assert all(record["in_path"][0]["inserted_packets"] == 1 for record in records.values())
    # s2n-quic passes over it.
    assert records["first"]["flows"][0]["outcome"] == ("failed" if stack == "quic-quinn" else "ok")
    assert records["same"]["flows"][0]["outcome"] == "ok", records["same"]["flows"][0]["reason"]


@pytest.mark.parametrize("stack", QUIC)
def test_a_retry_with_a_right_tag_breaks_the_handshake_and_one_with_a_wrong_tag_does_not(
    play: Play, tmp_path: Path, stack: str
) -> None:
    match = {**UP, "protocol": "udp", "nth": 1}
    runs = [
        _run(integrity, stack, match, {"action": "retry", "integrity": integrity})
        for integrity in ("right", "wrong")
    ]
    records = play(*runs)
    _trusted(runs, tmp_path)
    assert all(record["in_path"][0]["inserted_packets"] == 1 for record in records.values())
    assert records["right"]["flows"][0]["outcome"] == "failed"
    assert records["wrong"]["flows"][0]["outcome"] == "ok", records["wrong"]["flows"][0]["reason"]


INITIAL = {"within": "payload", "offset": 0, "hex": "c000000001", "mask": "f0ffffffff"}


@pytest.mark.parametrize("stack", QUIC)
def test_sessions_that_a_retry_broke_keep_no_others_waiting(play: Play, tmp_path: Path, stack: str) -> None:
    """What the server has of a broken session stays half open for its idle time-out. Those behind quinn's
    were kept waiting, and one got its handle when it was over, which was a panic of the player."""
    match = {**UP, "protocol": "udp", "bytes": [INITIAL], "probability": 0.2}
    run = _run("run", stack, match, {"action": "retry"})
    fresh = {"message_size_bytes": 350, "interval_s": 1.0, "duration_s": 19.5, "connection": "fresh"}
    run["flows"][0].update(app="periodic", app_params=fresh)
    run["limit_s"] = 300.0
    record = play(run)["run"]
    _trusted([run], tmp_path)
    assert record["outcome"] == "ok", record["reason"]
    with pa.OSFile(str(tmp_path / "out" / "run" / "exchanges.arrow")) as file:
        exchanges = pa.ipc.open_file(file).read_all().to_pylist()
    taken_s = [
        (it["completed_ns"] - it["requested_ns"]) / 1e9 for it in exchanges if it["completed_ns"] is not None
    ]
    assert 10 <= len(taken_s) < len(exchanges) == 20
    assert max(taken_s) < 1.0


@pytest.mark.parametrize("stack", QUIC)
def test_swapped_connection_ids_make_a_packet_that_nobody_can_open(
    play: Play, tmp_path: Path, stack: str
) -> None:
    match = {**UP, "protocol": "udp", "nth": 1}
    runs = [
        _run("plain", stack, {**match, "nth": 100_000}, {"action": "drop"}),
        _run("swapped", stack, match, {"action": "swap_connection_ids"}),
        _run("drawn", stack, match, {"action": "swap_connection_ids", "draw": True}),
    ]
    records = play(*runs)
    _trusted(runs, tmp_path)
    for name in ("swapped", "drawn"):
        assert records[name]["in_path"][0]["altered_packets"] == 1
        flow = records[name]["flows"][0]
        assert flow["outcome"] == "ok", flow["reason"]
        # The client sends its first packet again when nothing has come for a while.
        assert flow["established_s"] > records["plain"]["flows"][0]["established_s"] + 0.5


@pytest.mark.parametrize("stack", ["tls", *QUIC])
def test_echoes_and_replays_beside_the_path_change_nothing_that_an_application_gets(
    play: Play, tmp_path: Path, stack: str
) -> None:
    protocol = {"protocol": "tcp" if stack == "tls" else "udp"}
    replay = {
        "action": "insert",
        "packet": {"captured": "server", "pick": "random"},
        "towards": "east",
    }
    remember = {"id": "remember", "match": {**DOWN, **protocol}, "do": {"action": "capture", "as": "server"}}
    # Behind the SYN, whose echo is a test of its own.
    later = {"nth": [2, 1_000_000]} if stack == "tls" else {}
    runs = [
        _run("echo", stack, {**UP, **protocol, **later}, {"action": "reflect", "keep": True}),
        _run("replay", stack, {**UP, **protocol}, replay, remember),
    ]
    records = play(*runs)
    _trusted(runs, tmp_path)
    for name, record in records.items():
        flow = record["flows"][0]
        assert (flow["outcome"], flow["received_bytes"]) == ("ok", 300_000), (name, flow["reason"])
        node = record["in_path"][0]
        unfit = node["rules"][0]["unfit_packets"]
        assert node["inserted_packets"] == node["rules"][0]["matched_packets"] - unfit > 50


def test_the_echo_of_a_syn_resets_the_session(play: Play, tmp_path: Path) -> None:
    run = _run("run", "tcp", {**UP, "protocol": "tcp", "nth": 1}, {"action": "reflect", "keep": True})
    record = play(run)["run"]
    _trusted([run], tmp_path)
    flow = record["flows"][0]
    assert flow["outcome"] == "failed"
    assert "reset" in flow["reason"]


def _echoed(stack: str) -> dict[str, Any]:
    """A run in which each packet of the client comes back to it at once, ahead of any answer, and goes on."""
    rule = {"id": "r", "match": {"towards": "west"}, "do": {"action": "reflect", "keep": True}}
    node = {"node": "mallory", "between": ["client", "west"], "rules": [rule]}
    return run_plan(flows=[_flow(stack)], in_path=[node], record=WHOLE, limit_s=60.0)


def test_tls_over_tcp_ends_by_its_own_client_hello(play: Play, tmp_path: Path) -> None:
    """TCP takes its own SYN for somebody who opens at the same time (RFC 9293, section 3.5) and hands on its
    own words as the other's, so that TLS gets a ClientHello where a ServerHello is due (RFC 8446, section 4).
    """
    run = _echoed("tls")
    record = play(run)["run"]
    _trusted([run], tmp_path)
    flow = record["flows"][0]
    assert flow["outcome"] == "failed"
    assert "got ClientHello" in flow["reason"], flow["reason"]
    # At least the SYN, and what the ClientHello is in.
    assert record["in_path"][0]["inserted_packets"] >= 2


@pytest.mark.parametrize("stack", QUIC)
def test_quic_outlives_its_own_echo(play: Play, tmp_path: Path, stack: str) -> None:
    run = _echoed(stack)
    record = play(run)["run"]
    _trusted([run], tmp_path)
    flow = record["flows"][0]
    assert (flow["outcome"], flow["received_bytes"]) == ("ok", 300_000), flow["reason"]
    assert record["in_path"][0]["inserted_packets"] > 50


@pytest.mark.parametrize("stack", ["tls", *QUIC])
def test_bits_that_turn_over_under_right_checksums_end_tls_and_are_nothing_to_quic(
    play: Play, tmp_path: Path, stack: str
) -> None:
    """The kernel hands on what its checksum covers: TLS has to end (RFC 8446, section 5.2), QUIC discards the
    packet (RFC 9001, section 5.5) and what was in it comes again."""
    match = {**UP, "protocol": "tcp" if stack == "tls" else "udp", "nth": [40, 42]}
    deed = {"action": "alter", "within": "payload", "bits": 1}
    runs = [_run(sums, stack, match, {**deed, "checksums": sums}) for sums in ("leave", "repair")]
    records = play(*runs)
    _trusted(runs, tmp_path)
    for name, record in records.items():
        assert record["in_path"][0]["altered_packets"] == 3
        flow = record["flows"][0]
        assert flow["outcome"] == ("failed" if (stack, name) == ("tls", "repair") else "ok"), flow["reason"]
