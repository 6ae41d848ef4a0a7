"""Words and colours of a report: what goes up is no download, lines over time are told apart, and a delay
that nobody judges says so.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from gauntlet import report
from gauntlet.report import page
from gauntlet.report.answer import sentences
from gauntlet.report.contents import figures
from gauntlet.report.factors import assigned, factor_of
from gauntlet.report.figures import cdfs
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


def test_no_two_lines_over_time_have_one_look_or_one_name(tmp_path: Path) -> None:
    """Two flows of the same work and protocol, and one of another work, which is told apart by its width."""
    results = build(tmp_path, Flow("cbr"), Flow("cbr"), Flow("bulk", "down"))
    drawn = figures(report.load(results)).series
    assert drawn is not None
    lines = {run["line"] for run in drawn.runs}
    assert len(lines) == 2 * 3
    encoding = drawn.figure.spec["vconcat"][0]["layer"][1]["encoding"]
    scale, widths = encoding["color"]["scale"], encoding["strokeWidth"]["scale"]
    assert set(scale["domain"]) == lines
    assert widths["domain"] == scale["domain"]
    looks = set(zip(scale["range"], widths["range"], strict=True))
    assert len(looks) == len(lines)
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


@pytest.mark.parametrize(
    ("value", "label", "words"),
    [
        (2097152, "2.097152 MB", "2 MiB"),
        (106496, "106.496 kB", "104 KiB"),
        (512_000, "512 kB", "512 kB"),
        (10_000_000, "10 MB", "10 MB"),
        (22_500, "22.5 kB", "22.5 kB"),
    ],
)
def test_a_size_reads_in_the_unit_in_which_it_was_written(value: int, label: str, words: str) -> None:
    assert factor_of("send_buffer_bytes", {value: label}).label(value) == words


def test_an_axis_of_sizes_has_the_unit_of_the_largest() -> None:
    binary = factor_of("send_buffer_bytes", {1048576: "", 2097152: ""})
    assert (binary.unit, binary.shown(2097152)) == ("MiB", 2.0)
    decimal = factor_of("size_bytes", {250_000: "", 500_000: ""})
    assert (decimal.unit, decimal.shown(500_000)) == ("kB", 500.0)


@pytest.mark.parametrize(
    ("sizes", "unit", "ticks"),
    [
        ((106496, 2097152), "KiB", [104, 2048]),
        ((128, 256, 512, 1024), "B", [128, 256, 512, 1024]),
        ((65536, 131072), "KiB", [64, 128]),
        ((1580, 64_000), "kB", [1.58, 64]),
    ],
)
def test_ticks_of_an_axis_in_binary_units_are_whole(
    sizes: Sequence[int], unit: str, ticks: Sequence[float]
) -> None:
    factor = factor_of("send_buffer_bytes", dict.fromkeys(sizes, ""))
    assert factor.unit == unit
    assert [factor.shown(it) for it in sizes] == pytest.approx(ticks)


def test_lengths_of_messages_stand_in_bytes_on_an_axis() -> None:
    lengths = factor_of("payload_bytes", {64: "", 1024: "", 1786: ""})
    assert (lengths.unit, lengths.shown(1786)) == ("B", 1786)


def dependence(
    folder: Path,
    took_s: Mapping[tuple[str, float], float],
    repetitions: int = 8,
    links: Mapping[float, Mapping[str, Any]] = MappingProxyType({}),
) -> list[str]:
    """What is said of the conditions when each protocol takes so long under each loss."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(took_s[protocol, loss] + 0.1 * repetition)

    made = Constructed(("tcp-cubic", "tcp-bbr"), did, repetitions, losses=(0.0, 0.01), links=links)
    found = report.load(flows.build(folder / "r", folder / "s", made))
    return [it.text for it in sentences(found) if it.question.startswith("Does it depend")]


def test_the_first_screen_says_that_the_choice_depends_on_the_condition(tmp_path: Path) -> None:
    crossing = {("tcp-cubic", 0.0): 10, ("tcp-bbr", 0.0): 20, ("tcp-cubic", 0.01): 40, ("tcp-bbr", 0.01): 25}
    assert dependence(tmp_path, crossing) == [
        "Yes. Best, or not distinguishable from the best: TCP CUBIC at loss 0 %; TCP BBR at loss 1 %."
    ]


