"""`gauntlet advise` on the committed summaries: both tables, one class, one condition, rules of one's own."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.studies import folders
from gauntlet.studies.asked import Question, rows
from gauntlet.studies.load import load

from .conftest import Gauntlet, refused

CLASSES = folders.known()["d34"] / "classes.toml"


def asked(gauntlet: Gauntlet, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gauntlet("advise", *words, "--json").stdout)
    return found


def transports(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [it for cell in row["advice"]["cells"] for it in cell["transports"]]


def test_one_class_on_one_line_under_one_condition(gauntlet: Gauntlet) -> None:
    words = ("--class", "critical-data", "--scenario", "hsr", "--delay", "50ms", "--loss", "1%")
    rows = asked(gauntlet, *words)
    assert {row["class"] for row in rows} == {"Critical data", "Critical data: pages", "Critical data: files"}
    for row in rows:
        assert {(cell["delay_s"], cell["loss"]) for cell in row["advice"]["cells"]} == {(0.05, 0.01)}
    clear = next(row for row in rows if row["study"] == "d34")
    assert clear["advice"]["use"] == ["tcp-bbr"]
    best = clear["advice"]["cells"][0]["transports"][0]
    assert best["margin"] is not None
    assert best["needs"][0]["low"] < best["needs"][0]["value"] < best["needs"][0]["high"]
    said = gauntlet("advise", *words).stdout
    assert "TCP BBR serves it" in said
    assert "FTPS: TCP BBR" in said
    assert "at least" in said
    assert "no safety: which threats of EN 50159 a protocol meets" in " ".join(said.split())
    assert "paired margin 0." in said
    assert "Paired margin: what is left to a limit against the best" in said
    assert re.search(r"^ +✓ serves, the whole 95 % interval\. *$", said, re.MULTILINE)


GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "which-protocol.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```sh\n(gauntlet advise [^\n]+)\n```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)


def test_the_guide_shows_two_answers() -> None:
    assert len(SHOWN) == 2


@pytest.mark.parametrize(("command", "excerpt"), SHOWN)
def test_the_guide_shows_what_the_command_prints(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, command: str, excerpt: str
) -> None:
    """Line by line, in its order; what a line of dots leaves out may be anything."""
    monkeypatch.setenv("COLUMNS", "80")
    printed = "".join(
        f"{line.rstrip()}\n" for line in gauntlet(*shlex.split(command)[1:]).stdout.splitlines()
    )
    for part in filter(None, excerpt.split("  ...\n")):
        _, found, printed = printed.partition(part)
        assert found, part


def test_a_delay_between_two_that_were_measured_is_answered_by_both(gauntlet: Gauntlet) -> None:
    rows = asked(gauntlet, "--class", "critical-data", "--delay", "100ms", "--loss", "0.5%")
    cells = rows[0]["advice"]["cells"]
    assert {cell["delay_s"] for cell in cells} == {0.05, 0.15}
    assert {cell["loss"] for cell in cells} == {0.0, 0.01}
    assert rows[0]["between"] == (
        "100 ms one way: this class is judged under 25 ms, 50 ms and 150 ms only; "
        "50 ms and 150 ms both count. "
        "0.5 % loss: this class is judged under 0 % and 1 % only; 0 % and 1 % both count."
    )


def test_what_is_beyond_the_measurements_is_not_guessed(gauntlet: Gauntlet) -> None:
    rows = asked(gauntlet, "--class", "critical-data", "--delay", "2s")
    assert all(
        row["advice"] is None and "2 s one way: this class is judged under 25 ms," in row["why_not"]
        for row in rows
    )


def test_conditions_are_those_of_the_class_and_not_all_that_were_measured(gauntlet: Gauntlet) -> None:
    """Other classes are judged under 0.1 % too."""
    assert asked(gauntlet, "--class", "non-critical-data", "--loss", "0.1%")[0]["advice"] is not None
    between = asked(gauntlet, "--class", "critical-data", "--loss", "0.1%")[0]["between"]
    assert between == "0.1 % loss: this class is judged under 0 % and 1 % only; 0 % and 1 % both count."
    silent = asked(gauntlet, "--class", "critical-data", "--loss", "5%")[0]["why_not"]
    assert silent == "5 % loss: this class is judged under 0 % and 1 % only; run your own experiment there."


def test_what_d35_names_and_what_stands_for_it_here_are_told_apart(gauntlet: Gauntlet) -> None:
    said = " ".join(gauntlet("advise", "--class", "critical-data").stdout.split())
    assert "D3.5 recommends TCP BBR and QUIC (here: TLS over TCP BBR and QUIC quinn BBR)." in said
    assert "D3.5 recommends HTTP, HTTP/3, FTP, HTTPS and FTPS beside TCP BBR and QUIC (here: HTTP: " in said
    assert "D3.4 recommends TCP BBR." in said


def test_deadlines_have_p99_and_p99_9_beside_cross_traffic(gauntlet: Gauntlet) -> None:
    rows = asked(gauntlet, "--class", "signalling")
    beside = next(row for row in rows if row["class"] == "Signalling beside a greedy CUBIC")
    needs = [need for it in transports(beside) for need in it["needs"]]
    assert all({"p99_s", "p99_9_s", "missed"} <= need.keys() for need in needs)


def test_nothing_serves_of_which_more_is_late_or_lost_than_may_be(gauntlet: Gauntlet) -> None:
    found = [
        need for row in asked(gauntlet) if row["advice"] for it in transports(row) for need in it["needs"]
    ]
    judged = [it for it in found if it["may_miss"] is not None and it["missed"] is not None]
    served = [it for it in judged if it["grade"].startswith("serves")]
    assert served
    assert [it for it in served if it["missed"] > it["may_miss"]] == []
    decided = [it for it in judged if it["decided_by"] == "missed"]
    assert decided
    assert all(it["value"] <= it["limit"] for it in decided)


def test_voice_and_video_are_answered_by_calls_that_were_played(
    gauntlet: Gauntlet,
) -> None:
    for name, class_name in (("critical-voice", "Critical voice"), ("critical-video", "Critical video")):
        by_study = {row["study"]: row for row in asked(gauntlet, "--class", name)}
        assert by_study.keys() == {"d34", "d35"}
        assert by_study["d34"]["class"].startswith(f"{class_name}: a call")
        assert by_study["d35"]["class"].startswith(f"{class_name}: a call")
        assert transports(by_study["d34"]) and transports(by_study["d35"])


def test_a_row_is_filled_by_what_it_waited_for_and_by_no_stand_in() -> None:
    """Its class of calls asks here for what the summary has already."""
    study = load(folders.known()["d34"], trust_plugin=False)
    own = study.beyond
    assert own is not None
    row = next(it for it in own.empty if it.name == "Critical voice")
    call = own.by_name["Critical voice: a call"]
    asks = call.needs[0].model_copy(update={"kpi": "delay_p95_s", "least": None, "most": 1.0})

    def answered(until: str) -> list[str]:
        need = asks.model_copy(update={"experiment": until})
        beyond = replace(
            own,
            classes=(replace(call, needs=(need,)),),
            empty=(row.model_copy(update={"until": [until]}),),
        )
        found = rows(Question("critical-voice"), [replace(study, beyond=beyond)])
        return [it.silent or it.name for it in found]

    assert answered("vbr-low-hsr") == ["Critical voice", "Critical voice: a call"], (
        "the stand-in is of it too"
    )
    assert answered("cbr-hsr") == ["Critical voice: a call"]
    assert answered("not-played") == [f"Empty: {row.words}."]


def test_another_line_has_its_own_measurements(gauntlet: Gauntlet) -> None:
    words = ("--class", "critical-data", "--delay", "25ms", "--loss", "1%")
    on = {line: asked(gauntlet, *words, "--scenario", line)[0] for line in ("hsr", "metro-a")}
    values = {line: transports(row)[0]["needs"][0]["value"] for line, row in on.items()}
    assert on["metro-a"]["scenarios"] == ["metro-a"]
    assert values["hsr"] != values["metro-a"]
    secure = asked(gauntlet, *words, "--scenario", "metro-a")[1]
    assert "Not measured on metro-a, only on hsr." in secure["why_not"]


def test_the_whole_table_names_every_class_once_a_part(gauntlet: Gauntlet) -> None:
    said = gauntlet("advise").stdout
    for name in ("Signalling", "Internet connectivity", "Critical data: pages", "Critical voice: a call"):
        assert name in said
    assert "D3.4 recommends" in said
    assert "D3.5 recommends" in said


def test_limits_of_ones_own_change_the_answer(gauntlet: Gauntlet) -> None:
    own = Path("own.toml")
    own.write_text(CLASSES.read_text(encoding="utf-8").replace("of_best = 1.1\n", "of_best = 100.0\n"))
    words = ("--class", "critical-data")
    assert asked(gauntlet, *words)[0]["advice"]["use"] == ["tcp-bbr"]
    rows = asked(gauntlet, *words, "--classes", "own.toml")
    assert [row["study"] for row in rows] == ["d34"]
    assert set(rows[0]["advice"]["use"]) == {"tcp-cubic", "tcp-bbr", "sctp"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--class", "critical-dat"], ["critical-dat", "did you mean 'critical-data'?"]),
        (["--class", "voice"], ["did you mean 'critical-voice'?"]),
        (["--scenario", "hrs"], ["'hrs'", "did you mean 'hsr'?"]),
        (["--scenario", "geo"], ["No class was measured on the line 'geo'", "hsr, metro-a and regional"]),
        (["--scenario", "satellite"], ["'satellite'", "hsr", "regional"]),
        (["--delay", "fast"], ["--delay", "fast"]),
        (["--classes", "none.toml"], ["none.toml", "no such file of classes"]),
    ],
)
def test_what_is_not_known_is_one_sentence(gauntlet: Gauntlet, words: list[str], said: list[str]) -> None:
    refused(gauntlet("advise", *words), 2, *said)


def test_rules_that_name_an_experiment_of_no_study_are_refused(gauntlet: Gauntlet) -> None:
    Path("own.toml").write_text(CLASSES.read_text(encoding="utf-8").replace('"cbr-hsr"', '"cbr-hrs"'))
    refused(gauntlet("advise", "--classes", "own.toml"), 2, "own.toml", "did you mean 'cbr-hsr'?")
