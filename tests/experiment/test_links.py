"""The timeline of a run: D3.4's mapping of impairments to hops, and conditions on top of a scenario."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.experiment import RunSpec, expand, plan_run, ridden
from gauntlet.experiment.networks import NETWORKS

from .conftest import CONSTANT, RAIL, Parse

Entries = list[dict[str, Any]]


def first_run(parse: Parse, text: str, *changes: tuple[str, str], folder: Path = Path()) -> RunSpec:
    return expand(parse(text, *changes, folder=folder))[0]


def at_start(entries: Entries) -> dict[str, dict[str, Any]]:
    return {entry["link"]: entry for entry in entries if entry["at_s"] == 0}


def state_at(entries: Entries, link: str, t_s: float) -> dict[str, Any]:
    """What holds on a link direction at an instant: all entries up to then, later ones over earlier ones."""
    state: dict[str, Any] = {}
    for entry in entries:
        if entry["link"] == link and entry["at_s"] <= t_s:
            state.update(entry)
    return state


def test_railway_follows_figure_14(parse: Parse) -> None:
    start = at_start(plan_run(first_run(parse, RAIL, ('"0%", "1%"', '"1%"')))["timeline"])
    assert set(start) == {
        "rasa>ra",
        "rbsb>rb",
        "rcsc>rc",
        "ra>rabc",
        "rabc>ra",
        "rabc>rb",
        "rabc>rc",
        "rb>rabc",
        "rc>rabc",
    }
    for shaped in ("rasa>ra", "rbsb>rb", "rcsc>rc"):
        assert start[shaped]["queue_limit_bytes"] == 512_000
        assert 100_000 < start[shaped]["rate_bps"] <= 5_300_000
    for radio in ("ra>rabc", "rabc>ra"):
        assert 0.010 <= start[radio]["delay_s"] <= 0.020
        assert start[radio]["loss"] == 0.01
    for internet in ("rabc>rb", "rabc>rc", "rb>rabc", "rc>rabc"):
        assert start[internet] == {"at_s": 0.0, "link": internet, "delay_s": 0.010}


@pytest.mark.parametrize(("radio", "internet_s"), [("lte", 0.010), ("nr", 0.0175)])
def test_internet_delay_is_what_the_radio_leaves(parse: Parse, radio: str, internet_s: float) -> None:
    run = first_run(parse, RAIL, ('chunk = "10min"', f'chunk = "10min"\nradio = "{radio}"'))
    assert at_start(plan_run(run)["timeline"])["rabc>rb"]["delay_s"] == internet_s


def test_timeline_replays_to_the_trace_that_was_ridden(parse: Parse) -> None:
    run = first_run(parse, RAIL, ('"0%", "1%"', '"0.1%"'))
    entries = plan_run(run)["timeline"]
    rows = ridden(run)["lte"].to_pylist()
    assert len(rows) > 10
    for row in rows:
        t_s = row["t_s"] + 1e-6
        up, down = state_at(entries, "rasa>ra", t_s), state_at(entries, "rbsb>rb", t_s)
        assert up["rate_bps"] == pytest.approx(row["rate_up_bps"], abs=1)
        assert down["rate_bps"] == pytest.approx(row["rate_down_bps"], abs=1)
        radio, internet = state_at(entries, "rabc>ra", t_s), state_at(entries, "rb>rabc", t_s)
        assert radio["delay_s"] + internet["delay_s"] == pytest.approx(row["delay_down_s"], abs=2e-9)
        assert radio["loss"] == pytest.approx(row["loss_down"])


def test_entries_are_sorted_and_each_changes_something(parse: Parse) -> None:
    entries = plan_run(first_run(parse, RAIL))["timeline"]
    assert [entry["at_s"] for entry in entries] == sorted(entry["at_s"] for entry in entries)
    held: dict[str, dict[str, Any]] = {}
    for entry in entries:
        before = held.setdefault(entry["link"], {})
        changed = {key: value for key, value in entry.items() if key not in ("at_s", "link")}
        assert changed
        assert all(before.get(key) != value for key, value in changed.items())
        before.update(changed)


def test_a_constant_link_takes_its_delay_from_the_channel(parse: Parse) -> None:
    plan = plan_run(first_run(parse, CONSTANT))
    assert plan["network"] == {"preset": "wire"}
    start = at_start(plan["timeline"])
    assert set(start) == {"west>mid", "east>mid", "mid>east", "mid>west"}
    assert start["mid>east"]["delay_s"] == start["mid>west"]["delay_s"] == 0.025
    assert start["west>mid"]["rate_bps"] == 5_200_000
    assert all(entry["at_s"] == 0 for entry in plan["timeline"])
    assert ridden(first_run(parse, CONSTANT))["link"].column("delay_up_s").to_pylist() == [0.025]


@pytest.mark.parametrize(
    ("direction", "up", "down"), [("both", 0.01, 0.01), ("up", 0.01, 0.0), ("down", 0.0, 0.01)]
)
def test_loss_keeps_to_its_direction(parse: Parse, direction: str, up: float, down: float) -> None:
    changes = ('loss = ["0%", "1%"]\n', f'loss = ["1%"]\nloss_direction = ["{direction}"]\n')
    start = at_start(plan_run(first_run(parse, CONSTANT, changes))["timeline"])
    assert (start["mid>east"]["loss"], start["mid>west"]["loss"]) == (up, down)


def test_losses_of_scenario_and_condition_are_independent(parse: Parse) -> None:
    changes = (('rate = "5.2Mbit/s"', 'rate = "5.2Mbit/s"\nloss = "10%"'), ('"0%", "1%"', '"10%"'))
    start = at_start(plan_run(first_run(parse, CONSTANT, *changes))["timeline"])
    assert start["mid>east"]["loss"] == pytest.approx(0.19)


def test_further_impairments_reach_the_access_hop(parse: Parse) -> None:
    link = (
        '[link]\njitter = "2ms"\nreorder = true\nduplicate = "0.1%"\ncorrupt = "0.2%"\nqueue = "64kB"\n'
        'burst_loss = {p = "1%", r = "20%"}\n[workload]'
    )
    run = first_run(parse, CONSTANT, ("[workload]", link), ('"0%", "1%"', '"0%"'))
    start = at_start(plan_run(run)["timeline"])
    assert start["mid>east"] == {
        "at_s": 0.0,
        "link": "mid>east",
        "delay_s": 0.025,
        "gilbert_elliott": {"p": 0.01, "r": 0.2, "loss_bad": 1.0, "loss_good": 0.0},
        "jitter_s": 0.002,
        "reorder": True,
        "duplicate": 0.001,
        "corrupt": 0.002,
    }
    assert start["west>mid"]["queue_limit_bytes"] == 64_000
    assert ridden(run)["link"].column("queue_limit_bytes").to_pylist() == [64_000]


def test_an_own_trace_is_found_beside_the_experiment(parse: Parse, tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
    rows = ["0,1e6,4e6,0.02,0.03,0,0,64000", "5,2e6,8e6,0.02,0.03,0.01,0,64000"]
    (tmp_path / "own.csv").write_text("\n".join([header, *rows, "# end_s=1000", ""]))
    changes = (('"constant"\nrate = "5.2Mbit/s"', '"own.csv"'), ('"25ms", "50ms"', '"100ms"'))
    run = first_run(parse, CONSTANT, *changes, ('"0%", "1%"', '"0%"'), folder=tmp_path)
    entries = plan_run(run)["timeline"]
    start = at_start(entries)
    assert start["mid>east"]["delay_s"] == pytest.approx(0.1)
    assert start["mid>west"]["delay_s"] == pytest.approx(0.1)
    assert {entry["link"]: entry for entry in entries if entry["at_s"] == 5} == {
        "west>mid": {"at_s": 5.0, "link": "west>mid", "rate_bps": 2_000_000},
        "east>mid": {"at_s": 5.0, "link": "east>mid", "rate_bps": 8_000_000},
        "mid>east": {"at_s": 5.0, "link": "mid>east", "loss": 0.01},
    }


def test_where_an_own_trace_lies_changes_no_seed(parse: Parse, tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
    seeds = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own.csv").write_text(f"{header}\n0,1e6,4e6,0.02,0.02,0,0,64000\n")
        changes = (('"constant"\nrate = "5.2Mbit/s"', '"own.csv"'),)
        seeds.append([run.seed for run in expand(parse(CONSTANT, *changes, folder=folder))])
    assert seeds[0] == seeds[1]


def test_every_network_has_hops_that_do_not_overlap() -> None:
    for network in NETWORKS.values():
        hops = [
            hop
            for side in (network.up, network.down)
            for group in (side.rate, side.access, side.internet)
            for hop in group
        ]
        assert len(hops) == len(set(hops))


def test_ridden_tables_have_the_trace_schema(parse: Parse) -> None:
    from gauntlet.scenario.trace import SCHEMA

    table = ridden(first_run(parse, RAIL))["lte"]
    assert isinstance(table, pa.Table)
    assert table.schema.equals(SCHEMA)
