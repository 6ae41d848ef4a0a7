"""A trial counts only if its threat acted, on the message that was meant, in a run that can be trusted."""

from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from gauntlet.errors import UserError
from gauntlet.evidence.trials import _BY_CHANCE, A_TRIAL, Trial, trials_of
from gauntlet.evidence.verdict import INVALID, PREVENTED, UNDISTURBED
from gauntlet.experiment.runspec import LinkConditions
from gauntlet.results.reader import Run

S = 1_000_000_000
WAY_NS = S // 50
BY_COUNT = {"source_port": 40_000, "towards": "east", "length_bytes": [222, 242], "nth": 3}


def _event(number: int) -> dict[str, Any]:
    return {
        "flow": 0, "event": "message", "t_ns": number * S + WAY_NS, "verdict": "accepted", "number": number,
        "stamp_ns": number * S, "genuine": True,
    }  # fmt: skip


def _trial(
    *matched_ns: int, match: dict[str, Any] | None = None, threat: str = "it", **changes: Any
) -> Trial:
    """Five messages, a second apart from 0 s on, all well; the rule matched at these instants."""
    rule = {"id": "deletion", "match": match or BY_COUNT, "do": {"action": "drop"}}
    counters = {
        "id": "deletion",
        "matched_packets": len(matched_ns),
        "unfit_packets": changes.pop("unfit", 0),
    }
    log = [{"node": 0, "t_ns": t_ns, "event": "matched", "rule": 0} for t_ns in matched_ns]
    usual = {
        "id": "run",
        "trusted": True,
        "spec": {"link": {"threat": threat}, "flows": [{"app": "safety"}]},
        "plan": {
            "flows": [{"app_params": {"bound_s": 0.5}}],
            "in_path": [{"node": "threat", "rules": [rule]}],
        },
        "record": {"in_path": [{"node": "threat", "rules": [counters]}]},
        "safety": lambda: pa.Table.from_pylist([_event(number) for number in range(5)]),
        "messages": lambda: pa.Table.from_pylist(
            [{"flow": 0, "seq": number, "sent_ns": number * S} for number in range(5)]
        ),
        "in_path": lambda _: pa.Table.from_pylist(log) if log else None,
    }
    return Trial(cast(Run, SimpleNamespace(**{**usual, **changes})), 0)


def test_a_packet_by_count_has_to_be_there_while_the_message_can_be() -> None:
    # Message 3 bears number 2: sent at 2 s, and the next one can be there from 3.02 s on.
    assert _trial(2 * S + WAY_NS).verdict.verdict == PREVENTED
    assert _trial(2 * S + WAY_NS, 4 * S).course.acted_ns == 2 * S + WAY_NS
    for wrong_ns in (S + WAY_NS, 3 * S + WAY_NS):
        assert _trial(wrong_ns).verdict.verdict == INVALID


def _since(since_s: float, **app_params: float) -> Trial:
    """Packets that count from an instant on."""
    rule = {"id": "deletion", "match": {**BY_COUNT, "from_s": since_s}, "do": {"action": "drop"}}
    flow = {"start_s": 0.0, "app_params": {"bound_s": 0.5, **app_params}}
    return _trial(S, plan={"flows": [flow], "in_path": [{"node": "threat", "rules": [rule]}]})


def test_behind_a_session_before_packets_count_from_the_flows_start_on() -> None:
    # The second message alone can have been there.
    assert _since(0.0, warm_up_s=1.0).verdict.verdict == INVALID
    # From another instant on they are no count of messages.
    assert _since(0.5, warm_up_s=1.0).verdict.verdict == PREVENTED
    assert _since(0.0).verdict.verdict == PREVENTED


def test_a_message_by_number_is_the_one_that_was_meant() -> None:
    by_number = {"message": {"flow": "f0", "number": 3}}
    assert _trial(S, match=by_number).verdict.verdict == PREVENTED


def test_what_did_not_act_or_did_something_else_says_nothing() -> None:
    assert _trial().verdict.verdict == INVALID
    assert _trial(2 * S + WAY_NS, unfit=1).verdict.verdict == INVALID


def _with_keys(kind: str, *acted_ns: int) -> Trial:
    """The same five messages; an attacker with the sender's keys did something at these instants."""
    flow = {"app_params": {"bound_s": 0.5, "threat": {"kind": kind, "message": 3}}}
    acts = [
        {**_event(2), "event": "threat", "t_ns": t_ns, "verdict": kind, "genuine": None} for t_ns in acted_ns
    ]
    rows = sorted([*map(_event, range(5)), *acts], key=lambda row: int(row["t_ns"]))
    return _trial(
        plan={"flows": [flow]}, record={}, in_path=lambda _: None, safety=lambda: pa.Table.from_pylist(rows)
    )


def test_an_attacker_with_keys_tells_itself_when_it_acted_and_is_no_signal() -> None:
    trial = _with_keys("repetition", 2 * S, 3 * S)
    assert (trial.course.acted_ns, trial.verdict.verdict) == (2 * S, PREVENTED)
    assert _with_keys("repetition").verdict.verdict == INVALID
    assert trial.identity is not None
    assert _with_keys("corruption", 2 * S).identity is None


def test_a_run_that_is_not_trusted_says_nothing() -> None:
    assert _trial(2 * S + WAY_NS, trusted=False).verdict.verdict == INVALID
    assert _trial(threat="none", trusted=False).verdict.verdict == INVALID


