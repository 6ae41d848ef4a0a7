"""Results freed of which stretches of a line were drawn: what the line carries is known before the runs."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import expand, load_experiment
from gauntlet.scenario import load_scenario
from gauntlet.studies import judging, ledger, registration, reproduce
from gauntlet.studies.capacity import carried
from gauntlet.studies.decide import Decision, Verdict
from gauntlet.studies.model import Study
from gauntlet.studies.summary import Part, Summary
from tests.experiment import factory as experiments
from tests.studies import factory
from tests.studies.test_ledger import refused

LINES = {"cbr": "hsr", "other": "regional"}
ASKED = 'adjusted_for_capacity = ["throughput_bps", "download_time_s"]\n'
RANGE = """
[[claim]]
id = "mean"
where = "section 6.2"
claim = "BBR has nine tenths of the line's mean capacity."
threshold = "About: within 5 %."

[claim.decide]
kind = "range"
experiment = "cbr"
kpi = "throughput_bps"
of = { loss = 0 }
at_least = 1e6
at_most = 9e6
"""
LIKE = """
[[claim]]
id = "like"
where = "section 6.2"
claim = "The other line gives less."
threshold = "Less: beyond chance."

[claim.decide]
kind = "comparison"
experiment = "other"
kpi = "throughput_bps"
this = { experiment = "other", loss = 0 }
that = { experiment = "cbr", loss = 0 }
at_most = 1.0
"""


def mean_bps(line: str) -> float:
    """Mean capacity over all stretches of 60 s from their second second on: by place, not by time."""
    scenario = load_scenario(line)
    assert scenario.line is not None
    journey = scenario.line.reference.journey
    latest_km = journey.km_at(scenario.duration_s - 600)
    starts = [journey.time_at((place + 0.5) / 500 * latest_km) for place in range(500)]
    return float(np.mean([scenario.trace.mean("rate_up_bps", it + 1, it + 61) for it in starts]))


def played(folder: Path, text: str, scatter: float = 0.01) -> tuple[Study, Summary]:
    """A study of two lines. Its protocol takes nine tenths of what a line has, with a little scatter."""
    study = factory.study(folder, text)
    parts = {}
    for experiment, line in LINES.items():
        file = study.experiment(experiment).file
        file.write_text(
            experiments.text(
                f"d00-{experiment}",
                about={"repetitions": 12, "seed": 5},
                scenario={"name": line, "chunk": "10min"},
                workload={"app": "cbr", "rate": "max", "duration": "1min"},
            )
        )
        specs = [it for it in expand(load_experiment(file)) if it.factors["loss"] == 0]
        trace, draw = load_scenario(line).trace, np.random.default_rng(7)
        values = [
            0.9 * trace.mean("rate_up_bps", it.start_s + 1, it.start_s + 61) * draw.normal(1.0, scatter)
            for it in specs
        ]
        whole = factory.summary(factory.flows({("tcp-bbr", 0.0): values}))
        manifest: dict[str, Any] = {
            **whole.manifest()["cbr"],
            "seed": 5,
            "experiment_sha256": sha256(file.read_bytes()).hexdigest(),
        }
        manifest["factors"] = {**manifest["factors"], "repetition": list(range(1, 13))}
        parts[experiment] = Part(manifest, {"flows": whole.flows("cbr")})
    return study, Summary("d00", parts, study.home)


def decision(study: Study, summary: Summary) -> Decision:
    """Of the study's one claim."""
    (claim,) = judging.judge(study, summary)
    return claim.decision


def width(found: Decision) -> float:
    """How wide its interval is."""
    assert found.low is not None and found.high is not None
    return found.high - found.low


def test_what_the_line_carries_is_the_capacity_of_the_stretch_and_its_true_mean(tmp_path: Path) -> None:
    study, summary = played(tmp_path, ASKED + RANGE, scatter=0.0)
    found = carried(study, summary, "cbr", {"loss": 0.0}, "throughput_bps")
    assert found is not None
    values = summary.flows("cbr").column("throughput_bps").to_pylist()
    assert [found.here[it] for it in range(1, 13)] == pytest.approx([value / 0.9 for value in values])
    assert found.everywhere.mean() == pytest.approx(mean_bps("hsr"), rel=2e-3)


