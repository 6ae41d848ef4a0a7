"""What is asked of flows: read in base units, kept in a run's specification, no part of what is played."""

from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import expand, plan_run
from tests.experiment.conftest import CONSTANT, Parse

APP = 'app = "cbr"'
JUDGE = f'{APP}\njudge = {{ kpi = "delay_s", quantile = 0.99, at_most = "1s" }}'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('kpi = "delay_s", quantile = 0.99, at_most = "1s"', {"quantile": 0.99, "at_most": 1.0}),
        ('kpi = "download_time_s", at_most = "1min 30s"', {"at_most": 90.0}),
        ('kpi = "throughput_bps", at_least = "2Mbit/s"', {"at_least": 2e6}),
        ('kpi = "message_loss_ratio", at_most = "1 %"', {"at_most": 0.01}),
        ('kpi = "capacity_utilisation", at_least = "80%"', {"at_least": 0.8}),
        ('kpi = "voip_mos", at_least = 3.6', {"at_least": 3.6}),
        ('kpi = "delay_s", quantile = 1, at_most = "200ms"', {"quantile": 1.0, "at_most": 0.2}),
    ],
)
def test_a_bound_has_the_unit_of_its_kpi(parse: Parse, written: str, read: dict[str, Any]) -> None:
    runs = expand(parse(CONSTANT, (APP, f"{APP}\njudge = {{ {written} }}")))
    judge = dict(runs[0].to_json()["flows"][0]["judge"])
    assert judge.pop("kpi") in written
    assert judge == pytest.approx(read)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('judge = { kpi = "delay_s", at_most = 1 }', ["[workload] judge", "at_most", "no unit", "25ms"]),
        ('judge = { kpi = "delay_s", at_most = "1MB" }', ["at_most", "unknown unit 'MB'"]),
        ('judge = { kpi = "voip_mos", at_least = "3.6" }', ["at_least", "'3.6' is not a number"]),
        ('judge = { kpi = "delay_s" }', ["one bound", "at_most or at_least"]),
        ('judge = { kpi = "delay_s", at_most = "1s", at_least = "1s" }', ["one bound"]),
        ('judge = { kpi = "delay_s", quantil = 0.9, at_most = "1s" }', ["did you mean 'quantile'"]),
        ('judge = { at_most = "1s" }', ["'kpi' is missing"]),
        ('judge = { kpi = "latency", at_most = "1s" }', ["a KPI called 'latency'", "message_delay_s"]),
        (
            'judge = { kpi = "delay_s", quantile = 99, at_most = "1s" }',
            ["write 0.99"],
        ),
        ("background = true", ["every flow is in the background"]),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(parse: Parse, written: str, words: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        parse(CONSTANT, (APP, f"{APP}\n{written}"))
    assert [word for word in words if word not in str(refused.value)] == [], str(refused.value)


def test_no_axis_varies_what_is_asked(parse: Parse) -> None:
    with pytest.raises(UserError, match="unknown key 'judge'"):
        parse(CONSTANT, ("loss = [", 'judge = ["a"]\nloss = ['))


def test_what_is_asked_changes_no_run(parse: Parse) -> None:
    """Ids, seeds and plans are those of the same experiment without it; and it stands in no other flow."""
    plain, judged = expand(parse(CONSTANT)), expand(parse(CONSTANT, (APP, JUDGE)))
    assert [plan_run(it) for it in judged] == [plan_run(it) for it in plain]
    assert "judge" in judged[0].to_json()["flows"][0]
    assert not {"judge", "background"} & plain[0].to_json()["flows"][0].keys()


def test_a_flow_in_the_background_says_so(parse: Parse) -> None:
    beside = '[[flow]]\nbackground = true\napp = "bulk"\nsize = "1MB"\n'
    two = f'{beside}[[flow]]\nname = "asked"\nbackground = false'
    flows = expand(parse(CONSTANT, ("[workload]", two)))[0].to_json()["flows"]
    assert [flow.get("background") for flow in flows] == [True, None]
    both = two.replace("background = true", 'background = true\njudge = { kpi = "delay_s", at_most = "1s" }')
    with pytest.raises(UserError, match=r"\[\[flow\]\] 1: .*the background is not judged"):
        parse(CONSTANT, ("[workload]", both))


def test_what_matters_is_a_share(parse: Parse) -> None:
    named = 'name = "small"'
    assert parse(CONSTANT, (named, f'{named}\nmatters = "2 %"')).about.matters == 0.02
    with pytest.raises(UserError, match=r"\[experiment\] matters: .*percentage"):
        parse(CONSTANT, (named, f"{named}\nmatters = 2"))
