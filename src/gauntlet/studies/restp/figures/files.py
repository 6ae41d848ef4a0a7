"""Short files over a lossy hop: Figure 4.2 and Table 4.3, and what made the simulator's TCP slow."""

from collections.abc import Sequence

from gauntlet.report.numbers import number
from gauntlet.studies.charts import against
from gauntlet.studies.model import Chart, Figure, Panel, Printed, Table
from gauntlet.studies.restp.figures.shared import MEANS, cell, label, over, some
from gauntlet.studies.summary import Summary

TIME = "download_time_s"
PROTOCOLS = ("tcp-reno", "restp-3wh-arq", "restp-3wh-harq", "restp-file", "restp-file-harq")

PRINTED = {
    (250_000, 0.01): (2.55, 1.39),
    (500_000, 0.01): (4.93, 2.30),
    (1_000_000, 0.01): (10.2, 6.30),
    (250_000, 0.1): (40.3, 32.5),
    (500_000, 0.1): (78.8, 73.0),
    (1_000_000, 0.1): (118.0, 107.0),
}
"""Table 4.3: size and packet error rate -> times of TCP and of ResTP with HARQ, in seconds."""


def figures() -> tuple[Figure, ...]:
    """All of them."""
    return (
        Figure(
            "4.2",
            "Throughput of a file of 1 MB against the packet error rate",
            "ResTP as the study configures it (3WH-ARQ, 3WH-HARQ), ResTP's presets of today (file, file "
            "HARQ) and the Reno of Linux. The line carries 2 Mbit/s.",
            ("files-loss",),
            _throughput,
            (Printed("Where ResTP is ahead", "packet error rates below 0.2", "section 4.1.3"),),
        ),
        Figure(
            "table-4.3",
            "Flow completion time of short files",
            "Printed are the study's TCP and its ResTP with HARQ. A transfer that has not ended after the "
            "time for 50 kbit/s and 5 min more has no time.",
            ("files", "files-loss"),
            _times,
        ),
        Figure(
            "timers",
            "TCP with the timers and acknowledgements of a simulator",
            "The Reno of Linux with a least timeout of 1 s (RFC 6298) instead of 0.2 s, without SACK, and "
            "without the tail loss probe of RFC 8985; a file of 250 kB.",
            ("files-timers",),
            _timers,
            beyond=True,
        ),
    )


def _throughput(summary: Summary) -> Sequence[Panel]:
    chart = against(summary, "files-loss", "throughput_bps", x="loss", dash=None, even=True)
    times = against(summary, "files-loss", TIME, x="loss", dash=None, even=True)
    return [
        Chart(f"Throughput, also of transfers that did not end. {MEANS}.", chart),
        Chart(f"Completion time of the transfers that ended. {MEANS}.", times),
    ]


def _times(summary: Summary) -> Sequence[Panel]:
    rows = []
    for (size_bytes, loss), (tcp_s, restp_s) in PRINTED.items():
        experiment = "files-loss" if size_bytes == 1_000_000 else "files"
        of = {"loss": loss} if size_bytes == 1_000_000 else {"loss": loss, "size_bytes": size_bytes}
        times = [cell(summary, experiment, TIME, {**of, "protocol": it}) for it in PROTOCOLS]
        ratio = over(
            summary, experiment, TIME, {**of, "protocol": "restp-3wh-harq"}, {**of, "protocol": "tcp-reno"}
        )
        printed = (f"{tcp_s:g}", f"{restp_s:g}", number(restp_s / tcp_s))
        rows.append((f"{size_bytes // 1000} kB", f"{100 * loss:g} %", *printed, *times, ratio))
    some(*(text for row in rows for text in row[5:10]))
    header = (
        "Size",
        "Packet errors",
        "TCP, printed (s)",
        "ResTP, printed (s)",
        "ResTP over TCP",
        *(f"{label(it)} (s)" for it in PROTOCOLS),
        "3WH-HARQ over TCP Reno",
    )
    return [Table(f"{MEANS} of 20 repetitions, of 1000 kB of 10.", header, tuple(rows))]


def _timers(summary: Summary) -> Sequence[Panel]:
    rows = []
    for sack, probe, least_us in (
        (1, 3, 200_000),
        (0, 3, 200_000),
        (0, 0, 200_000),
        (1, 3, 1_000_000),
        (1, 0, 1_000_000),
        (0, 0, 1_000_000),
    ):
        of = {
            "sysctl.net.ipv4.tcp_sack": sack,
            "sysctl.net.ipv4.tcp_early_retrans": probe,
            "sysctl.net.ipv4.tcp_rto_min_us": least_us,
        }
        times = [cell(summary, "files-timers", TIME, {**of, "loss": loss}) for loss in (0.01, 0.1)]
        rows.append((f"{least_us / 1e6:g} s", "yes" if sack else "no", "yes" if probe else "no", *times))
    some(*(text for row in rows for text in row[3:]))
    header = ("Least timeout", "SACK", "Tail loss probe", "1 % (s)", "10 % (s)")
    return [Table(f"Completion time. {MEANS} of 10 repetitions.", header, tuple(rows))]
