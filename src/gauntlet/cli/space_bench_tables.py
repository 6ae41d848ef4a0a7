"""What `gauntlet space bench` prints: a row for each security, then the numbers of the study."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]

_OCTETS = 128
"""Of the messages in the first table: one frame of SDLS."""

_SECURITIES = (
    "none",
    "sdls-gcm",
    "sdls-gcm-aws-lc",
    "sdls-cmac",
    "quic-stream",
    "quic-datagram",
    "s2n-stream",
    "s2n-datagram",
    "tls",
    "dtls",
    "restp",
)

_PREFERRED = ("aws-lc", "aes-256-gcm")
"""Provider and cipher of a security's row, where it has several."""


def securities(tables: Tables) -> Iterator[str]:
    """A line for each security: messages, handshake, memory and attacks; what was not measured is empty."""
    cells = [row for row in tables["messages"] if row["payload_octets"] == _OCTETS]
    rest = _rest(cells)
    after = f"after {rest} ms" if rest < 1000 else f"after {rest / 1000:g} s"
    heads = ("security", "by", "no gap", after, "handshake", "heap", "attacks")
    yield _line(*heads)
    for security in _SECURITIES:
        own = [row for row in cells if row["security"] == security]
        if not own:
            continue
        provider, cipher = min(
            ((row["provider"], row["cipher"]) for row in own),
            key=lambda it: tuple(name != usual for name, usual in zip(it, _PREFERRED, strict=True)),
        )
        own = [row for row in own if (row["provider"], row["cipher"]) == (provider, cipher)]
        yield _line(
            security,
            provider,
            _message(own, 0),
            _message(own, rest),
            _handshake(tables["handshakes"], security, provider),
            _heap(tables["memory"], security, provider),
            _attacks(tables["attacks"], security),
        )
    yield ""
    yield f"Messages of {_OCTETS} octets: sender, receiver. Handshakes: ground, space, warm;"
    yield "X25519, certificates of ECDSA P-256 at both ends (restp: keys). Medians in us,"
    yield "without system calls. Heap: kB that a further link takes, both ends (s2n: mostly"
    yield "room that is not touched). Attacks: how many succeed of those played."


def _line(*cells: str) -> str:
    """At most 80 columns."""
    security, by, *rest = cells
    widths = (10, 11, 10, 6, 8)
    numbers = " ".join(f"{cell:>{width}}" for cell, width in zip(rest, widths, strict=True))
    return f"{security:<15} {by:<10} {numbers}".rstrip()


def _rest(cells: Sequence[Row]) -> int:
    """The longest gap that every security has, so that a column compares like with like."""
    gaps = [{row["gap_ms"] for row in cells if row["security"] == it} for it in _SECURITIES]
    measured = [it for it in gaps if it]
    return max(set.intersection(*measured), default=0) if measured else 0


def _message(own: Sequence[Row], gap_ms: int) -> str:
    found = {row["operation"]: row["median_us"] for row in own if row["gap_ms"] == gap_ms}
    return _pair(found.get("apply"), found.get("process"))


def _handshake(rows: Sequence[Row], security: str, provider: str) -> str:
    """A datagram's is its library's by stream; a security with loaded keys has none."""
    if security == "none" or security.startswith("sdls"):
        return "none"
    of = (security.replace("-datagram", "-stream"), provider, True, "none", "x25519")
    keys = ("security", "provider", "mutual", "resumption", "group")
    for row in rows:
        if tuple(row[key] for key in keys) == of and (
            row["cipher"] == _PREFERRED[1] and row["signature"] in ("ecdsa-p256", "-")
        ):
            return _pair(row["ground_median_us"], row["space_median_us"])
    return ""


def _heap(rows: Sequence[Row], security: str, provider: str) -> str:
    for row in rows:
        if (row["security"], row["provider"]) == (security, provider):
            with_c = row.get("heap_a_further_link_with_c")
            octets = row.get("heap_a_link") if with_c is None else with_c
            return "" if octets is None else f"{octets / 1000:.0f}"
    return ""


def _attacks(rows: Sequence[Row], security: str) -> str:
    played = [
        row["outcome"] == "succeeds"
        for row in rows
        if (row["security"], row["mutual"], row["resumption"]) == (security, True, "none")
    ]
    return f"{sum(played)} of {len(played)}" if played else ""


def _pair(first: float | None, second: float | None) -> str:
    return "" if first is None or second is None else f"{_two(first)}, {_two(second)}"


def _two(value: float) -> str:
    """Two digits at least: tenths of small values, whole ones of the rest."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def published(rows: Sequence[Row]) -> Iterator[str]:
    """The study's numbers by what was measured here in their place."""
    yield f"{'':<20}{'unit':>8}{'published':>10}{'again':>8}{'n':>4}{'corrected':>10}  95 % interval"
    for (place, stands_for), group in groupby(
        rows, key=lambda row: (row["key"].rpartition("/")[0], row["stands_for"])
    ):
        yield stands_for
        yield f" in the place of {place}"
        for row in group:
            interval = [row["corrected_low"], row["corrected_high"]]
            line = (
                f"  {row['key'].rpartition('/')[2]:<18}{row['unit']:>8}{row['published']:>10g}"
                f"{_number(row['method']):>8}{row['method_n'] or '':>4}{_number(row['corrected']):>10}"
            )
            yield line if None in interval else f"{line}  {' - '.join(map(_number, interval))}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
