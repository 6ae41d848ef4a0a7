"""What came of attacks, for a terminal: a block for each, since a table would be cut where it is narrow."""

from collections.abc import Iterator, Mapping

from rich.table import Table

from gauntlet.attack.functions import GROUPS, REST, Spent
from gauntlet.attack.gates import DISTURBED
from gauntlet.attack.laboratory import Found
from gauntlet.attack.requests import delays, served_share
from gauntlet.attack.run import Outcome
from gauntlet.attack.verdict import BROKEN, HELD, INVALID

_WORDS = {HELD: "held", BROKEN: "BROKEN", INVALID: "invalid: this run tells nothing"}


def lines(found: Found) -> Iterator[str]:
    """The lines of one attack."""
    yield f"{found.kind.key} over {found.protocol}: {_WORDS[found.verdict.verdict]}"
    yield from (f"  {'':<16} {why}" for why in found.verdict.why)
    if found.verdict.verdict == INVALID:
        if any(why.startswith(DISTURBED) for why in found.verdict.why):
            yield f"  {'':<16} end what it is, or wait for it, and run this again"
        return
    for head, words in _told(found):
        yield f"  {head:<16} {words}"


def spent(who: str, by_protocol: Mapping[str, Spent]) -> Table:
    """What a handshake's instructions are spent on, a column for each protocol, in thousands."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(f"{who}, thousand instructions")
    for protocol in by_protocol:
        table.add_column(protocol, justify="right", no_wrap=True)
    for group in (*GROUPS, REST):
        table.add_row(group, *(f"{it.groups[group] / 1e3:,.0f}" for it in by_protocol.values()))
    table.add_row("all", *(f"{it.whole / 1e3:,.0f}" for it in by_protocol.values()))
    return table


def _told(found: Found) -> Iterator[tuple[str, str]]:
    attacked, alone = found.attacked, found.alone
    yield "honest clients", _served(attacked)
    yield "left alone", _served(alone)
    if (share := attacked.server_cpu_share) is not None:
        yield "server", f"{share:.1%} of a core{_of(attacked)}"
    grown = attacked.process_growth_bytes, attacked.kernel_growth_bytes
    yield "memory", f"{grown[0] / 1e6:+.1f} MB in the process, {grown[1] / 1e6:+.1f} MB in its sockets"
    totals = attacked.attacker or {}
    sent, offered, completed = (totals.get(name, 0) for name in ("sent", "offered", "completed"))
    yield (
        "attacker",
        (
            f"{sent} begun of {offered}, {completed} completed, {totals.get('bytes_out', 0)} bytes sent, "
            f"{totals.get('bytes_in', 0)} received"
        ),
    )
    own, other = attacked.server_cpu_a_handshake_s, attacked.attacker_cpu_a_handshake_s
    if own is not None and other is not None:
        yield "a handshake", f"{own * 1e3:.2f} ms of the server, {other * 1e3:.2f} ms of the attacker"


def _served(outcome: Outcome) -> str:
    of = outcome.during_attack()
    if not of:
        return "none asked for anything while the attack went on"
    curve = delays(of, outcome.run.client.limit_s)
    shown = [f"{share:.0%} by {_time(curve.quantile_s(share), curve.limit_s)}" for share in (0.5, 0.9, 0.99)]
    return f"{served_share(of):.1%} of {len(of)} requests served; {', '.join(shown)}"


def _time(time_s: float | None, limit_s: float) -> str:
    return f"more than {limit_s:g} s" if time_s is None else f"{time_s * 1e3:.1f} ms"


def _of(outcome: Outcome) -> str:
    held, throttled = outcome.run.of_a_core, outcome.throttled
    if held is None:
        return ""
    has = f" of the {held:.0%} that it has"
    if throttled is None:
        return has
    return f"{has}, which it used up in {throttled.throttled} of {throttled.periods} periods"