def test_a_run_without_a_threat_is_the_control() -> None:
    assert _trial(threat="none").verdict.verdict == UNDISTURBED


def test_what_was_not_recorded_is_asked_for() -> None:
    with pytest.raises(UserError, match=r"\[record\] messages = true"):
        _ = _trial(messages=lambda: None).course


def test_a_copy_is_alike_to_the_nanosecond_unless_something_is_drawn() -> None:
    one = _trial(2 * S + WAY_NS)
    assert one.identity is not None
    assert one.identity == _trial(2 * S + WAY_NS).identity
    assert one.identity != _trial(2 * S + WAY_NS + 1).identity
    bits = {"id": "corruption", "match": BY_COUNT, "do": {"action": "alter", "bits": 1, "within": "message"}}
    plan = {
        "flows": [{"app_params": {"bound_s": 0.5}}],
        "in_path": [{"node": "threat", "rules": [bits]}],
    }
    assert _trial(2 * S + WAY_NS, plan=plan).identity is None


@pytest.mark.parametrize(
    ("condition", "drawn"),
    [
        ({"loss": 0.01}, True),
        ({"second_loss": 0.01}, True),
        ({"burst_loss": {"probability": 0.01}}, True),
        ({"corrupt": 0.01}, True),
        ({"duplicate": 0.01}, True),
        ({"jitter_s": 0.005}, True),
        ({"loss": 0.0, "jitter_s": 0.0}, False),
        ({"delay_s": 0.02, "rate_bps": 1e6}, False),
    ],
)
def test_a_trial_has_no_copies_only_where_the_link_draws(condition: dict[str, Any], drawn: bool) -> None:
    spec = {"link": {"threat": "it", **condition}, "flows": [{"app": "safety"}]}
    assert (_trial(2 * S + WAY_NS, spec=spec).identity is None) == drawn


def test_what_links_do_by_chance_are_conditions_that_they_have() -> None:
    assert {field.name for field in fields(LinkConditions)} >= set(_BY_CHANCE)


@pytest.mark.parametrize(
    ("match", "deed", "drawn"),
    [
        (BY_COUNT, {"action": "drop"}, False),
        (BY_COUNT, {"action": "insert", "packet": "matched"}, False),
        (
            {"at_s": 4.0},
            {"action": "insert", "packet": {"made": "udp"}, "set": {"source_port": 40_000}},
            False,
        ),
        (BY_COUNT, {"action": "insert", "packet": {"captured": "it", "pick": "last"}}, False),
        (BY_COUNT, {"action": "insert", "packet": {"captured": "it", "pick": "random"}}, True),
        (BY_COUNT, {"action": "alter", "bits": 1, "within": "message"}, True),
        (BY_COUNT, {"action": "alter", "at_bit": 3, "within": "message"}, False),
        ({**BY_COUNT, "probability": 0.5}, {"action": "drop"}, True),
        (BY_COUNT, {"action": "delay", "delay_s": 2.0}, False),
        (BY_COUNT, {"action": "delay", "delay_s": 2.0, "jitter_s": 0.1}, True),
    ],
)
def test_a_trial_has_no_copies_only_where_its_rule_draws(
    match: dict[str, Any], deed: dict[str, Any], drawn: bool
) -> None:
    """What is made without a draw is made alike each time, and a thousand copies of it bound nothing."""
    rule = {"id": "x", "match": match, "do": deed}
    flow = {"app_params": {"bound_s": 0.5}}
    plan = {"flows": [flow], "in_path": [{"node": "threat", "rules": [rule]}]}
    assert (_trial(2 * S + WAY_NS, plan=plan).identity is None) == drawn


def test_a_run_of_many_sessions_has_a_trial_of_each() -> None:
    """The rule of one session says nothing of the other."""

    def by_number(flow: int) -> dict[str, Any]:
        return {"id": "x", "match": {"message": {"flow": f"f{flow}", "number": 3}}, "do": {"action": "drop"}}

    one = {"id": "x", "matched_packets": 1, "unfit_packets": 0}
    run = _trial(
        2 * S,
        spec={"link": {"threat": "it"}, "flows": [{"app": "safety"}, {"app": "safety"}]},
        plan={
            "flows": 2 * [{"app_params": {"bound_s": 0.5}}],
            "in_path": [{"node": "threat", "rules": [by_number(0), by_number(1)]}],
        },
        record={"in_path": [{"node": "threat", "rules": [one, {**one, "matched_packets": 0}]}]},
    ).run
    first, second = trials_of(run)
    assert (first.flow, first.verdict.verdict) == (0, PREVENTED)
    assert (second.flow, second.verdict.verdict) == (1, INVALID)


def test_who_has_the_keys_of_one_session_is_no_trial_of_another() -> None:
    armed = {"app_params": {"bound_s": 0.5, "threat": {"kind": "deletion", "message": 3}}}
    run = _trial(
        spec={"link": {"threat": "it"}, "flows": [{"app": "safety"}, {"app": "safety"}]},
        plan={"flows": [{"app_params": {"bound_s": 0.5}}, armed]},
        record={},
    ).run
    assert [trial.flow for trial in trials_of(run)] == [1]


def test_the_guide_says_what_a_trial_is_in_the_same_words() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "in-path.md"
    assert A_TRIAL in guide.read_text(encoding="utf-8")
