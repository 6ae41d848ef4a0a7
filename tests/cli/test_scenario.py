"""`gauntlet scenario import` and `fit`: what is written, what is said, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gauntlet.cli.scenario_table import all_parameters, apart, comparison, far
from gauntlet.scenario import load_scenario, read_trace

from ..scenario import captures
from .conftest import Gauntlet, refused

LOG = "t,dl_kbps,rtt_ms\n" + "".join(f"{t},{1000 * (1 + t // 7 % 3)},{40 + t % 5}\n" for t in range(90))
TABLE = ("--time", "t", "--rate", "dl_kbps", "--rtt", "rtt_ms")


def test_a_drive_test_is_imported_fitted_and_drawn(gauntlet: Gauntlet) -> None:
    Path("drive.csv").write_text(LOG.replace("\n4,1000", "\n4,0"))
    imported = gauntlet("scenario", "import", "drive.csv", *TABLE)
    assert (imported.exit_code, imported.stdout) == (0, "drive-link.csv\n")
    assert "Outages: 1, " in imported.stderr
    assert read_trace(Path("drive-link.csv")).at(4.5).loss_down == 1

    fitted = gauntlet("scenario", "fit", "drive-link.csv", "model.toml", "--states", "4")
    assert fitted.exit_code == 0, fitted.stderr
    for word in ("markov", "proportional", "measured", "fitted", "model.toml"):
        assert word in fitted.stdout
    as_json = json.loads(gauntlet("scenario", "fit", "drive-link.csv", "model.toml", "--json").stdout)
    assert as_json["quantities"]["rate_down"]["measured"]["p50"] == 2e6
    drawn = json.loads(gauntlet("scenario", "show", "model.toml", "--seed", "3", "--json").stdout)
    assert (drawn["kind"], drawn["duration_s"], drawn["seed"]) == ("fitted", 90, 3)
    assert drawn["title"] == "Link fitted to drive-link.csv"


@pytest.mark.parametrize("scale", [1e-5, 0.0123456, 1.0, 98765.4])
def test_what_a_fit_says_fits_into_80_columns(scale: float) -> None:
    """With the longest names of models, and with small and large numbers in a row."""
    shares = {"mean": 0.9, "p5": 1.2345e-4, "p25": 0.0123, "p50": 0.5, "p75": 0.987654, "p95": 1.5}
    longest = {"rate": "autoregressive", "delay": "autoregressive", "loss": "gilbert-elliott"}
    quantities: dict[str, Any] = {}
    for what, unit in (("rate", 1e6), ("delay", 0.1), ("loss", 1e-5)):
        figures = {**{key: unit * scale * own for key, own in shares.items()}, "step_to_step": -0.9876}
        row = {"model": longest[what], "measured": figures, "fitted": figures, "distance": 0.1234}
        quantities |= {f"{what}_down": row, f"{what}_up": row}
    beside = {"share": 0.01234, "mean_length_s": 1234.5}
    found = {
        "step_s": 0.0123, "measured_steps": 123_456, "fitted_steps": 200_000, "quantities": quantities,
        "outages": {"measured": beside, "fitted": beside},
        "correlation_of_rates": {"measured": -0.9876, "fitted": 0.0123},
        "drawn_apart": {"rate": 0.987, "delay": 0.5},
    }  # fmt: skip
    console = Console(width=80, record=True, highlight=False)
    for table in comparison(found):
        assert console.measure(table).maximum <= 80
        console.print(table)
    shown = console.export_text()
    assert "…" not in shown
    for word in ("delay down", "gilbert-elliott", "autoregressive", "-0.988", "lag 1", "distance", "0.123"):
        assert word in shown


def test_a_fit_that_draws_directions_apart_says_so() -> None:
    assert apart({"drawn_apart": {}}) is None
    assert apart({"drawn_apart": {"rate": 0.987, "delay": 0.5}}) == (
        "The model draws up and down apart, and does not keep how they went together: correlation of "
        "rate (0.99) and delay (0.50)."
    )


def test_a_fit_that_is_far_from_what_was_measured_says_so() -> None:
    assert far({"far": {}}) is None
    said = far({"far": {"loss_down": 0.792, "loss_up": 0.3}})
    assert said is not None
    assert said.startswith(
        "Far from what was measured, a distance above 0.2: loss down (0.79) and loss up (0.30)."
    )


def test_a_model_keeps_where_it_is_far_from_what_was_measured(gauntlet: Gauntlet) -> None:
    """An autoregression of a rate that has two values draws all between them."""
    rows = "".join(f"{second},{8000 if second // 7 % 2 else 2000},40\n" for second in range(400))
    Path("two.csv").write_text(f"t,dl_kbps,rtt_ms\n{rows}")
    assert gauntlet("scenario", "import", "two.csv", *TABLE, "--out", "link.csv").exit_code == 0
    done = gauntlet("scenario", "fit", "link.csv", "model.toml", "--method", "autoregressive")
    assert "Far from what was measured" in " ".join(done.stdout.split())
    assert "unlike it in rate down (distance" in load_scenario("model.toml").title
    assert "Far from" not in gauntlet("scenario", "fit", "link.csv", "model.toml").stdout


def test_mahimahi_traces_are_imported_where_asked(gauntlet: Gauntlet) -> None:
    for side in ("up", "down"):
        Path(f"cell.{side}").write_text("".join(f"{ms}\n" for ms in range(1, 3001)))
    done = gauntlet(
        "scenario", "import", "cell.up", "cell.down", "--delay", "25ms", "--queue", "64kB", "--out", "own.csv"
    )
    assert (done.exit_code, done.stdout) == (0, "own.csv\n")
    row = load_scenario("own.csv").trace.at(1)
    assert (row.rate_up_bps, row.delay_down_s, row.queue_limit_bytes) == (12e6, 0.025, 64_000)


def test_a_capture_is_imported_and_one_sided_loss_refused(gauntlet: Gauntlet) -> None:
    captures.written(Path("c.pcap"), [(ms * 10**6, "10.0.1.2", "10.0.0.2", 1000) for ms in range(3001)])
    words = ("scenario", "import", "c.pcap", "--terminal", "10.0.0.2", "--delay", "25ms")
    assert gauntlet(*words).stdout == "c-link.csv\n"
    assert load_scenario("c-link.csv").trace.at(1).rate_down_bps == 8e6
    refused(gauntlet(*words, "--loss", "loss"), 2, "--loss", "one side of a link cannot tell")
    refused(gauntlet(*words[:3], "--delay", "25ms"), 2, "10.0.0.2", "--terminal")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "none.csv", *TABLE], ["There is no file none.csv"]),
        (["import", "drive.csv"], ["drive.csv is a table", "--time t"]),
        (["import", "drive.csv", "--time", "t"], ["--rate dl_kbps"]),
        (["import", "drive.csv", *TABLE, "--every", "2s"], ["--every says nothing about a table"]),
        (["import", "drive.csv", *TABLE, "--delay", "5"], ["--delay", "no unit"]),
        (["import", "drive.csv", *TABLE, "--out", "link.txt"], ["link.txt", ".csv"]),
        (["import", "drive.csv", *TABLE, "--out", "drive.csv"], ["the file itself"]),
        (["import", "drive.csv", "drive.csv", "drive.csv"], ["3 files", "two files, up and down"]),
        (["import", "drive.csv", "--format", "mahimahi", "--delay", "5ms"], ["line 1", "whole milliseconds"]),
        (["fit", "none.csv", "model.toml"], ["There is no trace file", "none.csv"]),
        (["fit", "constant", "model.txt"], ["model.txt", ".toml"]),
        (["fit", "constant", "model.toml"], ["never changes"]),
        (["show", "hrs"], ["did you mean 'hsr'?"]),
        (["show", "constant", "-p", "rat=5Mbit/s"], ["'rat'", "did you mean 'rate'?"]),
        (["export", "hsr", "x.csv", "--every", "1s"], ["--every is of samples"]),
        (["export", "constant", "x.csv", "--format", "samples"], ["no end"]),
    ],
)
def test_what_cannot_be_is_one_sentence(gauntlet: Gauntlet, words: list[str], said: list[str]) -> None:
    Path("drive.csv").write_text(LOG)
    refused(gauntlet("scenario", *words), 2, *said)


def test_the_list_names_every_parameter(gauntlet: Gauntlet) -> None:
    for info in json.loads(gauntlet("scenario", "list", "--json").stdout):
        words = {word.partition("=")[0] for word in all_parameters(info["params"]).split(", ")}
        # Outages and contacts have commas of their own.
        assert words >= set(info["params"])
    shown = " ".join(gauntlet("scenario", "list").stdout.split())
    assert "rate=5.2Mbit/s, delay=25ms, loss=0%, queue_limit=512kB, duration" in shown