def test_of_a_file_it_is_the_time_that_its_bytes_take(tmp_path: Path) -> None:
    study, summary = played(tmp_path, ASKED + RANGE)
    file = study.experiment("cbr").file
    text = file.read_text().replace('app = "cbr"', 'app = "bulk"').replace('rate = "max"', 'size = "2MB"')
    file.write_text(text.replace('duration = "1min"\n', ""))
    part = summary.manifest()["cbr"] | {"experiment_sha256": sha256(file.read_bytes()).hexdigest()}
    of_files = Summary("d00", {"cbr": Part(part, {"flows": summary.flows("cbr")})}, study.home)
    times = carried(study, of_files, "cbr", {}, "download_time_s")
    rates = carried(study, of_files, "cbr", {}, "throughput_bps")
    assert times is not None and rates is not None
    trace = load_scenario("hsr").trace
    for spec in expand(load_experiment(file)):
        repetition = int(spec.factors["repetition"])
        begin_s, time_s = spec.start_s + 1, times.here[repetition]
        carried_bits = trace.mean("rate_up_bps", begin_s, begin_s + time_s) * time_s
        assert carried_bits == pytest.approx(8 * 2_000_000, rel=1e-6)
        assert rates.here[repetition] == pytest.approx(carried_bits / time_s)


def test_a_mean_is_that_of_the_line_and_not_of_the_stretches_that_were_drawn(tmp_path: Path) -> None:
    study, summary = played(tmp_path / "asked", ASKED + RANGE)
    plain = decision(*played(tmp_path / "plain", RANGE))
    found = decision(study, summary)
    truth = 0.9 * mean_bps("hsr")
    assert found.value == pytest.approx(truth, rel=0.01)
    assert found.low is not None and found.high is not None and found.low < truth < found.high
    assert width(found) < 0.2 * width(plain)
    assert found.what.endswith(", over the whole line")
    assert not plain.what.endswith(", over the whole line")


def test_two_lines_are_compared_as_lines(tmp_path: Path) -> None:
    """Twelve stretches of each differ more from each other than the lines do."""
    plain = decision(*played(tmp_path / "plain", LIKE))
    found = decision(*played(tmp_path / "asked", ASKED + LIKE))
    assert plain.verdict == Verdict.UNDECIDED
    assert found.verdict == Verdict.REPRODUCED
    assert width(found) < 0.2 * width(plain)


def test_nothing_is_taken_off_other_quantities_other_runs_and_links_that_never_change(tmp_path: Path) -> None:
    study, summary = played(tmp_path / "asked", ASKED + RANGE)
    plain = decision(*played(tmp_path / "plain", RANGE))
    of_others = ASKED.replace("throughput_bps", "jain_index") + RANGE
    assert decision(*played(tmp_path / "other", of_others)) == plain
    file = study.experiment("cbr").file
    file.write_text(file.read_text() + "\n# Changed after it was played.\n")
    assert decision(study, summary) == plain
    still = file.read_text().replace('name = "hsr"', 'name = "constant"').replace('chunk = "10min"\n', "")
    file.write_text(still)
    sha = {"experiment_sha256": sha256(file.read_bytes()).hexdigest()}
    part = Part(summary.manifest()["cbr"] | sha, {"flows": summary.flows("cbr")})
    assert decision(study, Summary("d00", {"cbr": part}, study.home)) == plain


def test_a_prediction_has_the_centre_of_the_line_and_the_spread_of_its_stretches(tmp_path: Path) -> None:
    """Further means scatter as before: which stretches the study rode stays unknown."""
    rule = RANGE.replace('kind = "range"', 'kind = "prediction"')
    rule = rule.replace("at_least = 1e6\nat_most = 9e6", "printed = 2.4e6\nruns = 10")
    plain = decision(*played(tmp_path / "plain", rule))
    found = decision(*played(tmp_path / "asked", ASKED + rule))
    assert found.value == pytest.approx(0.9 * mean_bps("hsr"), rel=0.01)
    assert 0.7 * width(plain) < width(found) < 0.9 * width(plain)


def test_what_is_adjusted_is_fixed_by_a_registration(tmp_path: Path) -> None:
    study, summary = played(tmp_path, ASKED + RANGE)
    registration.register(replace(study, headlines=()), 77)
    study.ledger.write_text(RANGE)
    (claim,) = judging.judge(study, summary)
    assert claim.departure == "how it is decided was changed after the registration"


def test_what_is_no_quantity_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, 'adjusted_for_capacity = "throughput_bps"\n' + RANGE)
    assert said.startswith("adjusted_for_capacity is no list of quantities")
    study, _ = played(tmp_path, ASKED.replace("download_time_s", "download_time") + RANGE)
    with pytest.raises(UserError, match="adjusted_for_capacity: There is an unknown key 'download_time'"):
        reproduce.check_ledger(study, ledger.load(study.ledger))
