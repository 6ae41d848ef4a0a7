"""The page of `gauntlet attack run`: verdicts with numbers and curves; of an invalid run neither."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gauntlet.attack import verdict
from gauntlet.attack.kinds import KINDS
from gauntlet.attack.laboratory import Found
from gauntlet.report import attacked
from tests.attack.factory import outcome, run
from tests.report.test_report import Page

ABOUT = attacked.About(
    ["gauntlet", "attack", "run"],
    "my-server",
    "",
    {"quinn": "0.11.9", "rustls": "0.23.1"},
    0.2,
    {"processor": "Some CPU", "governor": None},
)


def found(key: str, delays_s: Sequence[float | None], **more: Any) -> Found:
    """What came of an attack on a server that else serves within 10 ms."""
    hit, alone = outcome(run(key), delays_s, **more), outcome(run(None), [0.01] * 10)
    return Found(KINDS[key], "h3", hit, alone, verdict.judged(hit, alone))


ALL = (
    found("flood", [0.02] * 10),
    found("header-drip", [0.5] * 8 + [None] * 2),
    found("flood-initial", [0.01] * 10, others_of_a_core=1.0),
)


def drawn(all_of_them: Sequence[Found]) -> str:
    """What the curves are drawn from."""
    data = re.search(r'id="page-data">(.*?)</script>', attacked.html(all_of_them, ABOUT), re.DOTALL)
    assert data is not None
    return json.dumps(json.loads(data[1])["figures"]["curves"])


def test_each_attack_has_its_verdict_and_why() -> None:
    text = Page(attacked.html(ALL, ABOUT)).text
    assert "1 of 3 attacks held, 1 broken, 1 invalid." in text
    assert "80% of honest requests were served" in text
    assert "something else on this machine took 100% of a core, and 25% are allowed" in text
    assert "my-server" in text and "Some CPU" in text and "None" not in text
    assert re.search(r"Libraries of the server\s+quinn 0.11.9, rustls 0.23.1\s", text)
    assert "broken off" not in text


def test_a_run_that_was_broken_off_is_said_to_be() -> None:
    text = Page(attacked.html(ALL[:1], replace(ABOUT, whole=False))).text
    assert "1 of 1 attack held, 0 broken, 0 invalid. The run was broken off: not all was played" in text


def test_a_run_that_tells_nothing_has_no_number_and_no_curve() -> None:
    assert "flood over h3" in drawn(ALL) and "header-drip over h3" in drawn(ALL)
    assert "flood-initial over h3" not in drawn(ALL)
    assert Page(attacked.html(ALL, ABOUT)).text.count("–") >= 7
    nothing = attacked.html(ALL[2:], ABOUT)
    assert "Half by" in attacked.html(ALL, ABOUT) and "Half by" not in nothing, "a column of dashes"
    assert "chart-curves" not in nothing and "0 of 1 attack held, 0 broken, 1 invalid." in nothing


def test_each_cell_says_on_a_narrow_page_what_it_is() -> None:
    text = attacked.html(ALL, ABOUT)
    for head in ("How much", "Verdict", "Half by, left alone", "Sockets grew by", "Begun by the attacker"):
        assert text.count(f'data-is="{head}"') == len(ALL), head


def test_who_is_not_served_stays_in_the_curve_to_the_limit() -> None:
    """Of ten requests two were not served within 5 s."""
    assert "header-drip over h3,attacked,5000,0.2," in drawn(ALL)
    assert "header-drip over h3,left alone,5000,0," in drawn(ALL)
