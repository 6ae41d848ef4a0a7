"""Which class of service what was played is of, and what a file of classes may say."""

from pathlib import Path

import pytest

from gauntlet.advice import services
from gauntlet.advice.services import Services, Work, default, fits, fitting, load
from gauntlet.errors import UserError
from gauntlet.experiment import threats
from gauntlet.experiment.services import Service
from gauntlet.experiment.workloads import APPS

KB, MB = 1_000, 1_000_000

ONE = """
[[class]]
name = "Own"
apps = ["bulk"]
[[class.need]]
words = "within 2 s"
kpi = "download_time_s"
most = 2.0
"""


def names(work: Work) -> list[str]:
    found = fitting(work, [default()])
    return [] if found is None else [it.name for it in found[1]]


@pytest.mark.parametrize(
    ("work", "wanted"),
    [
        (Work("bulk", size_bytes=10 * KB), "Request"),
        (Work("bulk", size_bytes=10 * KB + 1, greedy=True), "File"),
        (Work("ftp", size_bytes=10 * MB), "File"),
        (Work("files", size_bytes=11 * MB), "Large file"),
        (Work("cbr", greedy=True), "Bulk data"),
        (Work("cbr", rate_bps=64e3), "Speech stream"),
        (Work("cbr", rate_bps=500e3), "Video stream"),
        (Work("vbr", rate_bps=16e3), "Speech stream"),
        (Work("vbr", rate_bps=2e6), "Bursty data"),
        (Work("periodic", size_bytes=200, interval_s=1), "Signalling message"),
        (Work("voip"), "Voice call"),
        (Work("web", page="drawn"), "Web page"),
        (Work("page", page="kepler", size_bytes=2 * MB), "Page over HTTP"),
    ],
)
def test_each_application_is_of_one_class(work: Work, wanted: str) -> None:
    assert names(work) == [wanted]


@pytest.mark.parametrize(
    "work", [Work("telnet"), Work("periodic", size_bytes=MB, interval_s=1), Work("bulk")]
)
def test_what_no_class_is_of_has_none(work: Work) -> None:
    assert names(work) == []


def test_every_application_of_experiments_is_of_some_class() -> None:
    # Safety messages are judged by what threats do to them, not by how soon they come (gauntlet.evidence).
    judged = set(APPS) - {threats.APP}
    assert {app for service in default().services for app in service.apps} == judged


def test_every_limit_has_its_source_or_is_said_to_be_assumed() -> None:
    for service in default().services:
        for limit in service.need:
            assert bool(limit.source) != bool(limit.assumed), (service.name, limit.words)
            assert limit.of_best is None or limit.assumed, "no standard compares transports"


def test_a_flow_can_be_meant_by_its_name() -> None:
    own = default().services[0].model_copy(update={"flows": ["orders"], "size_up_to": None})
    assert fits(own, Work("bulk", name="orders"))
    assert not fits(own, Work("bulk", name="backups"))
    assert not fits(own, Work("bulk"))


def test_the_first_that_has_a_class_for_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(ONE)
    own = load(tmp_path / "own.toml")
    assert own.by == "own.toml"
    found = fitting(Work("bulk", size_bytes=MB), [own, default()])
    assert found is not None
    assert (found[0].by, [it.name for it in found[1]]) == ("own.toml", ["Own"])
    other = fitting(Work("voip"), [own, default()])
    assert other is not None
    assert other[0].by == "Gauntlet"


def test_several_classes_of_one_place_are_all_taken() -> None:
    strict, lax = (Service(**{**_own().model_dump(), "name": name}) for name in ("strict", "lax"))
    found = fitting(Work("bulk"), [Services("x", (strict, lax))])
    assert found is not None
    assert [it.name for it in found[1]] == ["strict", "lax"]


def _own() -> Service:
    (own,) = services.of_experiment(ONE, "x.toml").services
    return own


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('apps = ["bulk"]', 'apps = ["bulky"]', "unknown application 'bulky'; did you mean 'bulk'?"),
        ('apps = ["bulk"]', "apps = []", "class, number 1, apps"),
        ("most = 2.0", "mots = 2.0", "unknown key 'mots'; did you mean 'most'?"),
        ("most = 2.0", "", "there must be one limit; give one of most, least and of_best."),
        ("most = 2.0", "most = 2.0\nof_best = 1.5", "there must be one limit"),
        (
            "most = 2.0",
            "least = 2.0",
            "need 'within 2 s': of download_time_s less is better; give most",
        ),
        ('"download_time_s"', '"download_time"', "did you mean 'download_time_s'?"),
        ('"download_time_s"', '"throughput_bps"', "of throughput_bps more is better; give least or of_best."),
        ('"download_time_s"', '"delay_s"', "add quantile, such as 0.5"),
        ("most = 2.0", "most = 2.0\nquantile = 0.9", "has no quantiles"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_and_place(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.toml"
    file.write_text(ONE.replace(old, new))
    with pytest.raises(UserError) as error:
        load(file)
    assert str(error.value).startswith(f"{file}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no such file of classes; give the path of a TOML file"):
        load(tmp_path / "none.toml")
