"""Pages over two paths: Tables 4.12 and 4.13."""

from collections.abc import Callable, Sequence

from gauntlet.report.numbers import number
from gauntlet.studies.model import Figure, Panel, Table
from gauntlet.studies.restp.figures.shared import MEANS, cell, label, saved, some
from gauntlet.studies.restp.measures import PAGE_TIME
from gauntlet.studies.summary import Summary

EXPERIMENT = "paths"
OTHERS = ("mptcp-cubic", "restp-multipath")
OPT = "restp-opt-paths"
DELAYS_S = (0.02, 0.03, 0.04, 0.05, 0.1)
"""One way; the study's tables name the round trip."""

PRINTED = {
    "none": ((1.771, 1.831, 1.891, 1.951, 2.251), (1.726, 1.766, 1.806, 1.846, 2.046)),
    "first-syn": ((4.771, 4.831, 4.891, 4.951, 5.251), (1.726, 1.766, 1.806, 1.846, 2.046)),
}
"""Page load times of MPTCP and of ResTP in Tables 4.12 and 4.13, seconds."""


def figures() -> tuple[Figure, ...]:
    """Both."""
    return tuple(
        Figure(
            key,
            f"Page load time over two paths {words}",
            "Two lines of 2 Mbit/s; from the start of the session's set-up on. The page is that of section "
            "4.2.1, larger than the study's here (main objects of at most 2 kB), so times compare by their "
            "differences.",
            (EXPERIMENT,),
            _table(drop),
        )
        for key, drop, words in (
            ("table-4.12", "none", "when nothing is lost"),
            ("table-4.13", "first-syn", "when the first SYN is lost"),
        )
    )


def _table(drop: str) -> Callable[[Summary], Sequence[Panel]]:
    def draw(summary: Summary) -> Sequence[Panel]:
        rows = []
        for delay_s, mptcp_s, restp_s in zip(DELAYS_S, *PRINTED[drop], strict=True):
            of = {"drop": drop, "channel_delay_s": delay_s}
            opt = {**of, "protocol": OPT}
            cells = [
                cell(summary, EXPERIMENT, PAGE_TIME.name, {**of, "protocol": it}) for it in (*OTHERS, OPT)
            ]
            less = [saved(summary, EXPERIMENT, PAGE_TIME.name, opt, {**of, "protocol": it}) for it in OTHERS]
            printed = (f"{mptcp_s:.3f}", f"{restp_s:.3f}", f"{number(100 * (1 - restp_s / mptcp_s), 1)} %")
            rows.append((f"{2e3 * delay_s:.0f}", *printed, *cells, *less))
        some(*(text for row in rows for text in row[4:]))
        header = (
            "RTT (ms)",
            "MPTCP, printed (s)",
            "ResTP OPT, printed (s)",
            "Less",
            *(f"{label(it)} (s)" for it in (*OTHERS, OPT)),
            *(f"less than {label(it)}" for it in OTHERS),
        )
        return [Table(f"{MEANS} of 3 repetitions, where they differ.", header, tuple(rows))]

    return draw
