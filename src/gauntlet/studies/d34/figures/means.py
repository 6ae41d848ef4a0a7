"""Means against the channel's delay: Figures 24, 27, 40 (throughput), 28 to 33 (download times)."""

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.report.style import styles
from gauntlet.studies.charts import Mark, against, cdf
from gauntlet.studies.d34.scenarios import LINES
from gauntlet.studies.model import Chart, Figure, Panel, Printed
from gauntlet.studies.summary import Summary

STUDIED = ["tcp-cubic", "tcp-bbr", "udp", "sctp"]
_SOLID = "Means over stretches with 95 % intervals; solid: no loss, broken: with loss."
_SIZES = ((1_000_000, "1 MB"), (10_000_000, "10 MB"))
_SLIGHT = [0.0, 0.001]

Middle = tuple[str, float, float, float]
"""A printed range: protocol, channel delay (s), its ends (s)."""

PRINTED_TIMES: Mapping[tuple[str, int], tuple[Middle, ...]] = {
    ("hsr", 1_000_000): (("tcp-cubic", 0.05, 4, 5), ("sctp", 0.05, 6, 7)),
    ("hsr", 10_000_000): (("tcp-cubic", 0.05, 36, 42), ("sctp", 0.15, 45, 50)),
    ("regional", 1_000_000): (("tcp-cubic", 0.05, 3.5, 4.5), ("sctp", 0.05, 4.5, 4.5)),
    ("regional", 10_000_000): (("tcp-cubic", 0.05, 32, 35), ("sctp", 0.05, 37, 40)),
    ("metro-a", 1_000_000): (("tcp-cubic", 0.05, 1, 2), ("tcp-cubic", 0.15, 2, 3)),
    ("metro-a", 10_000_000): (("tcp-cubic", 0.05, 10, 10), ("sctp", 0.15, 40, 40)),
}
"""Download times without loss of sections 6.3.1 to 6.3.3; what they print for CUBIC is for BBR too."""


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    times = {"hsr": (28, 29), "regional": (30, 31), "metro-a": (32, 33)}
    found = [_throughput_of_lines("24", "cbr", "greedy sources", {}), _wider()]
    for line in LINES:
        mean, distribution = times[line.key]
        found += [_mean_times(mean, line.key, line.words), _distribution(distribution, line.key, line.words)]
    printed = {
        "hsr": [Mark(0.05, 1.9e6, label="1.9 Mbit/s")],
        "regional": [Mark(0.05, 1.9e6, label="1.9 Mbit/s")],
        "metro-a": [Mark(0.05, 7.5e6, label="7.5 Mbit/s")],
    }
    found.append(_throughput_of_lines("40", "vbr-high", "fast on-off sources", printed))
    return tuple(sorted(found, key=lambda figure: int(figure.key)))


def _throughput_of_lines(key: str, app: str, words: str, printed: Mapping[str, Sequence[Mark]]) -> Figure:
    experiments = tuple(f"{app}-{line.key}" for line in LINES)

    def draw(summary: Summary) -> Sequence[Panel]:
        panels: list[Panel] = []
        for line, experiment in zip(LINES, experiments, strict=True):
            known = set(summary.factors(experiment)["protocol"])
            chart = against(
                summary,
                experiment,
                "throughput_bps",
                of={"protocol": [protocol for protocol in STUDIED if protocol in known]},
                printed=printed.get(line.key, ()),
            )
            panels.append(Chart(f"{line.words}. {_SOLID}", chart))
        return panels

    values = (
        (
            Printed(
                "CUBIC and BBR without loss, high-speed and regional line", "1.9 Mbit/s", "section 6.4.4"
            ),
            Printed("CUBIC and BBR without loss, metropolitan line", "7.5 Mbit/s", "section 6.4.4"),
            Printed("CUBIC at 150 ms and 1 %", "0.5 to 1 Mbit/s", "section 6.4.4"),
        )
        if printed
        else (Printed("Highest mean on the high-speed line", "about 2.5 Mbit/s", "section 6.2.5"),)
    )
    return Figure(
        key,
        f"Mean throughput against channel delay: {words}",
        "One panel a line. Stars: printed values.",
        experiments,
        draw,
        values,
    )


def _wider() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{mhz} MHz. {_SOLID}",
                against(
                    summary,
                    f"cbr-hsr-{mhz}mhz",
                    "throughput_bps",
                    printed=[Mark(0.025, printed_bps, label=f"{printed_bps / 1e6:g} Mbit/s")],
                ),
            )
            for mhz, printed_bps in ((5, 8.5e6), (20, 20e6))
        ]

    return Figure(
        "27",
        "Mean throughput against channel delay with more bandwidth: high-speed line",
        "LTE with 5 and 20 MHz. Stars: printed values, of the best protocols.",
        ("cbr-hsr-5mhz", "cbr-hsr-20mhz"),
        draw,
        (
            Printed("5 MHz", "about 8.5 Mbit/s", "section 6.2.5"),
            Printed("20 MHz", "about 20 Mbit/s", "section 6.2.5"),
        ),
    )


def _mean_times(number: int, line: str, words: str) -> Figure:
    experiment = f"files-{line}"

    def draw(summary: Summary) -> Sequence[Panel]:
        panels: list[Panel] = []
        for size_bytes, size in _SIZES:
            stars = [
                Mark(delay_s, end, colour=protocol, label=_range(low, high))
                for protocol, delay_s, low, high in PRINTED_TIMES[line, size_bytes]
                for end in sorted({low, high})
            ]
            panels.append(
                _times(
                    summary,
                    experiment,
                    {"size_bytes": size_bytes, "loss": _SLIGHT},
                    f"{size}, no loss and 0.1 %",
                    stars,
                )
            )
        for size_bytes, size in _SIZES:
            panels.append(
                _times(summary, experiment, {"size_bytes": size_bytes, "loss": [0.01]}, f"{size}, 1 %", ())
            )
        return panels

    return Figure(
        str(number),
        f"Mean download time: {words.lower()}",
        "Files from the train to the trackside. D3.4 draws no loss and 0.1 %; 1 % is added. Stars: both "
        "ends of printed ranges without loss.",
        (experiment,),
        draw,
        tuple(
            Printed(
                f"{styles([protocol])[0].label}, {size}, {1e3 * delay_s:g} ms",
                _range(low, high),
                "section 6.3",
            )
            for size_bytes, size in _SIZES
            for protocol, delay_s, low, high in PRINTED_TIMES[line, size_bytes]
        ),
    )


def _times(summary: Summary, experiment: str, of: dict[str, Any], words: str, stars: Sequence[Mark]) -> Chart:
    chart = against(summary, experiment, "download_time_s", of=of, printed=stars)
    return Chart(f"{words}. {_SOLID}", chart)


def _range(low: float, high: float) -> str:
    return f"about {low:g} s" if low == high else f"{low:g} to {high:g} s"


def _distribution(number: int, line: str, words: str) -> Figure:
    experiment = f"files-{line}"

    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{size}, channel delay 150 ms. Solid: no loss, broken: 0.1 %.",
                cdf(
                    summary,
                    experiment,
                    "download_time_s",
                    of={"size_bytes": size_bytes, "channel_delay_s": 0.15, "loss": _SLIGHT},
                    facet=None,
                ),
            )
            for size_bytes, size in _SIZES
        ]

    return Figure(
        str(number),
        f"Distribution of download times: {words.lower()}",
        "One value a stretch: of so few downloads no distribution is sharp.",
        (experiment,),
        draw,
    )
