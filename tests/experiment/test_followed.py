"""Links of a network of one's own that follow a scenario: their timeline, their way, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import links, ridden
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import load_experiment, parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import RunSpec

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
TRACE = """t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes
0,1000000,4000000,0.02,0.01,0,0.01,64000
5,2000000,4000000,0.02,0.03,0,0.01,64000
9,2000000,8000000,0.02,0.03,0.5,0.01,32000
# end_s=20
"""
EXPERIMENT = """
[experiment]
name = "cell"
repetitions = {repetitions}
seed = 5

[[network.link]]
between = ["phone", "mast"]
delay = "1ms"

[[network.link]]
between = ["tablet", "mast"]
rate = "50Mbit/s"

[[network.link]]
name = "cell"
between = ["mast", "core"]
{cell}

[[network.link]]
between = ["core", "exchange"]
rate = "5Mbit/s"
queue = "90kB"
delay = "7ms"
loss = "10%"

[[flow]]
protocol = "tcp-cubic"
app = "bulk"
size = "1MB"
from = "{sender}"
to = "{receiver}"

[[flow]]
protocol = "tcp-cubic"
app = "bulk"
size = "1MB"
from = "tablet"
to = "exchange"
"""
FOLLOWS = 'scenario = { name = "cell.csv" }'


def specs(
    folder: Path, cell: str = FOLLOWS, *, ends: tuple[str, str] = ("phone", "exchange"), repetitions: int = 1
) -> list[RunSpec]:
    (folder / "cell.csv").write_text(TRACE)
    sender, receiver = ends
    text = EXPERIMENT.format(cell=cell, sender=sender, receiver=receiver, repetitions=repetitions)
    return expand(parse_experiment(text, "cell.toml", folder))


def entries(spec: RunSpec, hop: str) -> list[dict[str, Any]]:
    """Of a link direction, as the plan of the spec that was kept and read again has them."""
    run = plan_run(RunSpec.from_json(spec.to_json()))
    check_plan(guest.plan([run]))
    return [{key: value for key, value in it.items() if key != "link"}
            for it in run["timeline"] if it["link"] == hop]  # fmt: skip


def test_the_link_has_the_rate_delay_and_loss_of_each_moment(tmp_path: Path) -> None:
    (spec,) = specs(tmp_path)
    assert entries(spec, "mast>mast.core") == [
        {"at_s": 0.0, "rate_bps": 1_000_000, "queue_limit_bytes": 64_000},
        {"at_s": 5.0, "rate_bps": 2_000_000},
        {"at_s": 9.0, "queue_limit_bytes": 32_000},
    ]
    assert entries(spec, "mast.core>core") == [
        {"at_s": 0.0, "delay_s": 0.02, "loss": 0.0},
        {"at_s": 9.0, "loss": 0.5},
    ]
    assert entries(spec, "core>mast.core")[-1] == {
        "at_s": 9.0, "rate_bps": 8_000_000, "queue_limit_bytes": 32_000
    }  # fmt: skip
    assert entries(spec, "mast.core>mast")[1] == {"at_s": 5.0, "delay_s": 0.03}


def test_a_queue_of_its_own_and_what_a_scenario_does_not_say_stand_beside(tmp_path: Path) -> None:
    """Two bandwidth-delay products of the highest rate and the longest round trip: 20 and 30 ms of the cell,
    1 and 7 ms twice beside it.
    """
    own = f'{FOLLOWS}\nqueue = "2 BDP"\njitter = "3ms"\ndown = [["3s", "4s"]]'
    (spec,) = specs(tmp_path, own)
    assert entries(spec, "mast>mast.core") == [
        {"at_s": 0.0, "rate_bps": 1_000_000, "queue_limit_bytes": round(2 * 2e6 * 0.066 / 8)},
        {"at_s": 5.0, "rate_bps": 2_000_000},
    ]
    assert entries(spec, "mast.core>core")[:3] == [
        {"at_s": 0.0, "delay_s": 0.02, "loss": 0.0, "jitter_s": 0.003},
        {"at_s": 3.0, "up": False},
        {"at_s": 4.0, "up": True},
    ]


def test_a_run_begins_where_the_link_says_and_a_chunk_is_drawn_by_repetition(tmp_path: Path) -> None:
    (spec,) = specs(tmp_path, 'scenario = { name = "cell.csv", start = "8s" }')
    assert spec.start_s == 8.0
    assert [it["at_s"] for it in entries(spec, "mast.core>core")] == [0.0, 1.0]
    drawn = specs(tmp_path, 'scenario = { name = "cell.csv", chunk = "6s" }', repetitions=3)
    starts = [it.start_s for it in drawn]
    assert len(set(starts)) == 3
    for it in drawn:
        found = [entry["at_s"] for entry in entries(it, "mast.core>core")]
        later = [round(9.0 - it.start_s, 9)] if it.start_s < 9.0 else []
        assert found == [0.0, *later]


@pytest.mark.parametrize(
    ("ends", "side", "other"),
    [(("phone", "exchange"), "up", "down"), (("exchange", "phone"), "down", "up")],
)
def test_what_stands_for_the_line_is_the_way_of_the_first_flow(
    tmp_path: Path, ends: tuple[str, str], side: str, other: str
) -> None:
    """The other links' rate bounds it, their delays and losses come to it."""
    (spec,) = specs(tmp_path, ends=ends)
    assert [flow.direction for flow in spec.flows] == [side, "up"]
    assert spec.scenario.path == str(tmp_path / "cell.csv")
    (table,) = ridden(spec).values()
    assert table.column("rate_up_bps").to_pylist() == [1e6, 2e6, 2e6]
    assert table.column("rate_down_bps").to_pylist() == [4e6, 4e6, 5e6]
    assert table.column("delay_down_s").to_pylist() == pytest.approx([0.018, 0.038, 0.038])
    assert table.column("loss_up").to_pylist() == pytest.approx([0.1, 0.1, 0.55])
    assert table.column(f"loss_{other}").to_pylist() != table.column(f"loss_{side}").to_pylist()


