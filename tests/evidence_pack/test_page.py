"""What the page of a pack shows of claims, however they came out."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.cli.evidence import EXIT_IN_PART
from gauntlet.cli.failure import EXIT_FAILED
from gauntlet.evidence import verdict as words
from gauntlet.evidence_pack import layout, page
from gauntlet.evidence_pack.claims import sentence
from gauntlet.evidence_pack.overview import grid
from gauntlet.evidence_pack.verify import HOLDS, IN_PART, NOT
from tests.evidence_pack.forged import content

Claims = list[dict[str, Any]]


@pytest.fixture
def told(pack: Path) -> tuple[dict[str, Any], Claims]:
    """Manifest and claims of a pack."""
    files = content(pack)
    claims = [json.loads(it) for name, it in sorted(files.items()) if name.startswith("claims/")]
    return json.loads(files[layout.MANIFEST]), claims


def _plain(html: str) -> str:
    return " ".join(re.sub(r"<style.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL).split())


def _late(claims: Claims) -> dict[str, Any]:
    return next(
        it
        for it in claims
        if it["condition"] == {**it["condition"], "protocol": "TCP CUBIC", "threat": "late"}
    )


def test_the_overview_is_a_grid_of_protocols_and_threats_of_en_50159(
    told: tuple[dict[str, Any], Claims],
) -> None:
    found = grid(told[1])
    assert found.columns == [("Corruption", "changed"), ("Delay", "late"), ("No threat", "control")]
    assert [(row.protocol, row.condition) for row in found.rows] == [
        ("TCP CUBIC", "freshness check off"),
        ("UDP", "freshness check off"),
    ]
    by_id = {it["id"]: it["condition"] for it in told[1]}
    for row in found.rows:
        for (_, name), (cell,) in zip(found.columns, row.cells, strict=True):
            about = by_id[cell["id"]]
            assert about["protocol"] == row.protocol
            assert about["threat"] == ("none" if name == "control" else name)


def test_what_was_acted_on_before_anybody_was_told_is_a_warning(told: tuple[dict[str, Any], Claims]) -> None:
    manifest, claims = told
    late = _late(claims)
    late["finding"].update(verdicts={words.SIGNALLED: 3}, trials=3, accepted_before=2, not_noticed=0)
    said = "acted on before anybody was told in 2 of 3"
    assert f"detected and signalled in 3 of 3; {said}. N = 3." in sentence(
        late["test"]["threat"], late["condition"], late["finding"]
    )
    html = page.html(manifest, claims)
    assert '<span class="badge warn">detected and signalled</span>' in html
    assert f"<span>{said}</span>" in html
    late["finding"]["accepted_before"] = 0
    assert '<span class="badge good">detected and signalled</span>' in page.html(manifest, claims)


@pytest.mark.parametrize(
    ("finding", "count"),
    [
        ({"trials": 60, "distinct": 60, "bound": 0.05}, "N = 60, at most 0.0500"),
        ({"trials": 60, "distinct": 3, "bound": 1.0}, "N = 60"),
        ({"trials": 60, "distinct": 1, "bound": None, "copies": True}, "N = 60, copies"),
        ({"trials": 60, "distinct": 1, "bound": None, "copies": True, "not_noticed": 60}, "N = 60"),
    ],
)
def test_a_bound_that_says_nothing_is_not_shown(
    told: tuple[dict[str, Any], Claims], finding: dict[str, Any], count: str
) -> None:
    late = _late(told[1])
    late["finding"].update({"not_noticed": 0, "copies": False, **finding})
    cells = [cell for row in grid(told[1]).rows for it in row.cells for cell in it]
    assert next(cell["count"] for cell in cells if cell["id"] == late["id"]) == count


def _with_keys(_: dict[str, Any], claims: Claims) -> None:
    _late(claims)["test"]["with_keys"] = True


def _undecided(manifest: dict[str, Any], _: Claims) -> None:
    manifest["experiments"]["small"]["undecided"] = {"What it weighed.": 1, "Who it was.": 2}


def _large(manifest: dict[str, Any], _: Claims) -> None:
    left = {"file": "capture.pcapng", "files": 12, "bytes": 12_345_678, "why": "packets"}
    manifest["experiments"]["small"]["left_out"] = [left]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_with_keys, "What an attacker with keys did, by packets: they cannot confirm it"),
        (_undecided, "What it weighed (1 run) Who it was (2 runs)"),
        (_large, "12.3 MB"),
    ],
)
def test_what_the_page_says_when_it_is_so(
    told: tuple[dict[str, Any], Claims], change: Callable[[dict[str, Any], Claims], None], said: str
) -> None:
    assert said not in _plain(page.html(*told))
    change(*told)
    assert said in _plain(page.html(*told))


@pytest.mark.parametrize(
    ("stands", "said"),
    [
        ("agrees", "; the specification agrees."),
        ("faults only", "; by the specification that holds against faults, not against an attacker."),
        ("differs", "; the specification says otherwise."),
        (None, "ticked."),
    ],
)
def test_how_d35_stands_to_the_specification(
    told: tuple[dict[str, Any], Claims], stands: str | None, said: str
) -> None:
    late = _late(told[1])
    late["requirement"]["on_paper"]["d35"].update(stands=stands, ticked=True)
    mine = page.html(*told).partition(f'<div class="claim" id="{late["id"]}">')[2].partition("</dd>")[0]
    assert mine.endswith(said)


def test_n_stands_once_where_all_cells_of_a_protocol_have_the_same(
    told: tuple[dict[str, Any], Claims],
) -> None:
    manifest, claims = told
    shown = _plain(page.html(manifest, claims)).partition("From claim to log")[0].replace("\xa0", " ")
    assert shown.count("N = 2") == shown.count("N = 2 each") == 2
    _late(claims)["finding"]["trials"] = 3
    shown = _plain(page.html(manifest, claims)).partition("From claim to log")[0].replace("\xa0", " ")
    assert shown.count("N = 2 each") == 1
    assert (shown.count("N = 2"), shown.count("N = 3")) == (3, 1)


def test_on_a_phone_a_cell_says_which_experiments_threat_it_is_of(
    told: tuple[dict[str, Any], Claims],
) -> None:
    shown = page.html(*told)
    assert '<td data-is="Corruption (changed)">' in shown
    assert '<td data-is="Delay (late)">' in shown


def test_the_page_says_how_to_verify_and_what_comes_of_it(told: tuple[dict[str, Any], Claims]) -> None:
    shown = page.html(*told)
    assert "gauntlet evidence verify PACK --replay 3 --seed NUMBER" in _plain(shown)
    codes = dict(re.findall(r"<li><b>([a-z ]+)</b> \(exit code (\d)\)", shown))
    assert codes == {HOLDS: "0", IN_PART: str(EXIT_IN_PART), NOT: str(EXIT_FAILED), "is no pack": "2"}


def test_the_page_names_the_act_and_what_was_not_checked(told: tuple[dict[str, Any], Claims]) -> None:
    shown = _plain(page.html(*told))
    for said in (
        "Message 3 comes 2 s late. Somebody in the path does it, without keys.",
        "Somebody else as the client of a session of their own",
        "a transport that is no part of the safety-related equipment may prevent a threat here",
        "Whether other seeds were played and left out",
        "Which files were left out, how many and how large, is the word of who built the pack",
        "Measured behaviour of software on an emulated link.",
        "A trial is one session in which one threat acts",
    ):
        assert said in shown


@pytest.mark.parametrize(
    ("unnoticed", "words_"),
    [
        ([1, 0, 0], "Of 3 claims on a threat, 1 has trials in which nobody noticed it. 2 have a bound 3/N;"),
        ([2, 1, 0], "Of 3 claims on a threat, 2 have trials in which nobody noticed it. 1 has a bound 3/N;"),
    ],
)
def test_the_lead_counts_claims(
    told: tuple[dict[str, Any], Claims], unnoticed: list[int], words_: str
) -> None:
    manifest, claims = told
    tried = [it for it in claims if not it["finding"]["control"]][:3]
    for claim, count in zip(tried, unnoticed, strict=True):
        claim["finding"].update(not_noticed=count, bound=None if count else 0.06)
    assert words_ in _plain(page.html(manifest, tried))


def test_headings_name_the_experiments_where_there_are_several(told: tuple[dict[str, Any], Claims]) -> None:
    manifest, claims = told
    title = manifest["experiments"]["small"]["title"]
    assert page.html(manifest, claims).count(f"<h3>{title}</h3>") == 2
    manifest["experiments"]["with-certificates"] = manifest["experiments"]["small"]
    manifest["experiments"]["untitled"] = {**manifest["experiments"]["small"], "title": ""}
    others = [{**it, "experiment": name} for name in ("with-certificates", "untitled") for it in claims]
    shown = page.html(manifest, [*claims, *others])
    for heading in (f"small: {title}", f"with-certificates: {title}", "untitled"):
        assert shown.count(f"<h3>{heading}</h3>") == 2
