"""Confirmed, contradicted, not checked: a run is trusted when all that was asked of its links was looked
at."""

from __future__ import annotations

from typing import Any

import pytest

from tests.certificate.conftest import Judge
from tests.certificate.railsim import QUIET_TIMELINE, Claims, Run, bursty, run_network, steady

UP, DELAY, BACK = "gw>radio", "radio>core", "core>radio"

CALM = steady(4e6, 1000, 10.0)

ASKED: dict[tuple[str, str], dict[str, Any]] = {
    (UP, "rate"): {"link": UP, "rate_bps": 5_200_000},
    (UP, "queue limit"): {"link": UP, "queue_limit_bytes": 30_000},
    (DELAY, "delay"): {"link": DELAY, "delay_s": 0.03},
    (DELAY, "jitter"): {"link": DELAY, "jitter_s": 0.01},
    (DELAY, "reorder"): {"link": DELAY, "jitter_s": 0.01, "reorder": True},
    (DELAY, "loss"): {"link": DELAY, "loss": 0.02},
    (DELAY, "burst loss"): {
        "link": DELAY,
        "gilbert_elliott": {"p": 0.02, "r": 0.3, "loss_bad": 0.9, "loss_good": 0.0},
    },
    (DELAY, "duplicate"): {"link": DELAY, "duplicate": 0.02},
    (DELAY, "corrupt"): {"link": DELAY, "corrupt": 0.05},
    (DELAY, "packet limit"): {"link": DELAY, "limit_packets": 12},
    (DELAY, "outage"): {"at_s": 5.0, "link": DELAY, "up": False},
}
"""What a plan can ask of a link direction."""


