"""What was fixed before the runs stays fixed: a claim that departs from it is shown and not counted."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.studies import judging, page, registration, reproduce, terminal
from gauntlet.studies.judging import Judged
from gauntlet.studies.model import Study
from gauntlet.studies.registration import Registration
from gauntlet.studies.summary import Part, Summary
from tests.report.test_report import Page
from tests.studies import factory
from tests.studies.factory import flows, steady, summary
from tests.studies.test_ledger import CBR

SEED = 20261123


@pytest.fixture
def registered(tmp_path: Path) -> Study:
    """A study with a registration."""
    study = factory.study(tmp_path)
    study.experiments[0].file.write_text(CBR)
    for other in study.experiments[1:]:
        other.file.write_text(CBR.replace('name = "cbr"', f'name = "{other.name}"'))
    registration.register(study, SEED)
    return study


def played(study: Study, **changes: object) -> Summary:
    """Results of the study's runs, as they were registered but for what is changed."""
    made = summary(flows({("tcp-bbr", 0.01): steady(1.96e6), ("tcp-bbr", 0.0): [2e6] * 10}))
    fixed = Registration.of(study)
    assert fixed is not None
    sha256, runs = fixed.experiments["cbr"]
    facts = {"seed": SEED, "experiment_sha256": sha256, "runs": runs} | changes
    part = made.manifest()["cbr"] | facts
    return Summary("d00", {"cbr": Part(part, {"flows": made.flows("cbr")})}, study.home)


def judged(study: Study, found: Summary) -> Judged:
    """The study's one claim."""
    (claim,) = judging.judge(study, found)
    return claim


def test_what_is_as_registered_is_counted(registered: Study) -> None:
    claim = judged(registered, played(registered))
    assert (claim.departure, claim.group) == ("", "measured")
    assert terminal.departures([claim]) is None


@pytest.mark.parametrize("change", [{"seed": 1}, {"experiment_sha256": "0" * 64}, {"runs": 3}])
def test_other_runs_are_not_counted(registered: Study, change: dict[str, object]) -> None:
    found = played(registered, **change)
    claim = judged(registered, found)
    assert (claim.departure, claim.group) == (
        "cbr has not been played as it was registered",
        "not registered",
    )
    assert judging.measured([claim]) == []
    read = Page(page.html(registered, found, [claim], page.About(["gauntlet"], "The whole study"))).text
    assert "Not counted: 1 not registered (1 holds)." in read
    assert "Not registered: cbr has not been played as it was registered." in read
    said = str(terminal.departures([claim]))
    assert said == "Not registered: cbr has not been played as it was registered (1 claim)."


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("at_least = 0.9", "at_least = 0.91", "how it is decided was changed after the registration"),
        ("bbr-keeps", "bbr-keeps-all", "it was added after the registration"),
        ("practically the same: within 10 %", "other words", ""),
    ],
)
def test_a_rule_that_was_changed_is_not_counted(registered: Study, old: str, new: str, why: str) -> None:
    """Words may be mended; rule, bounds and kind may not."""
    registered.ledger.write_text(registered.ledger.read_text().replace(old, new))
    assert judged(registered, played(registered)).departure == why


def test_the_registered_seed_is_the_one_that_is_played(registered: Study) -> None:
    (task,) = reproduce.tasks(registered, quick=False, only=["cbr"])
    assert task.file.about.seed == SEED
    assert len({spec.seed for spec in task.specs} - {SEED}) > 1, "each run draws its own from it"


def test_a_registration_is_not_replaced(registered: Study) -> None:
    before = (registered.home / registration.REGISTRATION).read_bytes()
    with pytest.raises(UserError, match="what is registered stays; remove the file to begin a new"):
        registration.register(registered, SEED + 1)
    assert (registered.home / registration.REGISTRATION).read_bytes() == before


def test_what_is_no_registration_is_said(tmp_path: Path) -> None:
    study = factory.study(tmp_path)
    (study.home / registration.REGISTRATION).write_text("seed = 1\nexperiments = {}\n")
    with pytest.raises(UserError, match=r"registration\.toml: unknown key 'experiments'; did you mean"):
        Registration.of(study)


def test_a_part_is_registered_anew_with_its_own_seed_and_the_others_stay(registered: Study) -> None:
    """Runs of the other parts are still those that were registered."""
    before = Registration.of(registered)
    other = next(it for it in registered.experiments if it.name != "cbr")
    other.file.write_text(other.file.read_text() + "# Another method.\n")
    registration.register_anew(registered, SEED + 1, [other.name])
    after = Registration.of(registered)
    assert before is not None and after is not None
    assert (after.seed_of("cbr"), after.seed_of(other.name)) == (SEED, SEED + 1)
    assert after.experiments["cbr"] == before.experiments["cbr"]
    assert after.experiments[other.name] != before.experiments[other.name]
    assert judged(registered, played(registered)).departure == ""
    (task,) = reproduce.tasks(registered, quick=False, only=[other.name])
    assert task.file.about.seed == SEED + 1


def test_results_with_the_seed_of_before_are_not_counted_for_a_part_registered_anew(
    registered: Study,
) -> None:
    registration.register_anew(registered, SEED + 1, ["cbr"])
    assert judged(registered, played(registered)).departure == "cbr has not been played as it was registered"
    assert judged(registered, played(registered, seed=SEED + 1)).departure == ""


def test_a_rule_is_registered_anew_with_all_that_it_is_decided_from(registered: Study) -> None:
    registered.ledger.write_text(registered.ledger.read_text().replace("at_least = 0.9", "at_least = 0.91"))
    other = next(it.name for it in registered.experiments if it.name != "cbr")
    registration.register_anew(registered, SEED + 1, [other])
    assert judged(registered, played(registered)).departure.startswith("how it is decided was changed")
    registration.register_anew(registered, SEED + 2, ["cbr"])
    assert judged(registered, played(registered, seed=SEED + 2)).departure == ""


def test_the_file_says_which_parts_were_registered_anew(registered: Study) -> None:
    registration.register_anew(registered, SEED + 1, ["cbr"])
    text = (registered.home / registration.REGISTRATION).read_text()
    assert f"# Registered anew: `gauntlet reproduce d00 --register {SEED + 1} --only cbr`." in text


def test_a_part_is_not_registered_anew_with_a_seed_of_before(registered: Study, tmp_path: Path) -> None:
    registration.register_anew(registered, SEED + 1, ["cbr"])
    for seed in (SEED, SEED + 1):
        with pytest.raises(UserError, match=f"The seed {seed} was registered before"):
            registration.register_anew(registered, seed, ["cbr"])
    with pytest.raises(UserError, match="no-such"):
        registration.register_anew(registered, SEED + 2, ["no-such"])
    (registered.home / registration.REGISTRATION).unlink()
    with pytest.raises(UserError, match="nothing can be registered anew"):
        registration.register_anew(registered, SEED + 2, ["cbr"])