@pytest.mark.parametrize("way", ["up", "down"])
def test_the_first_screen_says_which_way_packets_are_lost(tmp_path: Path, way: str) -> None:
    crossing = {("tcp-cubic", 0.0): 10, ("tcp-bbr", 0.0): 20, ("tcp-cubic", 0.01): 40, ("tcp-bbr", 0.01): 25}
    links = {loss: {"loss_direction": way} for loss in (0.0, 0.01)}
    assert dependence(tmp_path, crossing, links=links) == [
        f"Yes. Best, or not distinguishable from the best: TCP CUBIC at loss {way} 0 %; "
        f"TCP BBR at loss {way} 1 %."
    ]


def test_the_first_screen_says_that_it_does_not(tmp_path: Path) -> None:
    ahead = {("tcp-cubic", 0.0): 20, ("tcp-bbr", 0.0): 10, ("tcp-cubic", 0.01): 40, ("tcp-bbr", 0.01): 25}
    assert dependence(tmp_path, ahead) == [
        "No: TCP BBR is best, or not distinguishable from the best, under every condition."
    ]


def test_of_few_repetitions_it_says_the_mean_only(tmp_path: Path) -> None:
    crossing = {("tcp-cubic", 0.0): 10, ("tcp-bbr", 0.0): 20, ("tcp-cubic", 0.01): 40, ("tcp-bbr", 0.01): 25}
    (said,) = dependence(tmp_path, crossing, repetitions=2)
    assert said.startswith(
        "Yes. Best by the mean (so few repetitions tell nothing beyond chance): TCP CUBIC at"
    )


@pytest.mark.parametrize(
    ("delay_s", "words"),
    [
        (0.025, "25.0 ms"),
        (1.28, "1280 ms"),
        (751.0, "751 s"),
        (10_800.0, "3.00 hours"),
        (432_000.0, "5.00 days"),
    ],
)
def test_the_delay_of_a_link_is_told_in_the_unit_of_its_size(delay_s: float, words: str) -> None:
    assert page._delay_words(delay_s) == words


@pytest.mark.parametrize(("received_bps", "drawn"), [(0.0, False), (1e6, True)])
def test_windows_in_which_nothing_arrives_are_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, received_bps: float, drawn: bool
) -> None:
    evaluation = report.load(build(tmp_path, Flow("cbr")))
    kept = evaluation.results.by_flow

    def windows(name: str, columns: tuple[str, ...]) -> dict[tuple[str, int], dict[str, Any]]:
        found = kept(name, columns)
        return {
            key: {**values, "throughput_bps": np.full_like(values["throughput_bps"], received_bps)}
            for key, values in found.items()
        }

    monkeypatch.setattr(type(evaluation.results), "by_flow", lambda _, *given: windows(*given))
    assert (cdfs.throughput(evaluation) is not None) == drawn


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["100 kB", "max", "64 kB", "none"], ["none", "64 kB", "100 kB", "max"]),
        (["1s", "200ms", "off"], ["off", "200ms", "1s"]),
        (["metro-a", "hsr"], ["metro-a", "hsr"]),
    ],
)
def test_values_that_are_text_stand_in_the_order_of_their_size(labels: list[str], order: list[str]) -> None:
    assert list(factor_of("scenario.own", {label: label for label in labels}).values) == order


@pytest.mark.parametrize(
    ("name", "value", "label", "words"),
    [
        ("loss", 0.005, "0.005", "loss 0.5 %"),
        ("loss", 0, "0", "loss 0 %"),
        ("sysctl.net.ipv4.tcp_sack", "0", "0", "sysctl net.ipv4.tcp_sack = 0"),
        ("scenario.outages", "0.5-3.5s", "0.5-3.5s", "outages 0.5 to 3.5 s"),
        ("channel_delay_s", 0.025, "25 ms", "channel delay 25 ms"),
    ],
)
def test_a_factor_with_its_value_reads_as_people_say_it(
    name: str, value: Any, label: str, words: str
) -> None:
    factor = factor_of(name, {value: label})
    assert assigned(factor.words, factor.label(value)) == words
