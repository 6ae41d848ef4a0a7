"""Words and colours of a report: what goes up is no download, lines over time are told apart, and a delay
that nobody judges says so.
"""

from pathlib import Path

import pytest

from gauntlet import report
from gauntlet.report.contents import figures
from tests.report import flows
from tests.report.flows import Constructed, Did, Flow


def build(folder: Path, *given: Flow) -> Path:
    made = Constructed(("tcp-cubic", "tcp-bbr"), lambda *_: Did(20.0), 2, losses=(0.0, 0.01), flows=given)
    return flows.build(folder / "r", folder / "s", made)


@pytest.mark.parametrize(("direction", "words"), [("up", "Transfer time"), ("down", "Download time")])
def test_a_transfer_that_goes_up_is_no_download(tmp_path: Path, direction: str, words: str) -> None:
    results = build(tmp_path, Flow("bulk", direction))
    (told,) = [kpi for kpi in report.load(results).kpis if kpi.name == "download_time_s"]
    assert told.label == words


def test_no_two_lines_over_time_have_one_colour_or_one_name(tmp_path: Path) -> None:
    """Two flows of the same work and protocol, and one of another work."""
    results = build(tmp_path, Flow("cbr"), Flow("cbr"), Flow("bulk", "down"))
    drawn = figures(report.load(results)).series
    assert drawn is not None
    lines = {run["line"] for run in drawn.runs}
    assert len(lines) == 2 * 3
    scale = drawn.figure.spec["vconcat"][1]["encoding"]["color"]["scale"]
    assert set(scale["domain"]) == lines
    assert len(set(scale["range"])) == len(lines)
    dark = report.build(results).read_text().partition("prefers-color-scheme: dark")[2]
    assert all(f'[stroke="{colour}"]' in dark for colour in scale["range"])


@pytest.mark.parametrize("rate_bps", [None, 8000])
def test_a_delay_that_is_the_own_buffer_is_not_shown_as_if_it_were_judged(
    tmp_path: Path, rate_bps: int | None
) -> None:
    found = figures(report.load(build(tmp_path, Flow("cbr", rate_bps=rate_bps))))
    (spread,) = [figure.title for figure in found.cdfs if figure.name == "delay-cdf"]
    assert ("not judged" in spread) == (rate_bps is None)
    against = [figure.name for figure in found.against]
    assert ("delay-p95-s-against-loss" in against) == (rate_bps is not None)
