"""Bisection of defaults, on an engine that fails by a rule: what is found is the rule."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gauntlet import units
from gauntlet.cli.space import _show, space
from gauntlet.engine.contract import OnEvent, Place
from gauntlet.errors import UserError
from gauntlet.space.breaking import Breaking, Mend, Transfer, Trials, by_delay, by_loss

Rule = Callable[[float, float, Mapping[str, Any]], bool]
"""Whether a transfer completes: one-way delay in seconds, loss, the stack's parameters."""


class Ruled:
    """An engine whose runs end as a rule says."""

    exact = True

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def identity(self) -> dict[str, str]:
        return {}

    def describe(self) -> dict[str, str]:
        return {}

    def refusals(self, runs: Any) -> list[str | None]:
        return [None for _ in runs]

    def play(
        self, run: Mapping[str, Any], out: Path, *, place: Place, on_event: OnEvent | None = None
    ) -> Path:
        """Write the record of a run that ended by the rule."""
        link = next(entry for entry in run["timeline"] if entry["link"] == "mid>east")
        flow = run["flows"][0]
        done = self.rule(link["delay_s"], link["loss"], flow["stack_params"])
        told = {"start_s": 1.0, "finished_s": 2.0} if done else {"reason": "timed out"}
        folder = out / str(run["id"])
        folder.mkdir()
        flows = [{"outcome": "ok" if done else "failed", **told}]
        (folder / "record.json").write_text(json.dumps({"outcome": "ok", "flows": flows}))
        return folder


def found(rule: Rule, protocol: str = "quic-quinn-cubic", **extra: Any) -> Breaking:
    transfer = Transfer(protocol)
    return by_delay(
        Trials(Ruled(rule), transfer, lambda _: None), transfer, least_s=0.01, most_s=4e5, **extra
    )


def test_the_delay_and_the_parameter_at_fault_are_those_of_the_rule() -> None:
    one = found(lambda delay_s, _, params: 2 * delay_s < params.get("idle_timeout_s", 30))
    assert one.holds is not None and one.breaks is not None
    assert one.holds < 15 <= one.breaks < 1.021 * one.holds
    assert one.reason == "timed out"
    assert [mend.key for mend in one.mends] == ["idle_timeout"]
    written_s = units.time_s(one.mends[0].value)
    assert 2 * one.breaks < written_s < 2.05 * one.breaks


def test_two_parameters_that_mend_it_only_together_are_said_so() -> None:
    one = found(
        lambda delay_s, _, params: (
            2 * delay_s < min(params.get("timer_s", 3), params["transmission_limit"])
            if "transmission_limit" in params
            else 2 * delay_s < 3 and "timer_s" not in params
        ),
        "sdls-cop1",
    )
    assert one.mends == []
    assert set(one.together) == {"fop_timer", "transmission_limit"}


def test_what_nothing_breaks_and_what_never_worked_is_said() -> None:
    assert found(lambda *_: True).breaks is None
    assert found(lambda *_: False).holds is None


def test_a_loss_is_found_to_a_per_cent() -> None:
    transfer = Transfer("sdls-cop1", repetitions=2)
    trials = Trials(Ruled(lambda _, loss, __: loss < 0.237), transfer, lambda _: None)
    one = by_loss(trials, transfer, delay_s=0.25)
    assert one.holds is not None and one.breaks is not None
    assert (one.holds, one.breaks) == (0.23, 0.24)
    assert (one.runs, one.by_chance) == (2, True)


def test_a_range_the_wrong_way_round_is_a_sentence() -> None:
    transfer = Transfer("quic-quinn-cubic")
    trials = Trials(Ruled(lambda *_: True), transfer, lambda _: None)
    with pytest.raises(UserError, match="give the shorter first"):
        by_delay(trials, transfer, least_s=2, most_s=1)


