"""Bad input on the command line: one plain sentence, exit code 2 (usage) or 1 (run), nothing half done."""

import errno
import signal
from pathlib import Path
from typing import Any, NoReturn

import pytest

from gauntlet.errors import RunError, UserError
from gauntlet.results import store
from tests.experiment.conftest import CONSTANT

from .conftest import Gauntlet, refused

HEADER = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes\n"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"tcp-cubic", "udp"', '"tcp-cubik"', ["own.toml", "protocols", "tcp-cubik", "tcp-cubic"]),
        ('name = "constant"', 'name = "hrs"', ["own.toml", "hrs", "did you mean 'hsr'?"]),
        ('rate = "5.2Mbit/s"', 'rate = "5.2MBit/s"', ["own.toml", "MBit/s", "Mbit/s"]),
        ("repetitions", "repetition", ["own.toml", "[experiment]", "'repetition'", "'repetitions'"]),
        ('rate = "max"', 'rate = "-3Mbit/s"', ["own.toml", "[workload] rate", "-3Mbit/s"]),
        ("[matrix]", "[matrix]]", ["own.toml", "line 10"]),
    ],
)
def test_wrong_experiments(gauntlet: Gauntlet, before: str, after: str, words: list[str]) -> None:
    Path("own.toml").write_text(CONSTANT.replace(before, after))
    refused(gauntlet("run", "own.toml"), 2, *words)
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (
            'kpi = "latency", at_most = "1s"',
            ["[workload] judge: ", "no KPI 'latency'", "'message_delay_s'"],
        ),
        ('kpi = "message_delay", at_most = "1Mbit/s"', ["did you mean 'message_delay_s'?"]),
        ('kpi = "p99", at_most = "1s"', ['kpi = "message_delay_s" with quantile = 0.99']),
        ('kpi = "p99.9", at_most = "1s"', ["quantile = 0.999"]),
        ('kpi = "colour", at_most = "1s"', ["no KPI 'colour'", "throughput_bps"]),
        ('kpi = "delay_s", quantile = 99, at_most = "1s"', ["quantile: 99 is no share", "write 0.99."]),
    ],
)
def test_a_wrong_name_of_what_is_judged_is_told_before_its_bound(
    gauntlet: Gauntlet, judge: str, words: list[str]
) -> None:
    Path("own.toml").write_text(CONSTANT.replace('rate = "max"', f'rate = "max"\njudge = {{ {judge} }}'))
    refused(gauntlet("run", "own.toml"), 2, "own.toml", *words)


def test_several_mistakes_are_told_at_once(gauntlet: Gauntlet) -> None:
    text = CONSTANT.replace('rate = "max"', 'rate = "3Mb"')
    Path("own.toml").write_text(text.replace("[matrix]", '[link]\nqueue = "cake"\njitter = "5sec"\n[matrix]'))
    told = gauntlet("run", "own.toml").stderr.splitlines()
    assert all(line.startswith("own.toml: ") for line in told)
    for place, right in (
        ("[link] jitter", "known: ns"), ("[workload] rate", "Mbit/s"), ("[link] queue", 'kind = "cake"'),
    ):  # fmt: skip
        assert len([line for line in told if place in line and right in line]) == 1, told
    Path("own.toml").write_text(
        CONSTANT.replace("repetitions = 2", "repetitions = 0").replace("seed", "sead")
    )
    assert "did you mean 'seed'" in gauntlet("run", "own.toml").stderr
    refused(gauntlet("run", "own.toml", "--until", "5"), 2, "--until", "such as '5%'")


CLASS = """
[[class]]
name = "Own"
apps = ["cbr"]
[[class.need]]
words = "within 0.1 s"
kpi = "delay_p95_s"
most = 0.1
"""


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('["cbr"]', '["cbrr"]', ["unknown application 'cbrr'", "'cbr'"]),
        ("most =", "mots =", ["'mots'", "'most'"]),
        (
            '"delay_p95_s"',
            '"delay_p95s"',
            ["class 'Own', need 'within 0.1 s'", "did you mean 'delay_p95_s'?"],
        ),
    ],
)
def test_wrong_classes_of_service_are_told_before_anything_is_played(
    gauntlet: Gauntlet, before: str, after: str, words: list[str]
) -> None:
    wrong = CLASS.replace(before, after)
    Path("classes.toml").write_text(wrong)
    Path("own.toml").write_text(CONSTANT)
    refused(gauntlet("run", "own.toml", "--classes", "classes.toml"), 2, "classes.toml", *words)
    Path("own.toml").write_text(CONSTANT + wrong)
    refused(gauntlet("run", "own.toml"), 2, "own.toml", *words)
    assert not Path("results").exists()


def test_a_file_of_classes_that_is_not_there(gauntlet: Gauntlet) -> None:
    Path("own.toml").write_text(CONSTANT)
    refused(gauntlet("run", "own.toml", "--classes", "none.toml"), 2, "none.toml", "no such file of classes")


def test_a_trace_that_goes_back_in_time(gauntlet: Gauntlet) -> None:
    Path("back.csv").write_text(
        HEADER + "0,1e6,1e6,0,0,0,0,64000\n9,1e6,1e6,0,0,0,0,64000\n5,1e6,1e6,0,0,0,0,64000\n"
    )
    Path("own.toml").write_text(CONSTANT.replace('"constant"\nrate = "5.2Mbit/s"', '"back.csv"'))
    refused(gauntlet("run", "own.toml"), 2, "back.csv", "t_s", "rise")
    refused(gauntlet("scenario", "show", "back.csv"), 2, "back.csv", "t_s", "rise")