def asking(change: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted([*QUIET_TIMELINE, {"at_s": 0.0, **change}], key=lambda entry: entry["at_s"])


def without(run: Run, *links: str) -> Run:
    """The run as it would have been recorded without these taps."""
    for link in links:
        del run.taps[link]
    return run


def counted(run: Run, *links: str) -> Run:
    """What `without` leaves of the links' own counters: they say that packets came."""
    for link in links:
        run.counters.pop(link, None)
    return without(run, *links)


def test_no_tap_and_a_claim_of_any_size_are_not_trusted(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.claims = Claims(10**12, {})
    verdict = judge(counted(run, *list(run.taps)))
    assert verdict.failures == {}
    assert verdict.answer == "not checked"
    assert verdict.certificate["trusted"] is False
    assert {f"a tap on {link}" for link in (UP, DELAY)} <= verdict.missing
    assert "a tap on the last link to srv" in verdict.missing
    assert "f0 received 1,000,000,000,000 bytes, and when, was not checked" in verdict.undecided


@pytest.mark.parametrize("link", [UP, DELAY, "tgw>core", BACK])
def test_a_link_without_a_tap_is_not_checked(judge: Judge, link: str) -> None:
    verdict = judge(counted(run_network(QUIET_TIMELINE, CALM), link))
    assert verdict.failures == {}
    assert verdict.answer == "not checked"
    assert f"a tap on {link}" in verdict.missing
    assert f"What was asked of {link} (" in verdict.undecided
    assert "the run has no tap on it" in verdict.undecided


def test_what_lies_behind_a_link_without_a_tap_is_not_checked_either(judge: Judge) -> None:
    verdict = judge(counted(run_network(QUIET_TIMELINE, CALM), UP))
    delay = verdict.impairment(DELAY, "delay")
    assert delay["answer"] == "not checked"
    assert delay["missing"] == f"a tap on every link that leads to {DELAY}"


def test_a_shaped_link_of_which_only_the_output_was_seen_is_not_checked(judge: Judge) -> None:
    verdict = judge(without(run_network(QUIET_TIMELINE, CALM), "sa>gw"))
    assert verdict.failures == {}
    assert verdict.answer == "not checked"
    rate = verdict.impairment(UP, "rate")
    assert (rate["answer"], rate["checks"]) == ("not checked", ["rate"])


def test_a_receiver_without_a_tap_is_held_against_the_last_one_before_it(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.claims = run.honest_claims()
    verdict = judge(without(run, "lan>srv"))
    assert verdict.failures == {}
    assert verdict.answer == "confirmed"


@pytest.mark.parametrize(("link", "name"), ASKED)
def test_everything_that_can_be_asked_is_answered(judge: Judge, link: str, name: str) -> None:
    traffic = steady(5.5e6, 300, 10.0)
    verdict = judge(run_network(asking(ASKED[link, name]), traffic))
    assert verdict.failures == {}
    assert verdict.impairment(link, name)["answer"] == "confirmed"
    assert verdict.answer == "confirmed"


@pytest.mark.parametrize(("link", "name"), ASKED)
def test_nothing_that_can_be_asked_goes_unchecked_unsaid(judge: Judge, link: str, name: str) -> None:
    run = counted(run_network(asking(ASKED[link, name]), CALM), link)
    verdict = judge(run)
    answer = verdict.impairment(link, name)
    assert (answer["answer"], answer["missing"]) == ("not checked", f"a tap on {link}")
    assert verdict.answer == "not checked"


TOO_LITTLE: dict[tuple[str, str], dict[str, Any]] = {
    (DELAY, "loss"): {"link": DELAY, "loss": 0.01},
    (DELAY, "burst loss"): ASKED[DELAY, "burst loss"],
    (DELAY, "duplicate"): {"link": DELAY, "duplicate": 0.01},
    (DELAY, "corrupt"): {"link": DELAY, "corrupt": 0.01},
    (DELAY, "jitter"): {"link": DELAY, "jitter_s": 0.01},
    (DELAY, "outage"): {"at_s": 50.0, "link": DELAY, "up": False},
}


@pytest.mark.parametrize(("link", "name"), TOO_LITTLE)
def test_what_no_record_could_show_is_said_and_takes_no_trust(judge: Judge, link: str, name: str) -> None:
    verdict = judge(run_network(asking(TOO_LITTLE[link, name]), bursty(20, 5.0)))
    answer = verdict.impairment(link, name)
    assert (answer["answer"], answer["missing"]) == ("not checked", None)
    assert answer["why"]
    assert verdict.answer == "confirmed"


SIDE = {"at_s": 0.0, "link": "core>side", "delay_s": 0.01}


def test_a_link_of_which_nothing_is_known_is_not_checked(judge: Judge) -> None:
    verdict = judge(run_network([*QUIET_TIMELINE, SIDE], CALM))
    assert verdict.failures == {}
    assert verdict.answer == "not checked"
    assert "a tap on core>side" in verdict.missing


def test_a_link_that_nothing_used_needs_no_tap(judge: Judge) -> None:
    run = run_network([*QUIET_TIMELINE, SIDE], CALM)
    run.idle = ["core>side"]
    verdict = judge(run)
    assert verdict.failures == {}
    assert verdict.answer == "confirmed"
    assert verdict.impairment("core>side", "delay")["why"] == "no packet came to it"


def test_a_contradiction_outweighs_what_was_not_checked(judge: Judge) -> None:
    really = [{**entry, "delay_s": 0.02} if entry["link"] == BACK else entry for entry in QUIET_TIMELINE]
    run = run_network(QUIET_TIMELINE, CALM, really=really)
    verdict = judge(counted(run, UP))
    assert verdict.answer == "contradicted"
    assert verdict.impairment(BACK, "delay")["answer"] == "contradicted"


def test_scripted_drops_without_taps_are_not_checked(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.plan["flows"] = [{"id": "f0", "stack": "tcp", "stack_params": {}, "app": "page"}]
    run.plan["drops"] = [{"flow": "f0", "packet": "syn", "nth": 1, "link": DELAY}]
    verdict = judge(counted(run, DELAY))
    assert verdict.impairment(DELAY, "scripted drops")["answer"] == "not checked"
    assert verdict.answer == "not checked"
