"""Pages and the handshake: Figures 4.3 to 4.6, Tables 4.5 to 4.11, and drawn pages."""

from collections.abc import Callable, Sequence

from gauntlet.report.numbers import number
from gauntlet.studies.charts import Mark, against
from gauntlet.studies.model import Chart, Figure, Panel, Table
from gauntlet.studies.restp.figures.shared import MEANS, cell, label, saved, some
from gauntlet.studies.restp.measures import PAGE_TIME
from gauntlet.studies.summary import Summary

EXPERIMENT = "web"
PROTOCOLS = ("tcp-reno", "tfo-reno", "restp-3wh-arq", "restp-opt-arq")
DELAYS_S = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5)
"""One way; the study's tables name the round trip."""

Times = tuple[float, ...]
THREE_WAY: dict[str, Times] = {
    "none": (0.407, 1.683, 3.279, 4.877, 6.476, 8.076),
    "first-syn": (3.407, 4.683, 6.279, 7.877, 9.476, 11.076),
    "first-syn-ack": (3.407, 4.683, 6.279, 7.877, 9.476, 11.076),
    "both": (6.407, 7.683, 9.279, 10.877, 12.477, 14.077),
}
"""Page load times with the three-way handshake in Tables 4.5, 4.6, 4.8 and 4.10, seconds."""
FAST_OPEN: dict[str, Times] = {
    "first-syn": (3.365, 4.480, 5.871, 7.271, 8.671, 10.071),
    "first-syn-ack": (0.366, 1.482, 2.872, 4.272, 5.672, 7.072),
    "both": (3.366, 4.482, 5.872, 7.272, 8.672, 10.072),
}
"""With TCP Fast Open in Tables 4.7, 4.9 and 4.11, seconds."""
OPPORTUNISTIC: dict[str, Times] = {
    "none": (0.366, 1.482, 2.871, 4.271, 5.671, 7.071),
    "first-syn": (0.366, 1.482, 2.871, 4.271, 5.671, 7.071),
    "first-syn-ack": (0.367, 1.483, 2.879, 4.277, 5.676, 7.076),
    "both": (0.367, 1.483, 2.879, 4.277, 5.676, 7.076),
}
"""With the opportunistic handshake in the same tables, seconds."""

_WORDS = {
    "none": "nothing is lost",
    "first-syn": "the first SYN is lost",
    "first-syn-ack": "the first SYN-ACK is lost",
    "both": "the first SYN and the first SYN-ACK are lost",
}
_FIGURES = {"none": "4.3", "first-syn": "4.4", "first-syn-ack": "4.5", "both": "4.6"}
_TABLES = (
    ("table-4.5", "none", False),
    ("table-4.6", "first-syn", False),
    ("table-4.7", "first-syn", True),
    ("table-4.8", "first-syn-ack", False),
    ("table-4.9", "first-syn-ack", True),
    ("table-4.10", "both", False),
    ("table-4.11", "both", True),
)
"""Key, what is lost, and whether the table compares with TCP Fast Open."""


def figures() -> tuple[Figure, ...]:
    """All of them."""
    charts = tuple(
        Figure(
            key,
            f"Page load time when {_WORDS[drop]}",
            "The page of section 4.2.1 at 5 Mbit/s, from the start of the session's set-up on, against the "
            "delay of one direction. Stars: Tables 4.5 to 4.11, the study's TCP and TFO in the colours of "
            "Linux's.",
            (EXPERIMENT,),
            _chart(drop),
        )
        for drop, key in _FIGURES.items()
    )
    tables = tuple(
        Figure(
            key,
            f"Page load time when {_WORDS[drop]}: "
            f"{'TCP Fast Open' if fast else 'three-way'} against opportunistic handshake",
            "Printed and measured, from the start of the session's set-up on.",
            (EXPERIMENT,),
            _table(drop, fast),
        )
        for key, drop, fast in _TABLES
    )
    drawn = Figure(
        "web-drawn",
        "Pages drawn from the 3GPP model",
        "One page a repetition, the same for every protocol; sizes, numbers of objects and times of parsing "
        "by the distributions of section 4.2.1.",
        ("web-drawn",),
        _drawn,
        beyond=True,
    )
    return (*charts, *tables, drawn)


def _chart(drop: str) -> Callable[[Summary], Sequence[Panel]]:
    sides = (("restp-opt-arq", OPPORTUNISTIC), ("tcp-reno", THREE_WAY), ("tfo-reno", FAST_OPEN))
    stars = [
        Mark(delay_s, time_s, colour=protocol, label=f"{time_s:g} s, {label(protocol)} in the study")
        for protocol, times in sides
        for delay_s, time_s in zip(DELAYS_S, times.get(drop, ()), strict=False)
    ]

    def draw(summary: Summary) -> Sequence[Panel]:
        chart = against(summary, EXPERIMENT, PAGE_TIME, of={"drop": drop}, dash=None, printed=stars)
        return [Chart(f"{MEANS}; stars: printed.", chart)]

    return draw


def _table(drop: str, fast: bool) -> Callable[[Summary], Sequence[Panel]]:
    printed = (FAST_OPEN if fast else THREE_WAY)[drop]
    others = ("tfo-reno",) if fast else ("tcp-reno", "restp-3wh-arq")

    def draw(summary: Summary) -> Sequence[Panel]:
        rows = []
        for delay_s, other_s, opt_s in zip(DELAYS_S, printed, OPPORTUNISTIC[drop], strict=True):
            of = {"drop": drop, "channel_delay_s": delay_s}
            opt = {**of, "protocol": "restp-opt-arq"}
            cells = [cell(summary, EXPERIMENT, PAGE_TIME.name, {**of, "protocol": it}) for it in others]
            less = [saved(summary, EXPERIMENT, PAGE_TIME.name, opt, {**of, "protocol": it}) for it in others]
            rows.append(
                (
                    f"{2e3 * delay_s:.0f}",
                    f"{other_s:.3f}",
                    f"{opt_s:.3f}",
                    f"{number(100 * (1 - opt_s / other_s), 1)} %",
                    *cells,
                    cell(summary, EXPERIMENT, PAGE_TIME.name, opt),
                    *less,
                )
            )
        some(*(text for row in rows for text in row[4:]))
        first = "TFO" if fast else "3WH"
        header = (
            "RTT (ms)",
            f"{first}, printed (s)",
            "OPT, printed (s)",
            "Less",
            *(f"{label(it)} (s)" for it in others),
            f"{label('restp-opt-arq')} (s)",
            *(f"less than {label(it)}" for it in others),
        )
        return [Table(f"{MEANS} of 3 repetitions, where they differ.", header, tuple(rows))]

    return draw


def _drawn(summary: Summary) -> Sequence[Panel]:
    return [Chart(f"{MEANS}.", against(summary, "web-drawn", PAGE_TIME, dash=None))]
