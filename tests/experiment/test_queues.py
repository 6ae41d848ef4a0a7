"""`queue` as a table, its limits in all units, `dscp` and `[load]`: what comes into plans, ids and labels."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import RunSpec, expand, queues
from gauntlet.experiment.links import ridden
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from tests.experiment.conftest import CONSTANT, RAIL, Parse

AXIS = 'loss = ["0%", "1%"]\n'
ONE = (('["tcp-cubic", "udp"]', '["tcp-cubic"]'), ('channel_delay = ["25ms", "50ms"]\n', ""))
EXAMPLES: dict[str, dict[str, Any]] = {
    "bfifo": {},
    "pfifo": {"limit": "64 packets"},
    "codel": {"target": "10ms", "ce_threshold": "1ms"},
    "fq_codel": {"ecn": False, "limit": "2 BDP"},
    "pie": {"tupdate": "16ms"},
    "fq_pie": {"flows": 64},
    "red": {"limit": "300kB", "ecn": True},
    "sfq": {"quantum": "3000B"},
    "cake": {"rtt": "50ms", "diffserv": "besteffort", "limit": "4MB"},
}


def _written(table: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"


def _planned(spec: RunSpec) -> dict[str, Any]:
    plan = plan_run(spec)
    check_plan(guest.plan([plan]))
    assert RunSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    return plan


def _shapers(spec: RunSpec) -> list[dict[str, Any]]:
    return [entry for entry in _planned(spec)["timeline"] if "rate_bps" in entry]


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("text", [CONSTANT, RAIL], ids=["constant", "rail"])
def test_every_kind_stands_in_the_first_entry_of_each_shaper(parse: Parse, text: str, kind: str) -> None:
    table = _written({"kind": kind, **EXAMPLES[kind]})
    spec = expand(parse(text, *ONE, (AXIS, f"queue = [{table}]\n")))[0]
    shapers = _shapers(spec)
    links = {entry["link"] for entry in shapers}
    key = "queue_limit_bytes" if kind == "bfifo" else "queue"
    assert {entry["link"] for entry in shapers if key in entry} == links
    assert sum(key in entry for entry in shapers) == len(links)
    if kind != "bfifo":
        assert {entry["queue"]["kind"] for entry in shapers if "queue" in entry} == {kind}
        assert all("queue_limit_bytes" not in entry for entry in shapers)


def test_every_kind_has_an_example_here() -> None:
    assert set(EXAMPLES) == set(queues.KINDS)


@pytest.mark.parametrize(
    ("written", "planned"),
    [
        ('"64kB"', {"queue_limit_bytes": 64_000}),
        ('"100ms"', {"queue_limit_bytes": 65_000}),
        ('"2 BDP"', {"queue_limit_bytes": 65_000}),
        ('"80 packets"', {"queue": {"kind": "pfifo", "limit_packets": 80}}),
        ('{ kind = "pfifo", limit = "120kB" }', {"queue": {"kind": "pfifo", "limit_packets": 80}}),
        ('{ kind = "bfifo", limit = "10 packets" }', {"queue_limit_bytes": 15_000}),
    ],
)
def test_limits_are_bytes_packets_times_and_products(
    parse: Parse, written: str, planned: dict[str, Any]
) -> None:
    """5.2 Mbit/s and 25 ms one way: a product is 32,500 bytes."""
    spec = expand(parse(CONSTANT, *ONE, (AXIS, f"queue = [{written}]\n")))[0]
    for entry in _shapers(spec):
        assert planned.items() <= entry.items()
    if limit := planned.get("queue_limit_bytes"):
        assert ridden(spec)["link"].column("queue_limit_bytes").to_pylist() == [limit]


def test_axes_have_words_and_leave_seeds_alone(parse: Parse) -> None:
    kinds = '{ kind = "bfifo", limit = "1 BDP" }, { kind = "fq_codel", ecn = false }, { kind = "cake" }'
    runs = expand(parse(CONSTANT, *ONE, (AXIS, f"queue = [{kinds}]\n")))
    assert [run.labels["queue"] for run in runs[::2]] == ["FIFO of 1 BDP", "FQ-CoDel (no ECN)", "CAKE"]
    assert [run.id for run in runs[::2]] == [
        "tcp-cubic_queue-bfifo-1-BDP_rep-001",
        "tcp-cubic_queue-fq_codel-no-ECN_rep-001",
        "tcp-cubic_queue-cake_rep-001",
    ]
    assert len({run.seed for run in runs}) == 2
    sizes = expand(parse(CONSTANT, *ONE, (AXIS, 'queue = ["64kB", "512kB"]\n')))
    assert [run.factors["queue_bytes"] for run in sizes[::2]] == [64_000, 512_000]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('{ kind = "codle" }', ["'codle'", "codel"]),
        ('{ kind = "pfifo", target = "5ms" }', ["'pfifo' has no key 'target'"]),
        ('{ kind = "codel", traget = "5ms" }', ["'traget'", "'target'"]),
        ('{ kind = "codel", target = 5 }', ["target"]),
        ('"5 lots"', ["'5 lots'", "'1 BDP'"]),
        ('"1.5 packets"', ["whole number"]),
        ('{ kind = "bfifo", limit = "1ms" }', ["less than a packet"]),
        ("512000", ["512000 is no queue", "'512kB'"]),
    ],
)
def test_mistakes_are_a_sentence(parse: Parse, written: str, words: list[str]) -> None:
    for change in ((AXIS, f"queue = [{written}]\n"), ("[matrix]", f"[link]\nqueue = {written}\n[matrix]")):
        with pytest.raises(UserError) as caught:
            expand(parse(CONSTANT, *ONE, change))
        assert all(word in str(caught.value) for word in ["queue", *words]), caught.value


def test_red_gets_thresholds_that_fit_its_limit() -> None:
    found = queues.planned({"kind": "red"}, 5.2e6, 0.05)["queue"]
    assert found["min_bytes"] * 4 <= found["max_bytes"] <= found["limit_bytes"] // 3
    assert found["burst_packets"] * 1000 >= found["min_bytes"]


def test_cake_gets_a_twentieth_of_its_round_trip_as_target() -> None:
    assert queues.planned({"kind": "cake"}, 5.2e6, 0.05)["queue"]["target_s"] == 0.005
    slow = queues.planned({"kind": "cake", "rtt_s": 0.6}, 5.2e6, 0.05)["queue"]
    assert (slow["rtt_s"], slow["target_s"]) == (0.6, 0.03)
    own = queues.planned({"kind": "cake", "rtt_s": 0.6, "target_s": 0.02}, 5.2e6, 0.05)["queue"]
    assert own["target_s"] == 0.02


WORKLOAD = CONSTANT[CONSTANT.index("[workload]") :]


def _load(parse: Parse, section: str) -> list[dict[str, Any]]:
    runs = expand(parse(CONSTANT, *ONE, (AXIS, ""), (WORKLOAD, f"[load]\n{section}")))
    assert len(runs) == 2
    plan = _planned(runs[0])
    return [{**flow, "name": spec.name} for flow, spec in zip(plan["flows"], runs[0].flows, strict=True)]


def test_rrul_has_four_classes_each_way_and_datagrams_beside(parse: Parse) -> None:
    flows = {flow["name"]: flow for flow in _load(parse, 'test = "rrul"\nduration = "60s"')}
    loads = [flow for flow in flows.values() if flow["stack"] == "tcp"]
    assert len(loads) == 8
    assert {flow["app_params"]["rate_bps"] for flow in loads} == {None}
    assert {flow["stack_params"].get("dscp") for flow in loads} == {0, 8, 40, 46}
    assert {name for name in flows if name.startswith("ping")} == {
        f"ping-{of_class}-{direction}" for of_class in ("be", "bk", "ef") for direction in ("up", "down")
    }
    ping = flows["ping-ef-down"]
    assert (ping["from"], ping["stack_params"]["dscp"]) == ("server", 46)
    assert ping["start_s"] + 5 == loads[0]["start_s"]
    assert ping["app_params"]["duration_s"] == 70.0


def test_rrul_be_and_one_way_have_as_many_as_asked_and_no_class(parse: Parse) -> None:
    flows = _load(parse, 'test = "rrul_be"\nduration = "10s"\nstreams = 2\nvoip = true')
    assert [flow["name"] for flow in flows] == [
        "up-1", "up-2", "down-1", "down-2", "ping-up", "ping-down", "voip-up", "voip-down",
    ]  # fmt: skip
    assert all("dscp" not in flow["stack_params"] for flow in flows)
    names = [flow["name"] for flow in _load(parse, 'test = "tcp_nup"\nduration = "10s"')]
    assert names == ["up-1", "up-2", "up-3", "up-4", "ping-up", "ping-down"]


def test_a_load_is_in_the_background_of_what_is_asked(parse: Parse) -> None:
    judge = 'judge = { kpi = "delay_s", quantile = 0.99, at_most = "50ms" }'
    section = f'[load]\ntest = "tcp_nup"\nduration = "10s"\nvoip = true\n{judge}'
    flows = {
        flow.name: flow for flow in expand(parse(CONSTANT, *ONE, (AXIS, ""), (WORKLOAD, section)))[0].flows
    }
    pings = {"ping-up", "ping-down"}
    wanted = {"kpi": "delay_s", "quantile": 0.99, "at_most": 0.05}
    assert {name: flow.judge for name, flow in flows.items() if flow.judge} == dict.fromkeys(pings, wanted)
    assert {name for name, flow in flows.items() if not flow.background} == {*pings, "voip-up", "voip-down"}


def test_a_load_stands_alone(parse: Parse) -> None:
    load = '[load]\ntest = "rrul"\nduration = "10s"\n[workload]'
    with pytest.raises(UserError, match="has flows of its own"):
        parse(CONSTANT, ("[workload]", load))


def test_dscp_is_a_name_or_a_number(parse: Parse) -> None:
    text = (*ONE, (AXIS, ""), ('app = "cbr"', 'app = "cbr"\ndscp = "af41"'))
    assert _planned(expand(parse(CONSTANT, *text))[0])["flows"][0]["stack_params"]["dscp"] == 34
    wrong = (('dscp = "af41"', 'dscp = "gold"'),)
    with pytest.raises(UserError, match="'gold' is no DSCP"):
        parse(CONSTANT, *text, *wrong)


def test_the_ready_experiments_are_short() -> None:
    folder = Path(__file__).parents[2] / "experiments"
    for name in ("etcs-beside-upload", "leo-files", "smart-queue", "drive-test", "rrul", "two-builds"):
        assert len((folder / f"{name}.toml").read_text().splitlines()) <= 20


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("cake", '{ kind = "cake" }'),
        ("FQ-CoDel", '{ kind = "fq_codel" }'),
        ("droptail", '{ kind = "bfifo" }'),
        ({"kind": "drop-tail", "limit": "64kB"}, 'write kind = "bfifo"'),
        ({"kind": "fq-codel"}, 'write kind = "fq_codel"'),
    ],
)
def test_a_kind_in_another_spelling_is_told_as_it_is_written(written: object, right: str) -> None:
    with pytest.raises(ValueError, match=re.escape(right)):
        queues.read(written)