def test_a_time_is_written_in_the_unit_of_its_size_and_never_below_what_mends() -> None:
    one = found(lambda delay_s, _, params: delay_s < 300_000 or params.get("idle_timeout_s", 0) > 700_000)
    (mend,) = one.mends
    assert str(mend.value).endswith("d")
    assert 700_000 < units.time_s(mend.value) < 1.03 * 700_000


def told(one: Breaking, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints."""
    _show([one])
    return capsys.readouterr().out


def test_every_mend_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    one = found(lambda delay_s, _, params: 2 * delay_s < params.get("idle_timeout_s", 30))
    said = told(one, capsys)
    assert f"idle_timeout = {one.mends[0].value} (silence after which the session counts as dead)" in said
    assert "why            timed out" in said


def test_where_no_parameter_is_known_nothing_is_said_to_have_been_tried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = found(lambda delay_s, *_: delay_s < 100, "tcp-cubic")
    assert "no parameter of this transport is known" in told(one, capsys)
    one = found(lambda delay_s, *_: delay_s < 100)
    assert "none of initial_rtt, idle_timeout" in told(one, capsys)


def test_long_times_and_losses_are_told_in_few_digits(capsys: pytest.CaptureFixture[str]) -> None:
    assert "completes at   4.63d" in told(Breaking("quic-quinn-cubic", "delay", 400_000.0, None), capsys)
    said = told(Breaking("quic-quinn-cubic", "loss", 0.28, 0.29, "timed out"), capsys)
    assert "completes at   28%\n  fails at       29%\n" in said


def test_what_random_losses_leave_to_chance_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    transfer = Transfer("sdls-cop1", repetitions=3)
    trials = Trials(
        Ruled(lambda _, loss, params: loss < 0.2 or params.get("transmission_limit", 3) > 3),
        transfer,
        lambda _: None,
    )
    said = told(by_loss(trials, transfer, delay_s=0.25), capsys)
    assert "each trial is 3 runs with random losses" in said
    assert "where it fails, and what mends it, may be chance" in said
    assert "each trial is one run" in told(found(lambda *_: False, loss=0.1), capsys)
    lossy = found(lambda delay_s, *_: delay_s < 100, loss=0.1)
    assert "each trial is one run with random losses" in (said := told(lossy, capsys))
    assert "where it fails may be chance" in said
    assert "chance" not in told(found(lambda delay_s, *_: delay_s < 100), capsys)


def test_the_guide_shows_the_answer_about_losses_as_it_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its words; what they are of was played."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "quic-to-mars.md").read_text(encoding="utf-8")
    answer = page.partition("```text\nquic-quinn-cubic, loss varied\n")[2].partition("```")[0]
    reason = re.findall("why +(.*)", answer)[0]
    silence = Mend("idle_timeout", "40.18s", "silence after which the session counts as dead")
    played = Breaking("quic-quinn-cubic", "loss", 0.25, 0.26, reason, runs=3, by_chance=True, mends=[silence])
    assert told(played, capsys) == "quic-quinn-cubic, loss varied\n" + answer.partition("\n\n")[0] + "\n"


@pytest.mark.parametrize("loss", range(96))
def test_whole_per_cents_are_told_as_such(loss: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"completes at   {loss}%\n" in told(Breaking("tcp-cubic", "loss", loss / 100, None), capsys)


def test_a_transport_that_leaves_out_what_is_lost_is_refused() -> None:
    result = CliRunner().invoke(space, ["link", "sdls"])
    assert isinstance(result.exception, UserError)
    assert "does not deliver everything" in str(result.exception)


@pytest.mark.parametrize(
    "options", [["--delay", "1s"], ["--vary", "loss", "--loss", "5%"], ["--vary", "loss", "--most", "1h"]]
)
def test_an_option_without_effect_is_refused(options: list[str]) -> None:
    result = CliRunner().invoke(space, ["link", "quic-quinn-cubic", *options])
    assert isinstance(result.exception, UserError)
    assert "has no effect with --vary" in str(result.exception)
