"""A challenge of one's own: what a file of circles and storms takes, and what is refused."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import challenge_file
from gauntlet.geography import packaged
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.outages import merged

US = packaged.load("us-fibre")
NASHVILLE = """
[[circle]]
middle = [36.16, -86.78]
stage = [
    { from = "20s", to = "40s", radius = "100km" },
    { from = "60s", to = "80s", radius = "300km" },
    { from = "100s", to = "120s", radius = "500km" },
]
"""
MIDWEST = """
[[storm]]
fix = [
    { at = "20s", middle = [35.47, -97.52], radius = "150km" },
    { at = "2min", middle = [41.88, -87.63], radius = "150km" },
]
"""


def written(folder: Path, text: str) -> str:
    (folder / "own.toml").write_text(text)
    return "own.toml"


@pytest.mark.parametrize(("text", "name"), [(NASHVILLE, "nashville"), (MIDWEST, "midwest")])
def test_a_file_takes_what_the_profile_of_the_same_shape_takes(tmp_path: Path, text: str, name: str) -> None:
    own = challenge_file.challenge(written(tmp_path, text), tmp_path, US)
    profile = profiles.challenge(name)
    assert own.name == "own"
    assert own.outages(US) == profile.outages(US)
    assert list(own.rings) == list(profile.rings)


def test_what_any_of_several_takes_is_down(tmp_path: Path) -> None:
    both = challenge_file.challenge(written(tmp_path, NASHVILLE + MIDWEST), tmp_path, US)
    one, other = (profiles.outages(name, US) for name in ("nashville", "midwest"))
    assert both.outages(US) == merged(US, [one, other])
    assert len(both.rings) == 3 + 5


def test_a_middle_is_a_node_in_any_case_and_a_circle_grows(tmp_path: Path) -> None:
    text = NASHVILLE.partition("stage")[0].replace("[36.16, -86.78]", '"nashville"')
    text += 'stage = [{ from = "0s", to = "100s", radius = "0m", last_radius = "400km" }]'
    found = challenge_file.challenge(written(tmp_path, text), tmp_path, US).outages(US)
    assert found.nodes["Nashville"] == ((0.0, 100.0),)
    ((louisville_s, until_s),) = found.nodes["Louisville"]
    assert until_s == 100
    # Some 250 km from Nashville by great circle.
    assert louisville_s == pytest.approx(100 * 250 / 400, abs=2)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("36.16, -86.78", "36.16", "circle, number 1, middle: [36.16] is no place"),
        ("36.16, -86.78", "96.16, -86.78", "such as [47.5, 10.5]"),
        (
            "[36.16, -86.78]",
            '"Nashvile"',
            "own.toml: circle, number 1, middle: US fibre has no node 'Nashvile'; did you mean 'Nashville'?",
        ),
        (
            NASHVILLE,
            MIDWEST.replace("[41.88, -87.63]", '"Chicagoo"'),
            "own.toml: storm, number 1, fix, number 2, middle: US fibre has no node 'Chicagoo'",
        ),
        ("middle", "centre", "unknown key 'centre'"),
        ('"100km"', '"100"', "no unit"),
        (
            'to = "80s"',
            'to = "10s"',
            "own.toml: circle, number 1, stage, number 2: a stage from 60 s to 10 s: let it begin",
        ),
        (
            "36.16, -86.78",
            "-36.16, -86.78",
            "The challenge 'own' reaches nothing of US fibre; move it (latitude stands first)",
        ),
        (
            "[[circle]]",
            "[circle]",
            "own.toml: circle: a table stands where a list belongs; write it in square brackets, or "
            "[[circle]] above each of several tables.",
        ),
        (
            NASHVILLE,
            MIDWEST.partition('    { at = "2min"')[0] + "]",
            "storm, number 1, fix: there are 1; give 2",
        ),
        (
            NASHVILLE,
            MIDWEST.replace("2min", "10s"),
            "own.toml: storm, number 1: a fix at 20 s is followed by",
        ),
        (NASHVILLE, "", "own.toml: nothing fails; write a [[circle]] or a [[storm]]."),
    ],
)
def test_what_is_no_challenge_is_one_sentence(tmp_path: Path, before: str, after: str, words: str) -> None:
    assert before in NASHVILLE
    named = written(tmp_path, NASHVILLE.replace(before, after, 1))
    with pytest.raises(UserError) as refused:
        challenge_file.challenge(named, tmp_path, US).outages(US)
    assert words in str(refused.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"flood.toml: there is no such challenge"):
        challenge_file.challenge("flood.toml", tmp_path, US)


@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_a_name_that_is_none_is_said_with_the_file_that_may_be_meant(tmp_path: Path, suffix: str) -> None:
    written(tmp_path, NASHVILLE)
    with pytest.raises(UserError) as refused:
        challenge_file.challenge(f"own{suffix}", tmp_path, US)
    meant = (
        "did you mean the file 'own.toml'?" if not suffix else "cascade. A file of your own ends in .toml."
    )
    assert str(refused.value).endswith(meant)


def test_the_example_of_the_page_is_a_challenge(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "geography.md").read_text(encoding="utf-8")
    text = page.partition("### One of your own")[2].partition("```toml")[2].partition("```")[0]
    network = packaged.load("nobel-eu")
    found = challenge_file.challenge(written(tmp_path, text), tmp_path, network).outages(network)
    assert found.nodes["Munich"][0] == (20.0, 40.0)
    assert "Vienna" in found.nodes
