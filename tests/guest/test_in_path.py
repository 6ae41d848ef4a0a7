"""In-path nodes in the guest: what rules do to flows, that the same seed does the same, and that the
certificate neither doubts an honest log nor believes a false one."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gauntlet.certificate.certify import certify
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from gauntlet.results.reader import Results
from tests.documentation.snippets import blocks
from tests.guest.conftest import EXPERIMENTS, Play, gauntlet, run_plan, tcp_flow

MALLORY = {"node": "mallory", "between": ["east", "server"]}
TO_SERVER = {"towards": "server"}


def _udp_flow(**changes: Any) -> dict[str, Any]:
    """50 messages of 100 bytes, one each 20 ms, from 0.5 s on."""
    app = {"rate_bps": 40_000, "message_size_bytes": 100, "duration_s": 1.0}
    return tcp_flow(stack="udp", stack_params={}, app="cbr", app_params=app) | changes


def _stream_flow() -> dict[str, Any]:
    return _udp_flow(stack="tcp", stack_params={"congestion_control": "cubic"})


def _chunks_flow(**changes: Any) -> dict[str, Any]:
    return _udp_flow(stack="sctp", stack_params={}, **changes)


OVER: dict[str, Callable[[], dict[str, Any]]] = {"udp": _udp_flow, "tcp": _stream_flow, "sctp": _chunks_flow}
"""The transports whose messages a node knows."""


def _rule(match: Mapping[str, Any], do: Mapping[str, Any], name: str = "r") -> dict[str, Any]:
    return {"id": name, "match": dict(match), "do": dict(do)}


def _run(*rules: Mapping[str, Any], flow: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    node = {**MALLORY, "rules": list(rules)}
    return run_plan(**{"flows": [flow or _udp_flow()], "in_path": [node], "limit_s": 60.0, **changes})


def _table(folder: Path, name: str) -> list[dict[str, Any]]:
    with pa.OSFile(str(folder / name)) as source:
        rows: list[dict[str, Any]] = pa.ipc.open_file(source).read_all().to_pylist()
    return rows


def _trusted(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found = certify(run, folder)
    assert found["trusted"], [check["sentence"] for check in found["checks"] if not check["passed"]]
    return found


def _delays_s(folder: Path) -> list[float | None]:
    rows = sorted(_table(folder, "messages.arrow"), key=lambda row: row["seq"])
    return [
        None if row["received_ns"] is None else (row["received_ns"] - row["sent_ns"]) / 1e9 for row in rows
    ]


def test_a_node_without_rules_changes_nothing(play: Play, tmp_path: Path) -> None:
    for flow in (_udp_flow(), _stream_flow()):
        plain = {**_run(id="plain", flow=flow), "in_path": []}
        cut = _run(id="cut", flow=flow)
        records = play(plain, cut)
        _trusted(cut, tmp_path / "out" / "cut")
        (node,) = records["cut"]["in_path"]
        assert node["seen_packets"] == node["passed_packets"] >= 50
        delays = [_delays_s(tmp_path / "out" / name) for name in ("plain", "cut")]
        assert delays[0] == pytest.approx(delays[1], abs=1e-5)


@pytest.mark.parametrize("kind", OVER)
def test_the_tenth_message_is_four_seconds_late(play: Play, tmp_path: Path, kind: str) -> None:
    rule = _rule({"message": {"flow": "f0", "number": 10}}, {"action": "delay", "delay_s": 4.0})
    run = _run(rule, flow=OVER[kind]())
    record = play(run)["run"]
    folder = tmp_path / "out" / "run"
    _trusted(run, folder)
    delays = _delays_s(folder)
    # The first ones of TCP wait for its handshake, and share a segment.
    usual = delays[5]
    assert usual is not None
    assert delays[5:9] == pytest.approx([0.025] * 4, abs=1e-3)
    assert delays[9] == pytest.approx(usual + 4.0, abs=1e-3)
    rest = [delay for delay in delays[10:] if delay is not None]
    assert len(rest) == 40
    if kind == "udp":
        assert rest == pytest.approx([usual] * 40, abs=1e-3)
    else:
        # What is behind it in the stream (of TCP, and the only one of SCTP) waits for it.
        assert all(usual + 2.9 < delay < usual + 4.5 for delay in rest)
    assert record["flows"][0]["delivery_instants"] == ("application" if kind == "tcp" else "kernel")


def test_a_message_that_is_dropped_is_lost_to_udp_and_stops_streams(play: Play, tmp_path: Path) -> None:
    rule = _rule({"message": {"flow": "f0", "number": 10}}, {"action": "drop"})
    # Three packets a message.
    long = {"rate_bps": 1_600_000, "message_size_bytes": 4000, "duration_s": 1.0}
    runs = [
        _run(rule, id="udp"),
        _run(rule, id="tcp", flow=_stream_flow(), limit_s=10.0),
        _run(rule, id="sctp", flow=_chunks_flow(app_params=long), limit_s=10.0),
    ]
    records = play(*runs)
    for run in runs:
        _trusted(run, tmp_path / "out" / run["id"])
    assert [
        number for number, delay in enumerate(_delays_s(tmp_path / "out" / "udp"), 1) if delay is None
    ] == [10]
    # TCP and SCTP send it again and again, and each time all of it vanishes.
    for name in ("tcp", "sctp"):
        assert records[name]["flows"][0]["received_messages"] == 9
        assert records[name]["in_path"][0]["dropped_packets"] > 3


def test_altered_messages_are_thrown_away_or_believed(play: Play, tmp_path: Path) -> None:
    def altered(checksums: str) -> dict[str, Any]:
        deed = {"action": "alter", "within": "message", "bits": 2, "checksums": checksums}
        return _run(_rule({"message": {"flow": "f0", "number": 3}}, deed), id=checksums)

    runs = [altered("leave"), altered("repair")]
    records = play(*runs)
    for run in runs:
        _trusted(run, tmp_path / "out" / run["id"])
        assert records[run["id"]]["in_path"][0]["altered_packets"] == 1
    assert records["leave"]["flows"][0]["received_messages"] == 49
    assert records["leave"]["flows"][0]["outcome"] == "ok"
    believed = records["repair"]["flows"][0]
    assert believed["outcome"] == "failed"
    assert "that this flow's sender did not send" in believed["reason"]


def test_a_reset_that_the_node_makes_ends_a_connection(play: Play, tmp_path: Path) -> None:
    deed = {"action": "insert", "packet": "matched", "before": True, "set": {"tcp_flags": 4, "payload": ""}}
    for checksums, outcome in (("repair", "failed"), ("leave", "ok")):
        run = _run(
            _rule({"towards": "east", "protocol": "tcp", "nth": 20}, {**deed, "checksums": checksums}),
            flow=_stream_flow(), id=checksums,
        )  # fmt: skip
        record = play(run)[checksums]
        _trusted(run, tmp_path / "out" / checksums)
        assert record["in_path"][0]["inserted_packets"] == 1
        assert record["flows"][0]["outcome"] == outcome, record["flows"][0]


def test_other_transports_go_through_and_are_hit(play: Play, tmp_path: Path) -> None:
    stacks: dict[str, dict[str, Any]] = {
        "sctp": {"stack": "sctp", "stack_params": {}},
        "tls": {"stack": "tls", "stack_params": {"congestion_control": "cubic"}},
        "quinn": {"stack": "quic-quinn", "stack_params": {"congestion_control": "cubic"}},
        "restp": {"stack": "restp", "stack_params": {"profile": "file_arq"}},
    }
    rules = [
        _rule({"probability": 0.02}, {"action": "drop"}, "gone"),
        # One bit: no checksum overlooks it, as that of TCP does some in a thousand of three.
        _rule({"probability": 0.02}, {"action": "alter", "within": "transport", "bits": 1}, "bits"),
        _rule({"probability": 0.02}, {"action": "duplicate", "after_s": 0.002}, "twice"),
        _rule({"probability": 0.02}, {"action": "delay", "delay_s": 0.03, "jitter_s": 0.01}, "late"),
    ]
    runs = [_run(*rules, flow=tcp_flow(300_000, **stack), id=name) for name, stack in stacks.items()]
    records = play(*runs)
    for run in runs:
        record = records[run["id"]]
        assert record["flows"][0]["outcome"] == "ok", record["flows"][0]
        assert record["flows"][0]["received_bytes"] == 300_000
        (node,) = record["in_path"]
        assert all(node[f"{what}_packets"] for what in ("dropped", "altered", "copied", "late")), node
        _trusted(run, tmp_path / "out" / run["id"])


def test_openings_vanish_at_a_node_as_they_do_by_script(play: Play, tmp_path: Path) -> None:
    rule = _rule({"opening": {"flow": "f0", "packet": "syn"}, "nth": 1}, {"action": "drop"})
    at_node = _run(rule, id="node", flow=tcp_flow(20_000))
    by_script = run_plan(
        id="script", flows=[tcp_flow(20_000)],
        drops=[{"flow": "f0", "packet": "syn", "nth": 1, "link": "east>server"}],
    )  # fmt: skip
    records = play(at_node, by_script)
    finished = [records[name]["flows"][0]["finished_s"] for name in ("node", "script")]
    assert finished[0] == pytest.approx(finished[1], abs=1e-4)
    _trusted(at_node, tmp_path / "out" / "node")


MANY = [
    _rule({**TO_SERVER, "probability": 0.1}, {"action": "drop"}, "gone"),
    _rule({"probability": 0.1}, {"action": "delay", "delay_s": 0.05, "jitter_s": 0.02}, "late"),
    _rule({"every": 9}, {"action": "capture", "as": "old"}, "remember"),
    _rule({**TO_SERVER, "nth": [12, 13]}, {"action": "hold", "as": "q"}, "hold"),
    _rule({**TO_SERVER, "nth": 14}, {"action": "release", "from": "q", "order": "reversed"}, "release"),
    _rule({**TO_SERVER, "every": 10},
          {"action": "insert", "packet": {"captured": "old", "pick": "random"}, "after_s": 0.001}, "again"),
    _rule({**TO_SERVER, "every": 11},
          {"action": "insert", "packet": {"captured": "old", "same_connection": True}}, "own"),
    _rule({**TO_SERVER, "nth": [3, 6]}, {"action": "reflect", "swap": "nothing", "keep": True}, "back"),
    _rule({"probability": 0.1}, {"action": "alter", "within": "payload", "bits": 1}, "bits"),
]  # fmt: skip
"""Rules of every kind; what comes back to the client finds no socket there."""


def _many(**changes: Any) -> dict[str, Any]:
    return _run(*MANY, flow=tcp_flow(150_000), **changes)


def test_the_same_seed_gives_the_same_bytes(play: Play, tmp_path: Path) -> None:
    def played(seed: int) -> dict[str, bytes]:
        play(_many(seed=seed))
        folder = tmp_path / "out" / "run"
        found = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        shutil.rmtree(folder)
        return found

    once, again, other = played(5), played(5), played(6)
    assert set(once) >= {"record.json", "packets.bin", "in_path.arrow", "messages.arrow"}
    assert once == again
    assert once["in_path.arrow"] != other["in_path.arrow"]


def test_the_log_is_whole_and_the_certificate_confirms_it(play: Play, tmp_path: Path) -> None:
    for kept in ("headers", "full"):
        run = _many(id=kept, record={**run_plan()["record"], "packets": kept})
        record = play(run)[kept]
        folder = tmp_path / "out" / kept
        certificate = _trusted(run, folder)
        names = [check["name"] for check in certificate["checks"]]
        assert names.count("seen") == names.count("emitted") == names.count("rules") == 2
        asked = [entry for entry in certificate["impairments"] if entry["impairment"] == "in-path rules"]
        assert [entry["answer"] for entry in asked] == ["confirmed", "confirmed"]
        (node,) = record["in_path"]
        own = sum(node[f"{fate}_packets"] for fate in ("passed", "altered", "dropped", "refused", "waiting"))
        assert node["seen_packets"] == own
        for what in ("dropped", "altered", "late", "inserted"):
            assert node[f"{what}_packets"] > 0, node
        events = [row["event"] for row in _table(folder, "in_path.arrow")]
        assert events.count("seen") == node["seen_packets"]
        taps = {tap["link"]: tap["captured_packets"] for tap in record["taps"]}
        assert events.count("emitted") == taps["mallory>server"] + taps["mallory>east"]


Change = Callable[[pa.Table, dict[str, Any]], pa.Table]


def _first(table: pa.Table, **wanted: Any) -> int:
    """The place of the first row with these values."""
    for place, row in enumerate(table.to_pylist()):
        if all(row[key] == value for key, value in wanted.items()):
            return place
    raise AssertionError(wanted)


def _with(table: pa.Table, place: int, **values: Any) -> pa.Table:
    for key, value in values.items():
        column = table[key].to_pylist()
        column[place] = value
        table = table.set_column(table.schema.get_field_index(key), key, pa.array(column, table[key].type))
    return table


def _without(table: pa.Table, place: int) -> pa.Table:
    return table.filter(pc.not_equal(pa.array(range(len(table))), place))


def _forget_seen(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return _without(table, _first(table, event="seen", packet=30))


def _forget_emitted(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return _without(table, _first(table, event="emitted", how="inserted"))


def _other_instant(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    place = _first(table, event="seen", packet=30)
    return _with(table, place, t_ns=table["t_ns"][place].as_py() + 50_000)


def _other_bytes(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return _with(table, _first(table, event="emitted", packet=30), head_crc32=1)


def _passed_for_altered(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return _with(table, _first(table, event="emitted", how="altered"), how="passed")


def _unmatched_drop(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    gone = table["packet"][_first(table, event="dropped")].as_py()
    return _without(table, _first(table, event="matched", packet=gone))


def _unmatched_hold(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    held = table["packet"][_first(table, event="held")].as_py()
    return _without(table, _first(table, event="matched", packet=held))


def _shorter_delay(_: pa.Table, plan: dict[str, Any]) -> pa.Table:
    plan["in_path"][0]["rules"][1]["do"]["delay_s"] = 0.2
    return _


def _rarer_drops(_: pa.Table, plan: dict[str, Any]) -> pa.Table:
    plan["in_path"][0]["rules"][0]["match"]["probability"] = 0.9
    return _


def _other_hold(_: pa.Table, plan: dict[str, Any]) -> pa.Table:
    plan["in_path"][0]["rules"][3]["match"]["nth"] = [20, 21]
    return _


def _right_checksum(table: pa.Table, _: dict[str, Any]) -> pa.Table:
    return _with(table, _first(table, event="emitted", how="altered"), checksum_valid=True)


@pytest.fixture(scope="module")
def honest(machine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A run with whole packets and its record."""
    from gauntlet.engine import cores, guest

    run = _many(id="run", record={**run_plan()["record"], "packets": "full"})
    out = tmp_path_factory.mktemp("honest")
    guest.boot([run], out, seed=run["seed"], machine=machine, core=cores.usable_cores()[-1])
    return run, out / "run"


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (_forget_seen, "seen"),
        (_forget_emitted, "emitted"),
        (_other_instant, "seen"),
        (_other_bytes, "emitted"),
        (_passed_for_altered, "rules"),
        (_unmatched_drop, "rules"),
        (_unmatched_hold, "rules"),
        (_shorter_delay, "rules"),
        (_rarer_drops, "conditions"),
        (_other_hold, "conditions"),
        (_right_checksum, "emitted"),
    ],
)
def test_a_false_log_is_found_out(
    honest: tuple[dict[str, Any], Path], tmp_path: Path, change: Change, check: str
) -> None:
    run, folder = json.loads(json.dumps(honest[0])), tmp_path / "record"
    shutil.copytree(honest[1], folder)
    with pa.OSFile(str(folder / "in_path.arrow")) as source:
        table = pa.ipc.open_file(source).read_all()
    changed = change(table, run)
    with (
        pa.OSFile(str(folder / "in_path.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, changed.schema) as writer,
    ):
        writer.write_table(changed)
    certificate = certify(run, folder)
    assert certificate["verdict"] == "contradicted"
    failed = {found["name"] for found in certificate["checks"] if found["passed"] is False}
    assert check in failed, failed


EVERY = [
    _rule({**TO_SERVER, "nth": [12, 13]}, {"action": "hold", "as": "q"}, "hold"),
    _rule({**TO_SERVER, "nth": 16}, {"action": "release", "from": "q", "order": "reversed"}, "release"),
    _rule({**TO_SERVER, "nth": 17}, {"action": "hold", "as": "slow", "most_s": 0.05}, "expire"),
    _rule({**TO_SERVER, "nth": [3, 5]}, {"action": "capture", "as": "old", "most": 2}, "remember"),
    _rule({**TO_SERVER, "nth": 20}, {"action": "insert", "packet": "matched", "set": {"ttl": 9}}, "again"),
    _rule({**TO_SERVER, "nth": 22}, {"action": "duplicate", "copies": 2, "after_s": 0.01}, "twice"),
    _rule({**TO_SERVER, "nth": 24}, {"action": "reflect", "swap": "nothing", "keep": True}, "back"),
    _rule({"at_s": 0.9},
          {"action": "insert", "packet": {"captured": "old"}, "set": {"payload": "00ff"}}, "replay"),
    _rule({**TO_SERVER, "nth": 26},
          {"action": "alter", "within": "payload", "bits": 1, "checksums": "repair"}, "bit"),
    _rule({**TO_SERVER, "nth": 27},
          {"action": "alter", "within": "transport", "bits": 5, "burst_bits": 9}, "burst"),
    _rule({**TO_SERVER, "nth": 28}, {"action": "rewrite", "set": {"ttl": 5}}, "ttl"),
]  # fmt: skip
"""Each is called, and does something that the record shows."""


def _every(**changes: Any) -> dict[str, Any]:
    return _run(*EVERY, **{"record": {**run_plan()["record"], "packets": "full"}, **changes})


@pytest.mark.parametrize("kind", OVER)
def test_all_that_rules_can_do_is_believed_where_they_did_it(play: Play, tmp_path: Path, kind: str) -> None:
    rules = [
        _rule({"probability": 0.2}, {"action": "alter", "within": "packet", "bits": 2}, "anywhere"),
        _rule({"probability": 0.2}, {"action": "alter", "within": "transport", "checksums": "repair"}, "sum"),
        _rule({"probability": 0.2}, {"action": "reflect", "keep": True}, "back"),
        _rule({"probability": 0.2},
              {"action": "insert", "packet": "matched", "before": True, "set": {"tcp_sequence_plus": -7}},
              "seq"),
        _rule({"probability": 0.2},
              {"action": "rewrite", "set": {"traffic_class": 8, "source_port": 9}}, "set"),
        _rule({"every": 7}, {"action": "hold", "as": "q", "most_s": 0.03}, "hold"),
        _rule({"every": 9}, {"action": "release", "from": "q"}, "release"),
    ]  # fmt: skip
    whole = {"record": {**run_plan()["record"], "packets": "full"}}
    runs = [_every(id="every", flow=OVER[kind]()), _run(*rules, id="chance", flow=OVER[kind](), **whole)]
    play(*runs)
    for run in runs:
        _trusted(run, tmp_path / "out" / run["id"])


@pytest.fixture(scope="module")
def datagrams(machine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A run over UDP in which every rule does something, and its record."""
    from gauntlet.engine import cores, guest

    run, out = _every(id="run"), tmp_path_factory.mktemp("every")
    guest.boot([run], out, seed=run["seed"], machine=machine, core=cores.usable_cores()[-1])
    return run, out / "run"


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("hold", {"most_s": 0.001}),
        ("release", {"order": "as_held"}),
        ("release", {"from": "slow"}),
        ("expire", {"most_s": 0.5}),
        ("again", {"set": {"ttl": 200}}),
        ("again", {"set": {"payload": "00"}}),
        ("again", {"towards": "east"}),
        ("again", {"checksums": "leave"}),
        ("back", {"swap": "addresses"}),
        ("replay", {"times": 100}),
        ("replay", {"packet": {"captured": "old", "pick": "first"}}),
        ("bit", {"bits": 40}),
        ("bit", {"at_bit": 0}),
        ("bit", {"checksums": "leave"}),
        ("burst", {"burst_bits": 8}),
        ("ttl", {"set": {"source_port": 1}}),
        ("ttl", {"action": "alter", "within": "payload", "bits": 1}),
    ],
)
def test_another_plan_is_not_what_was_played(
    datagrams: tuple[dict[str, Any], Path], rule: str, changes: dict[str, Any]
) -> None:
    run, folder = json.loads(json.dumps(datagrams[0])), datagrams[1]
    (planned,) = [entry for entry in run["in_path"][0]["rules"] if entry["id"] == rule]
    planned["do"].update(changes)
    certificate = certify(run, folder)
    assert "rules" in {check["name"] for check in certificate["checks"] if check["passed"] is False}


def test_the_unchanged_plan_is(datagrams: tuple[dict[str, Any], Path]) -> None:
    _trusted(*datagrams)


def test_without_its_log_a_node_is_not_checked(honest: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    shutil.copytree(honest[1], tmp_path / "record")
    (tmp_path / "record" / "in_path.arrow").unlink()
    certificate = certify(honest[0], tmp_path / "record")
    assert certificate["verdict"] == "not checked"
    assert {check["missing"] for check in certificate["checks"] if check["name"] == "seen"} == {
        "in_path.arrow"
    }


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"in_path": [{**MALLORY, "between": ["west", "server"]}]}, "no link joins \"west\" to \"server\""),
        ({"in_path": [{**MALLORY, "between": ["mid", "east"]}]},
         'stands in the link of "east>mid"; name "east>mallory" instead'),
        ({"in_path": [{**MALLORY, "rules": [_rule({"nth": 0}, {"action": "drop"})]}]},
         "in-path node \"mallory\", rule \"r\": `nth` is 0; it must be"),
        ({"in_path": [{**MALLORY, "rules": [_rule({"message": {"flow": "f9"}}, {"action": "drop"})]}]},
         "the messages of flow \"f9\": the run has no flow of this id"),
        ({"flows": [_udp_flow(stack="tls", stack_params={"congestion_control": "cubic"})],
          "in_path": [{**MALLORY, "rules": [_rule({"message": {"flow": "f0"}}, {"action": "drop"})]}]},
         "`tls` does not carry them in the clear; `udp`, `tcp`, `sctp` and `rasta` do"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_gets_a_sentence(play: Play, changes: Mapping[str, Any], sentence: str) -> None:
    record = play(run_plan(**{"flows": [_udp_flow()], **changes}))["run"]
    assert record["outcome"] == "failed"
    assert sentence in record["reason"]


def test_the_lesson_does_what_it_says(play: Play, tmp_path: Path) -> None:
    """docs/guide/in-path.md: its experiment, and the same with each of the other nodes that it shows."""
    every = [block for block in blocks("toml") if block.document.name == "in-path.md"]
    shown = [block for block in every if "[[in_path]]" in block.text]
    whole, *others = [block.text for block in shown]
    begin, end = whole.index("[[in_path]]"), whole.index("[workload]")
    texts = [whole, *(whole[:begin] + other + whole[end:] for other in others)]
    runs = {}
    names = ("late", "bits", "replay", "reset", "guesses", "versions", "server")
    for name, text in zip(names, texts, strict=True):
        for spec in expand(parse_experiment(text, name, tmp_path)):
            (protocol,) = {flow.protocol for flow in spec.flows}
            runs[name, protocol] = {**plan_run(spec), "id": f"{name}-{protocol}"}
    records = play(*runs.values())
    for run in runs.values():
        _trusted(run, tmp_path / "out" / run["id"])

    def of(name: str, protocol: str) -> tuple[Mapping[str, Any], str]:
        record = records[f"{name}-{protocol}"]
        return record["in_path"][0], record["flows"][0]["outcome"]

    assert of("late", "udp")[0]["late_packets"] == 1
    assert of("late", "tcp-cubic")[0]["late_packets"] > 1
    assert of("bits", "udp")[0]["altered_packets"] == 5
    assert of("bits", "udp")[1] == "failed"
    assert of("replay", "udp")[0]["inserted_packets"] == 1
    assert of("reset", "udp")[1] == "ok"
    assert of("reset", "tcp-cubic")[0]["inserted_packets"] == 1
    assert of("reset", "tcp-cubic")[1] == "failed"
    assert of("guesses", "tcp-cubic")[0]["inserted_packets"] == 81 * 10
    assert of("guesses", "tcp-cubic")[1] == "ok"
    assert of("versions", "udp")[0]["rules"][0]["unfit_packets"] == 1, "no long header of QUIC"
    assert of("server", "tcp-cubic")[0]["inserted_packets"] > 100
    assert of("server", "tcp-cubic")[1] == "ok"


def test_the_example_is_played_trusted_and_shown(tmp_path: Path) -> None:
    out = tmp_path / "results"
    answer = gauntlet(
        "run", EXPERIMENTS / "in-path.toml", "--repetitions", "1", "--out", out, "--quiet",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "All 2 runs are trusted" in page
    assert "In-path nodes" in page
    assert "mallory&gt;server" in page
    for run in Results.open(out).runs():
        log = run.in_path()
        assert log is not None
        seen = pc.sum(pc.equal(log["event"], "seen")).as_py()
        assert seen == run.record["in_path"][0]["seen_packets"] > 0