def test_where_the_file_lies_changes_no_seed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (here,), (there,) = specs(tmp_path), specs(tmp_path / "there")
    assert here.scenario.path != there.scenario.path
    assert here.seed == there.seed


def test_a_line_of_a_train_gives_its_terminals_the_rate_of_the_train(tmp_path: Path) -> None:
    """A ready scenario: `max` is what one train alone can get, as with [scenario]."""
    (spec,) = specs(tmp_path, 'scenario = { name = "regional", start = "10min" }')
    found = links.scenario(spec.scenario, spec.link_seed)
    assert found.line is not None
    rates = [it["rate_bps"] for it in entries(spec, "mast>mast.core") if "rate_bps" in it]
    trace = links.bearer(spec.scenario, found).window(600.0, spec.limit_s)
    followed = [round(rate) for rate in trace.column("rate_up_bps").tolist()]
    assert rates == [
        rate for number, rate in enumerate(followed) if not number or rate != followed[number - 1]
    ]


def test_what_a_link_follows_is_an_axis_with_words() -> None:
    found = expand(load_experiment(EXPERIMENTS / "own-rail.toml", repetitions=1))
    first = [it for it in found if it.factors["protocol"] == "tcp-cubic"]
    key = "network.radio.scenario"
    assert [it.labels[key] for it in first] == ["hsr, chunk 1 min", "regional, chunk 1 min", "leo"]
    assert [it.scenario.name for it in first] == ["hsr", "regional", "leo"]
    assert {flow.direction for it in first for flow in it.flows} == {"down"}
    tunnels = [it["name"] for it in plan_run(first[0])["network"]["tunnels"]]
    assert tunnels == ["tun-b", "tun-c"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (f'{FOLLOWS}\nrate = "1Mbit/s"', "the scenario says 'rate'"),
        (f'{FOLLOWS}\nback = {{ loss = "1%" }}', "back: the scenario says 'loss'"),
        ('scenario = { name = "cell.csv", start = "1min" }', "beyond the end of 'cell.csv'"),
        ('scenario = { name = "cell.csv", start = "1s", chunk = "2s" }', "'chunk' and 'start' both"),
        ('scenario = { name = "regionl" }', "the link cell: .*did you mean"),
        ('scenario = { name = "constant", delay = 100 }', "the link cell: .*delay"),
        ('queue = "64kB"', "a queue without a rate never fills"),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path: Path, cell: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        specs(tmp_path, cell)
