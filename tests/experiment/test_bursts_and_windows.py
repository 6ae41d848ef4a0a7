"""`bucket`, `offload` and `initial_window`: how they come into plans, and that plans without them stay as
they were.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from gauntlet.advice.settings import setting_of
from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import RunSpec, expand
from gauntlet.experiment.load import load_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.protocols import PROTOCOLS
from gauntlet.report.factors import factors_of
from tests.experiment.conftest import CONSTANT, RAIL, Parse

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
AXIS = 'loss = ["0%", "1%"]\n'
OVER_TCP = {"tcp", "mptcp", "tls", "rasta-tls"}


def _planned(spec: RunSpec) -> dict[str, Any]:
    plan = plan_run(spec)
    check_plan(guest.plan([plan]))
    return plan


def _shapers(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in plan["timeline"] if "rate_bps" in entry]


@pytest.mark.parametrize("text", [CONSTANT, RAIL])
def test_who_asks_for_nothing_has_the_plan_of_before(parse: Parse, text: str) -> None:
    for spec in expand(parse(text))[:2]:
        plan = _planned(spec)
        assert "offload" not in plan
        assert all("burst_bytes" not in entry for entry in plan["timeline"])
        assert "initial_window_segments" not in plan["flows"][0]["stack_params"]
        assert not {"bucket_bytes", "offload"} & set(spec.to_json()["link"])
        assert RunSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("text", [CONSTANT, RAIL])
def test_the_bucket_is_that_of_every_shaper_of_the_line(parse: Parse, text: str) -> None:
    for spec in expand(parse(text, ("[matrix]", '[link]\nbucket = "64kB"\n[matrix]')))[:2]:
        shapers = _shapers(_planned(spec))
        first = {entry["link"]: entry for entry in reversed(shapers)}
        assert len(first) >= 2
        assert {entry["burst_bytes"] for entry in first.values()} == {64_000}
        assert RunSpec.from_json(spec.to_json()) == spec


def test_as_axes_they_leave_seeds_and_each_other_alone(parse: Parse) -> None:
    axes = 'bucket = ["1580B", "64kB"]\noffload = ["off", "on"]\ninitial_window = [3, 10]\n'
    changes = (('["tcp-cubic", "udp"]', '["tcp-cubic"]'), (AXIS, axes))
    plain = expand(parse(CONSTANT, changes[0]))
    runs = {run.id: run for run in expand(parse(CONSTANT, *changes))}
    assert len(runs) == 2 * 2 * 2 * 2 * 2
    assert "tcp-cubic_delay-25ms_bucket-64kB_offload-on_initial-window-3_rep-001" in runs
    of_first = [run for run in runs.values() if run.factors["channel_delay_s"] == 0.025]
    for run in of_first:
        like = {"channel_delay_s": 0.025, "loss": 0.0, "repetition": run.factors["repetition"]}
        twin = next(it for it in plain if it.factors.items() >= like.items())
        assert (run.seed, run.link_seed) == (twin.seed, twin.link_seed)
        plan, other = _planned(run), _planned(twin)
        assert {entry["burst_bytes"] for entry in _shapers(plan)} == {run.factors["bucket_bytes"]}
        assert plan.get("offload", False) == (run.factors["offload"] == "on")
        window = run.factors["initial_window_segments"]
        assert plan["flows"][0]["stack_params"]["initial_window_segments"] == window
        for entry in plan["timeline"]:
            entry.pop("burst_bytes", None)
        plan["flows"][0]["stack_params"].pop("initial_window_segments")
        plan.pop("offload", None)
        assert {**plan, "id": other["id"]} == other


def test_reports_name_them_with_their_units(parse: Parse) -> None:
    axes = 'bucket = ["1580B", "64kB"]\noffload = ["off", "on"]\ninitial_window = [3, 10]\n'
    runs = expand(parse(CONSTANT, ('["tcp-cubic", "udp"]', '["tcp-cubic"]'), (AXIS, axes)))
    varying, _ = factors_of([run.to_json() for run in runs])
    told = {it.words: (it.unit, [it.label(value) for value in it.values]) for it in varying}
    assert told["bucket"] == ("kB", ["1.58 kB", "64 kB"])
    assert told["offload"] == ("", ["off", "on"])
    assert told["initial window"] == ("segments", ["3", "10"])
    for name in ("bucket_bytes", "offload", "initial_window_segments"):
        assert setting_of(name) is not None


@pytest.mark.parametrize("key", PROTOCOLS)
def test_an_initial_window_is_a_matter_of_tcp(parse: Parse, key: str) -> None:
    changes = (('["tcp-cubic", "udp"]', f'["{key}"]'), ('app = "cbr"', 'app = "cbr"\ninitial_window = 3'))
    over_tcp = PROTOCOLS[key].stack in OVER_TCP and key != "tls-sctp"
    if over_tcp:
        (flow,) = _planned(expand(parse(CONSTANT, *changes))[0])["flows"]
        assert flow["stack_params"]["initial_window_segments"] == 3
        return
    with pytest.raises(UserError, match=rf"the flow key 'initial_window' means nothing to {re.escape(key)};"):
        expand(parse(CONSTANT, *changes))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('bucket = "1499B"', r"\[link\] bucket: 1,499 bytes are no bucket .*give from 1500 B to 1 GB\."),
        ('bucket = "2GB"', r"\[link\] bucket: 2,000,000,000 bytes are no bucket"),
        ('bucket = "0B"', r"\[link\] bucket: "),
        ("bucket = 1580", "bucket"),
        ("offload = true", r"\[link\] offload"),
        ('offload = "gro"', r"\[link\] offload: 'gro' is not known"),
    ],
)
def test_what_cannot_be_is_one_sentence(parse: Parse, line: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        expand(parse(CONSTANT, ("[matrix]", f"[link]\n{line}\n[matrix]")))


@pytest.mark.parametrize("value", ["0", "123", '"3"', "2.5"])
def test_a_window_that_cannot_be_is_one_sentence(parse: Parse, value: str) -> None:
    changes = (
        ('["tcp-cubic", "udp"]', '["tcp-cubic"]'),
        ('app = "cbr"', f'app = "cbr"\ninitial_window = {value}'),
    )
    with pytest.raises(UserError, match="initial_window"):
        expand(parse(CONSTANT, *changes))


def test_the_experiments_about_them_vary_them() -> None:
    bursts = expand(load_experiment(EXPERIMENTS / "narrow-20mhz-bursts.toml", repetitions=1))
    assert {(it.link.bucket_bytes, it.link.offload) for it in bursts} == {
        (size, word) for size in (1580, 64_000) for word in ("off", "on")
    }
    windows = expand(load_experiment(EXPERIMENTS / "initial-window.toml", repetitions=1))
    assert {it.flows[0].options["initial_window_segments"] for it in windows} == {3, 10, 30}


def test_the_experiment_about_a_small_buffer_varies_the_system_calls() -> None:
    runs = expand(load_experiment(EXPERIMENTS / "send-buffer.toml", repetitions=1))
    asked = [program["parameters"] for it in runs if (program := it.flows[0].external) is not None]
    assert len(asked) == len(runs)
    assert {it["call_bytes"] for it in asked} == {1448, 131_072, 724 * 1448}
    assert {it["buffer_bytes"] for it in asked} == {104 * 1024}
    assert {it["congestion"] for it in asked} == {"cubic"}
