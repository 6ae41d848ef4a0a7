"""Exports a link for other tools: CSV, samples, Mahimahi's packet-delivery traces, a script for `tc`."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gauntlet.errors import UserError
from gauntlet.scenario.linefile import read_data
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.trace import Trace
from gauntlet.scenario.trace_files import write_csv

MAHIMAHI_IP_BYTES = 1500
"""IP bytes that one opportunity of mm-link carries: its PACKET_SIZE of 1504 bytes (src/frontend/link_queue.hh
of ravinet/mahimahi) counts the 4-byte header of the TUN device that each packet has there."""

TBF_BURST_BYTES = 1580
"""Token bucket of AB4Rail D3.4 section 4.6: a little more than an Ethernet frame."""


def export_csv(source: Scenario | Trace, path: str | Path, bearer: str | None = None) -> list[Path]:
    """Write the link as CSV (docs/formats/trace.md); returns what was written. Raises `UserError`."""
    with _named(path):
        write_csv(_trace(source, bearer), Path(path))
    return [Path(path)]


def export_mahimahi(source: Scenario | Trace, path: str | Path, bearer: str | None = None) -> list[Path]:
    """Write `PATH.up` and `PATH.down` for `mm-link PATH.up PATH.down`; returns what was written.

    Each line is an instant in whole milliseconds at which one packet of 1500 bytes may leave. Delay, loss and
    queue limit are not part of this format (see mm-delay, mm-loss, mm-link --uplink-queue-args).
    Raises `UserError` for a link without an end.
    """
    trace = _trace(source, bearer)
    if not math.isfinite(trace.end_s):
        raise UserError(
            f"{trace.name} has no end, and a Mahimahi trace needs one: choose a stretch of it, "
            "or end its CSV with a line like '# end_s=600'."
        )
    written = []
    for direction in ("up", "down"):
        instants_ms = mahimahi_instants_ms(trace, direction)
        if not instants_ms or instants_ms[-1] == 0:
            raise UserError(
                f"{trace.name} is too short or too slow for a Mahimahi trace: no packet of 1500 bytes passes."
            )
        target = Path(f"{path}.{direction}")
        with _named(target):
            target.write_text("\n".join(map(str, instants_ms)) + "\n", encoding="ascii")
        written.append(target)
    return written


SAMPLES_HEADER = "t_s,rate_down_kbps,rate_up_kbps,rtt_ms,loss_down_pct,loss_up_pct"
"""Columns of `export_samples`; `gauntlet scenario import` reads the units behind their names."""


def export_samples(
    source: Scenario | Trace, path: str | Path, every_s: float, bearer: str | None = None
) -> list[Path]:
    """Write the link as a drive test logs it: mean rates, round trip and losses at regular times.

    In a step that is lost as a whole the rates are 0. Returns what was written. Raises `UserError` for a link
    without an end.
    """
    trace = _trace(source, bearer)
    if not math.isfinite(trace.end_s):
        raise UserError(f"{trace.name} has no end, and samples need one: choose a stretch of it.")
    count = math.floor(trace.end_s / every_s + 1e-9) if every_s > 0 else 0
    if count < 2:
        raise UserError(
            f"{trace.name} lasts {trace.end_s:g} s, too short for samples each {every_s:g} s; "
            "they need a smaller --every."
        )
    edges_s = every_s * np.arange(count + 1)
    loss_down, loss_up = (np.round(trace.means(f"loss_{side}", edges_s), 9) for side in ("down", "up"))
    rate_down, rate_up = (trace.means(f"rate_{side}_bps", edges_s) / 1e3 for side in ("down", "up"))
    rtt_ms = (trace.means("delay_down_s", edges_s) + trace.means("delay_up_s", edges_s)) * 1e3
    columns = (
        np.round(edges_s[:-1], 6),
        np.where(loss_down == 1, 0, np.round(rate_down, 3)),
        np.where(loss_up == 1, 0, np.round(rate_up, 3)),
        np.round(rtt_ms, 3),
        np.where(loss_down == 1, 0, loss_down * 100),
        np.where(loss_up == 1, 0, loss_up * 100),
    )
    rows = [",".join(f"{value:.12g}" for value in row) for row in zip(*columns, strict=True)]
    with _named(path):
        Path(path).write_text("\n".join([SAMPLES_HEADER, *rows]) + "\n", encoding="ascii")
    return [Path(path)]


def mahimahi_instants_ms(trace: Trace, direction: str) -> list[int]:
    """Delivery opportunities of one direction ("up" or "down"), none earlier than the rate allows."""
    edges_s = np.append(trace.column("t_s"), trace.end_s)
    sent_bytes = np.append(0.0, np.cumsum(np.diff(edges_s) * trace.column(f"rate_{direction}_bps") / 8))
    # Sums of floats may fall a hair short of the last whole packet.
    packets = np.arange(1, math.floor(sent_bytes[-1] / MAHIMAHI_IP_BYTES + 1e-9) + 1)
    instants_s = np.interp(packets * MAHIMAHI_IP_BYTES, sent_bytes, edges_s)
    return [int(ms) for ms in np.ceil(np.round(instants_s * 1000, 6))]


@dataclass(frozen=True)
class TcPlaces:
    """Where the script of `export_tc` acts.

    For each direction the interface that limits the rate and the one that delays and loses; for each side an
    optional command prefix, such as "ip netns exec train".
    """

    rate_up: str = "train0"
    delay_up: str = "radio0"
    rate_down: str = "trackside0"
    delay_down: str = "radio1"
    train_prefix: str = ""
    trackside_prefix: str = ""


def export_tc(
    source: Scenario | Trace, path: str | Path, places: TcPlaces | None = None, bearer: str | None = None
) -> list[Path]:
    """Write a bash script that plays the link with `tc` (tbf and netem), as D3.4 Figure 14 does.

    Returns what was written. Interfaces and prefixes are variables at its top, preset from `places` and
    replaceable from the environment. Raises `UserError`.
    """
    trace = _trace(source, bearer)
    target = Path(path)
    with _named(target):
        target.write_text("\n".join(_tc_lines(trace, places or TcPlaces())) + "\n", encoding="utf-8")
        target.chmod(0o755)
    return [target]


def _tc_lines(trace: Trace, places: TcPlaces) -> Iterator[str]:
    head = read_data("tc.sh")
    fill = {
        "NAME": trace.name,
        "STEPS": trace.table.num_rows,
        "RATE_UP": places.rate_up,
        "DELAY_UP": places.delay_up,
        "RATE_DOWN": places.rate_down,
        "DELAY_DOWN": places.delay_down,
        "TRAIN": places.train_prefix,
        "TRACKSIDE": places.trackside_prefix,
        "BURST_BYTES": TBF_BURST_BYTES,
    }
    for key, value in fill.items():
        head = head.replace(f"@{key}@", str(value))
    yield head
    action = "replace"
    for row in trace.table.to_pylist():
        if row["t_s"] > 0:
            yield f"at {round(row['t_s'] * 1e6)}"
        values = [
            round(row["rate_up_bps"]),
            round(row["rate_down_bps"]),
            round(row["delay_up_s"] * 1e6),
            round(row["delay_down_s"] * 1e6),
            f"{row['loss_up'] * 100:.7g}",
            f"{row['loss_down'] * 100:.7g}",
            row["queue_limit_bytes"],
        ]
        yield f"link {action} {' '.join(map(str, values))}"
        action = "change"
    if math.isfinite(trace.end_s):
        yield f"at {round(trace.end_s * 1e6)}"


@contextmanager
def _named(path: str | Path) -> Iterator[None]:
    """Turn a file that cannot be written into a sentence."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}; choose another place."
        ) from None


def _trace(source: Scenario | Trace, bearer: str | None) -> Trace:
    if isinstance(source, Trace):
        return source
    if bearer is None:
        return source.trace
    if bearer not in source.bearers:
        known = ", ".join(source.bearers)
        raise UserError(f"Scenario '{source.name}' has no bearer '{bearer}'; its bearers are: {known}.")
    return source.bearers[bearer]