def test_an_experiment_that_is_not_there(gauntlet: Gauntlet) -> None:
    refused(gauntlet("run", "absent.toml"), 2, "absent.toml", "no such file")


def test_a_folder_instead_of_an_experiment(gauntlet: Gauntlet) -> None:
    refused(gauntlet("run", "."), 2, ".:", "folder", "experiment file")


def test_results_that_are_to_replace_a_file(gauntlet: Gauntlet, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(UserError, match="taken is a file; results need a folder"), store.exclusive(taken):
        pass


def test_a_missing_kernel(gauntlet: Gauntlet) -> None:
    Path("own.toml").write_text(CONSTANT)
    result = gauntlet("run", "own.toml", "--quiet")
    refused(result, 1, "kernel", "gauntlet kernel build")


def test_a_missing_kernel_has_no_path(gauntlet: Gauntlet) -> None:
    refused(gauntlet("kernel", "path"), 1, "gauntlet kernel build")


def test_a_kernel_source_that_is_not_there(gauntlet: Gauntlet) -> None:
    refused(
        gauntlet("kernel", "build", "--quiet", "--source", "absent.tar.xz"), 2, "absent.tar.xz", "tarball"
    )


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "results"),
            ["disk is full", "results", "continues"],
        ),
        (RunError("The guest has stood still for 90 s in run a."), ["stood still", "run a"]),
    ],
)
def test_what_fails_while_it_runs(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, failure: Exception, words: list[str]
) -> None:
    def fail(*_given: Any, **_named: Any) -> NoReturn:
        raise failure

    monkeypatch.setattr("gauntlet.campaign.run", fail)
    Path("own.toml").write_text(CONSTANT)
    refused(gauntlet("run", "own.toml", "--quiet"), 1, *words)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_a_campaign_is_told_how_to_continue(
    how: signal.Signals, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_given: Any, **_named: Any) -> None:
        signal.raise_signal(how)

    if how == signal.SIGINT:
        # A script's background job, and all that it starts, ignores it.
        signal.signal(how, signal.default_int_handler)
    monkeypatch.setattr("gauntlet.campaign.run", interrupt)
    Path("own.toml").write_text(CONSTANT)
    refused(gauntlet("run", "own.toml", "--quiet"), 130, "results/small", "the same command continues")


def test_a_program_that_is_not_there(gauntlet: Gauntlet) -> None:
    result = gauntlet("exec", "--scenario", "constant", "--", "no-such-program", "-v")
    refused(result, 2, "no-such-program", "install it")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], ["rnu", "--help"]),
        (["run"], ["FILE", "gauntlet run --help"]),
        (["run", "own.toml", "--wrokers", "2"], ["--wrokers", "--workers"]),
        (["run", "own.toml", "--workers", "0"], ["--workers", "0"]),
        (["run", "own.toml", "--seed", "x"], ["--seed", "x"]),
        (["scenario", "show", "hrs"], ["hrs", "hsr"]),
        (["scenario", "show", "hsr", "-p", "bandwidth"], ["bandwidth", "NAME=VALUE"]),
        (["scenario", "show", "hsr", "-p", "width=5MHz"], ["width", "bandwidth"]),
        (["scenario", "show", "hsr", "-p", "bandwidth=5Mhz"], ["5Mhz", "MHz"]),
        (["scenario", "plot", "hsr", "line.svg", "--start", "5"], ["--start", "no unit"]),
        (["scenario", "plot", "hsr", "line.bmp"], ["line.bmp", ".svg"]),
        (["scenario", "export", "hsr", "x", "--format", "pcap"], ["pcap", "mahimahi"]),
        (["scenario", "export", "hsr", "x.csv", "--start", "9h"], ["cannot be cut"]),
        (["exec", "--scenario", "constant"], ["COMMAND"]),
        (["exec", "--scenario", "constant", "--loss", "1", "--", "true"], ["--loss", "1"]),
        (
            ["exec", "--scenario", "constant", "-p", "bearer=5", "--", "true"],
            ["[scenario] bearer", "5", "text"],
        ),
        (["exec", "--scenario", "konstant", "--", "true"], ["konstant", "constant"]),
        (["exec", "--scenario", "constant", "--seed", "-1", "--", "true"], ["--seed", "-1"]),
    ],
)
def test_wrong_arguments(gauntlet: Gauntlet, arguments: list[str], words: list[str]) -> None:
    refused(gauntlet(*arguments), 2, *words)


def test_defects_are_one_sentence_unless_asked(gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_given: Any, **_named: Any) -> NoReturn:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("gauntlet.scenario.available", break_down)
    refused(gauntlet("scenario", "list"), 1, "Internal error", "ZeroDivisionError", "--debug")
    told = gauntlet("--debug", "scenario", "list")
    assert told.exit_code == 1
    assert "Traceback" in told.stderr


def test_a_folder_that_is_not_there_is_named(gauntlet: Gauntlet) -> None:
    result = gauntlet("schema", "--out", "nowhere/own.json")
    assert result.exit_code == 1
    assert result.stderr == "could not write nowhere/own.json: there is no folder nowhere; make it first\n"


def test_choices_stand_in_the_sentence(gauntlet: Gauntlet) -> None:
    refused(gauntlet("completion"), 2, "Choose from: bash, zsh, fish (see `gauntlet completion --help`).")
