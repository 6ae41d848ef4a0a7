"""What the study left open: ResTP on the train beside the other stacks, and the cause of losses found out."""

from collections.abc import Callable, Sequence

from gauntlet.studies.model import Figure, Panel, Table
from gauntlet.studies.restp.figures.shared import MEANS, cell, label, some
from gauntlet.studies.summary import Summary

CAUSES = (
    ("restp-file", "congestion"),
    ("restp-file-own", "corruption"),
    ("restp-satellite", "outage"),
    ("restp-file-dynamic", "found out"),
)
"""Protocol, and what it takes a loss to mean."""
OUTAGES = ("69-70s", "11-14s, 31-41s")
"""Of cause-alone.toml: none during the flow, and two."""

Draw = Callable[[Summary], Sequence[Panel]]


def figures() -> tuple[Figure, ...]:
    """All of them."""
    return (
        Figure(
            "cause-alone",
            "What a loss is taken to mean: alone on the line",
            "Greedy senders for 60 s at 2 Mbit/s with a round trip of 50 ms. Bit errors damage the share of "
            "packets that is named; outages last 3 and 10 s.",
            ("cause-alone",),
            _alone,
            beyond=True,
        ),
        Figure(
            "cause-shared",
            "What a loss is taken to mean: beside a TCP flow",
            "The same line without outages, shared with a greedy flow of TCP CUBIC.",
            ("cause-shared",),
            _shared,
            beyond=True,
        ),
        _train("hsr-greedy", "greedy sources", "throughput_bps", "delay_median_s", "wire_bytes_per_byte"),
        _train("hsr-files", "files of 1 MB", "download_time_s"),
        _train("hsr-pages", "a page of 80 kB", "page_time_with_setup_s", "setup_time_s"),
        _train("hsr-messages", "a message of 200 bytes each second", "message_delay_s", "message_loss_ratio"),
        _train(
            "hsr-messages-fresh",
            "a message of 200 bytes each second, over a session each",
            "message_delay_with_setup_s",
            "message_delay_s",
        ),
    )


def _train(experiment: str, words: str, *kpis: str) -> Figure:
    return Figure(
        experiment,
        f"ResTP on the high-speed line: {words}",
        "Stretches of the line of AB4Rail D3.4, a channel delay of 50 ms, access and internet together.",
        (experiment,),
        _conditions(experiment, kpis),
        beyond=True,
    )


def _conditions(experiment: str, kpis: Sequence[str]) -> Draw:
    names = {
        "throughput_bps": "Throughput (Mbit/s)",
        "delay_median_s": "Delay, median (ms)",
        "download_time_s": "Download time (s)",
        "page_time_with_setup_s": "Page, set-up included (s)",
        "setup_time_s": "Set-up (ms)",
        "message_delay_s": "Delay of a message (ms)",
        "message_delay_with_setup_s": "Delay, set-up included (ms)",
        "message_loss_ratio": "Lost (%)",
        "wire_bytes_per_byte": "Bytes on the wire for each byte",
    }

    def draw(summary: Summary) -> Sequence[Panel]:
        losses = summary.factors(experiment)["loss"]
        rows = [
            (
                label(protocol),
                *(
                    cell(summary, experiment, kpi, {"protocol": protocol, "loss": loss})
                    for kpi in kpis
                    for loss in losses
                ),
            )
            for protocol in summary.factors(experiment)["protocol"]
        ]
        some(*(text for row in rows for text in row[1:]))
        header = (
            "Protocol",
            *(f"{names[kpi]}, loss {100 * loss:g} %" for kpi in kpis for loss in losses),
        )
        return [Table(f"{MEANS} over stretches.", header, tuple(rows))]

    return draw


def _alone(summary: Summary) -> Sequence[Panel]:
    rows = []
    for protocol, cause in CAUSES:
        cells = [
            cell(
                summary,
                "cause-alone",
                kpi,
                {"protocol": protocol, "corrupt": corrupt, "scenario.outages": outages},
            )
            for kpi in ("throughput_bps", "delay_p95_s")
            for outages in OUTAGES
            for corrupt in summary.factors("cause-alone")["corrupt"]
        ]
        rows.append((label(protocol), cause, *cells))
    some(*(text for row in rows for text in row[2:]))
    header = (
        "Protocol",
        "Losses mean",
        *(
            f"{kpi}, {100 * corrupt:g} % damaged{', outages' if outages != OUTAGES[0] else ''}"
            for kpi in ("Mbit/s", "95th percentile of the delay (ms)")
            for outages in OUTAGES
            for corrupt in summary.factors("cause-alone")["corrupt"]
        ),
    )
    return [Table(f"{MEANS}.", header, tuple(rows))]


def _shared(summary: Summary) -> Sequence[Panel]:
    rows = []
    for protocol, cause in CAUSES:
        both = f"{protocol}+tcp-cubic"
        if both not in summary.factors("cause-shared")["protocols"]:
            continue
        cells = [
            cell(
                summary,
                "cause-shared",
                "throughput_bps",
                {"protocols": both, "protocol": which, "corrupt": corrupt},
            )
            for which in (protocol, "tcp-cubic")
            for corrupt in summary.factors("cause-shared")["corrupt"]
        ]
        rows.append((label(protocol), cause, *cells))
    some(*(text for row in rows for text in row[2:]))
    header = (
        "Protocol",
        "Losses mean",
        *(
            f"{which} (Mbit/s), {100 * corrupt:g} % damaged"
            for which in ("ResTP", "TCP CUBIC beside it")
            for corrupt in summary.factors("cause-shared")["corrupt"]
        ),
    )
    return [Table(f"{MEANS}.", header, tuple(rows))]
