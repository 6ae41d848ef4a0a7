"""Does what a node's log says of each packet follow from the rules that it says matched?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import seconds
from gauntlet.certificate.in_path_log import Log, Row

Rules = Sequence[Mapping[str, Any]]

CHANGING = frozenset({"alter", "rewrite", "swap_connection_ids"})
"""Actions that give a packet other bytes."""

ANSWERING = {
    "reflect": None,
    "reset": "times",
    "stateless_reset": "times",
    "version_negotiation": None,
    "retry": None,
}
"""Actions that send packets back to where the one that matched came from, and the key that says how many; one
where there is none."""

_TAKE_AWAY = frozenset({"drop", "reflect"})
_ADD = {"copied": frozenset({"duplicate"}), "inserted": frozenset({"insert", *ANSWERING})}


def check_rules(rules: Rules, log: Log, towards: int, end_ns: int) -> list[str]:
    """What is wrong, a sentence each; empty where nothing is. `towards`: which packets are looked at;
    `end_ns`: when the node stopped."""
    found = []
    for seen in log.seen_towards(towards):
        for fault in _faults(rules, seen, log, end_ns):
            found.append(f"Packet {seen.packet:,} of the log, at {seconds(seen.t_ns)}: {fault}.")
    of_clock = log.by_packet.get(-1, [])
    called = {row.rule for row in of_clock if row.event == "matched"}
    for row in of_clock:
        if (
            row.how is not None
            and row.towards == towards
            and (_action(rules, row.rule) != "insert" or row.rule not in called)
        ):
            found.append(f"A packet left at {seconds(row.t_ns)} of which no rule of the plan speaks.")
    return found


def check_clock_additions(rules: Rules, log: Log, end_ns: int) -> list[str]:
    """What is wrong with the packets that rules added when the clock called them, a sentence each."""
    rows = log.by_packet.get(-1, [])
    unfit = {row.rule for row in rows if row.event == "unfit"}
    return [
        f"The clock's call at {seconds(row.t_ns)}: {fault}."
        for row in rows
        if row.event == "matched" and 0 <= row.rule < len(rules)
        for fault in _additions(rules, row.rule, row, rows, end_ns=end_ns, unfit=row.rule in unfit)
    ]


def _action(rules: Rules, number: int) -> str:
    return str(rules[number]["do"]["action"]) if 0 <= number < len(rules) else "none"


def _faults(rules: Rules, seen: Row, log: Log, end_ns: int) -> Iterator[str]:
    rows = log.by_packet[seen.packet]
    matched = [row.rule for row in rows if row.event == "matched"]
    unfit = {row.rule for row in rows if row.event == "unfit"}
    fates = [row for row in rows if row.event in ("dropped", "waiting") or row.how in ("passed", "altered")]
    if len(fates) != 1:
        yield f"it has {len(fates)} fates"
        return
    (fate,) = fates
    taken = [rule for rule in matched if takes_away(rules[rule])]
    if taken and taken[0] != matched[-1]:
        yield f"rules matched behind {rules[taken[0]]['id']!r}, which takes it away"
    if bool(taken) != (fate.event == "dropped"):
        yield "it was dropped by no rule" if not taken else f"{rules[taken[0]]['id']!r} did not take it away"
    yield from _stay(rules, matched, seen, rows, end_ns)
    if fate.how is not None:
        yield from _passage(rules, matched, unfit, seen, fate)
    for how, able in _ADD.items():
        extra = [row for row in rows if row.how == how]
        for row in extra:
            if _action(rules, row.rule) not in able or row.rule not in matched:
                yield f"a packet was {how} without a rule for it"
    for rule in matched:
        yield from _additions(rules, rule, seen, rows, end_ns=end_ns, unfit=rule in unfit)
        yield from _places(rules, rule, matched, rows)


def _stay(rules: Rules, matched: Sequence[int], seen: Row, rows: Sequence[Row], end_ns: int) -> Iterator[str]:
    """Whether a packet was held just where a rule holds it, and still waited at the end for a reason."""
    holding = [rule for rule in matched if _action(rules, rule) == "hold"]
    held = [row.rule for row in rows if row.event == "held"]
    if held != holding[:1]:
        yield "it was held by no rule of its own" if held else "it was not held, as its rule asks"
    if holding and holding[0] != matched[-1]:
        yield "rules matched behind the one that holds it"
    if holding or not any(row.event == "waiting" for row in rows):
        return
    middle_ns, width_ns = _delay_ns(rules, matched)
    if not middle_ns:
        yield "it did not leave, and no rule keeps it"
    elif seen.t_ns + middle_ns + width_ns < end_ns - tolerance.current().time_ns:
        yield f"it did not leave, although no rule keeps it beyond {(middle_ns + width_ns) / 1e9:.6f} s"


def takes_away(rule: Mapping[str, Any]) -> bool:
    """Whether a packet that it matches goes no further."""
    deed = rule["do"]
    return deed["action"] in _TAKE_AWAY and not deed.get("keep", False)


def _passage(rules: Rules, matched: Sequence[int], unfit: set[int], seen: Row, left: Row) -> Iterator[str]:
    """Of a packet that went on: whether its bytes, its direction and its instant are right."""
    actions = [_action(rules, rule) for rule in matched]
    same = left.fingerprint == seen.fingerprint
    if (left.how == "passed") != same:
        yield (
            "it is said to have left as it came, but has other bytes"
            if not same
            else "it is said to be altered"
        )
    if not same and not CHANGING & set(actions):
        yield "it was altered by no rule"
    certain = [rule for rule in matched if _action(rules, rule) == "alter" and rule not in unfit]
    # What is turned over in a checksum that is repaired leaves no trace.
    certain = [] if any(_may_repair_all(rules[rule]["do"]) for rule in certain) else certain
    if same and len(certain) == 1 and "rewrite" not in actions:
        yield f"{rules[certain[0]]['id']!r} left it as it was"
    if left.towards != seen.towards:
        yield "it went to the side from which it came"
    late_ns = left.t_ns - seen.t_ns
    if "hold" in actions:
        if late_ns < 0:
            yield "it left before it came"
        return
    middle_ns, width_ns = _delay_ns(rules, matched)
    if abs(late_ns - middle_ns) > width_ns + tolerance.current().time_ns:
        yield f"it left {late_ns / 1e9:.6f} s late instead of {middle_ns / 1e9:.6f} s"


def _may_repair_all(deed: Mapping[str, Any]) -> bool:
    return deed.get("checksums", "leave") == "repair" and deed["within"] in ("packet", "transport")


def _delay_ns(rules: Rules, matched: Sequence[int]) -> tuple[int, int]:
    """How much later a packet leaves, and give or take how much."""
    delays = [rules[rule]["do"] for rule in matched if _action(rules, rule) == "delay"]
    middle_ns = sum(round(deed["delay_s"] * 1e9) for deed in delays)
    return middle_ns, sum(round(deed.get("jitter_s", 0.0) * 1e9) for deed in delays)


def _additions(
    rules: Rules, rule: int, called: Row, rows: Sequence[Row], *, end_ns: int, unfit: bool
) -> Iterator[str]:
    """Whether a rule that adds packets added as many as it was to, each at its instant. `called`: by which
    packet, or call of the clock; `unfit`: it may have had none to add."""
    deed = rules[rule]["do"]
    many = {"duplicate": "copies", "insert": "times", **ANSWERING}
    if deed["action"] not in many:
        return
    key = many[deed["action"]]
    count = int(deed.get(key, 1)) if key is not None else 1
    first_ns, step_ns = (round(deed.get(name, 0.0) * 1e9) for name in ("after_s", "interval_s"))
    due = [called.t_ns + first_ns + number * step_ns for number in range(count)]
    own = [row for row in rows if row.rule == rule and row.how in _ADD]
    if unfit and not own:
        return
    # What was due at the end or later may have left or not.
    needed = sum(instant_ns < end_ns - tolerance.current().time_ns for instant_ns in due)
    if not needed <= len(own) <= count:
        yield f"{rules[rule]['id']!r} added {len(own)} packets to it instead of {count}"
        return
    for row, instant_ns in zip(own, due, strict=False):
        if abs(row.t_ns - instant_ns) > tolerance.current().time_ns:
            instants = f"{seconds(row.t_ns)} instead of {seconds(instant_ns)}"
            yield f"{rules[rule]['id']!r} added a packet at {instants}"
        if deed["action"] in ANSWERING and row.towards == called.towards:
            yield f"{rules[rule]['id']!r} sent it on instead of back"


def _places(rules: Rules, rule: int, matched: Sequence[int], rows: Sequence[Row]) -> Iterator[str]:
    """Whether what a rule added at once stands before its packet, or behind it, as it asks."""
    deed = rules[rule]["do"]
    if deed["action"] not in ("duplicate", "insert", *ANSWERING) or deed.get("after_s", 0.0) > 0:
        return
    added = [place for place, row in enumerate(rows) if row.rule == rule and row.how in _ADD]
    delayed = any(_action(rules, other) == "delay" for other in matched)
    at_once = ("dropped", "held") if delayed else ("dropped", "held", "emitted", "refused")
    own = [place for place, row in enumerate(rows) if row.event in at_once and row.how not in _ADD]
    if added and own and (added[0] < own[0]) != bool(deed.get("before", False)):
        side = "before" if added[0] < own[0] else "behind"
        yield f"{rules[rule]['id']!r} added a packet {side} it"
