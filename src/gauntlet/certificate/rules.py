"""Does what a node's log says of each packet follow from the rules that it says matched?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import seconds
from gauntlet.certificate.in_path_log import Log, Row

Rules = Sequence[Mapping[str, Any]]

_ALTER = frozenset({"alter", "rewrite"})
_TAKE_AWAY = frozenset({"drop", "reflect"})
_ADD = {"copied": frozenset({"duplicate"}), "inserted": frozenset({"insert", "reflect"})}


def check_rules(rules: Rules, log: Log, towards: int) -> list[str]:
    """What is wrong, a sentence each; empty where nothing is. `towards`: which packets are looked at."""
    found = []
    for seen in log.seen_towards(towards):
        for fault in _faults(rules, seen, log):
            found.append(f"Packet {seen.packet:,} of the log, at {seconds(seen.t_ns)}: {fault}.")
    for row in log.by_packet.get(-1, []):
        if (
            row.event == "emitted"
            and row.towards == towards
            and _action(rules, row.rule) not in ("insert", "release")
        ):
            found.append(f"A packet left at {seconds(row.t_ns)} of which no rule of the plan speaks.")
    return found


def _action(rules: Rules, number: int) -> str:
    return str(rules[number]["do"]["action"]) if 0 <= number < len(rules) else "none"


def _faults(rules: Rules, seen: Row, log: Log) -> Iterator[str]:
    rows = log.by_packet[seen.packet]
    matched = [row.rule for row in rows if row.event == "matched"]
    unfit = {row.rule for row in rows if row.event == "unfit"}
    actions = [_action(rules, rule) for rule in matched]
    fates = [row for row in rows if row.event in ("dropped", "waiting") or row.how in ("passed", "altered")]
    if len(fates) != 1:
        yield f"it has {len(fates)} fates"
        return
    (fate,) = fates
    taken = [rule for rule in matched if _takes_away(rules[rule])]
    if taken and taken[0] != matched[-1]:
        yield f"rules matched behind {rules[taken[0]]['id']!r}, which takes it away"
    if bool(taken) != (fate.event == "dropped"):
        yield "it was dropped by no rule" if not taken else f"{rules[taken[0]]['id']!r} did not take it away"
    if fate.how is not None:
        yield from _passage(rules, matched, unfit, seen, fate)
    if fate.event == "waiting" and not {"delay", "hold"} & set(actions):
        yield "it did not leave, and no rule keeps it"
    for how, able in _ADD.items():
        extra = [row for row in rows if row.event == "emitted" and row.how == how]
        for row in extra:
            if _action(rules, row.rule) not in able or row.rule not in matched:
                yield f"a packet was {how} without a rule for it"
    for rule in (rule for rule in matched if rule not in unfit):
        yield from _additions(rules, rule, seen, rows, log.end_ns)


def _takes_away(rule: Mapping[str, Any]) -> bool:
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
    if not same and not _ALTER & set(actions):
        yield "it was altered by no rule"
    certain = [rule for rule in matched if _action(rules, rule) == "alter" and rule not in unfit]
    if same and len(certain) == 1 and "rewrite" not in actions:
        yield f"{rules[certain[0]]['id']!r} left it as it was"
    if left.towards != seen.towards:
        yield "it went to the side from which it came"
    late_ns = left.t_ns - seen.t_ns
    if "hold" in actions:
        if late_ns < 0:
            yield "it left before it came"
        return
    delays = [rules[rule]["do"] for rule in matched if _action(rules, rule) == "delay"]
    middle_ns = sum(round(deed["delay_s"] * 1e9) for deed in delays)
    width_ns = sum(round(deed.get("jitter_s", 0.0) * 1e9) for deed in delays)
    if abs(late_ns - middle_ns) > width_ns + tolerance.current().time_ns:
        yield f"it left {late_ns / 1e9:.6f} s late instead of {middle_ns / 1e9:.6f} s"


def _additions(rules: Rules, rule: int, seen: Row, rows: Sequence[Row], end_ns: int) -> Iterator[str]:
    """Whether a rule that adds packets added as many as it was to, each at its instant."""
    deed = rules[rule]["do"]
    many = {"duplicate": "copies", "insert": "times", "reflect": None}
    if deed["action"] not in many:
        return
    key = many[deed["action"]]
    count = int(deed.get(key, 1)) if key is not None else 1
    first_ns, step_ns = (round(deed.get(name, 0.0) * 1e9) for name in ("after_s", "interval_s"))
    due = [seen.t_ns + first_ns + number * step_ns for number in range(count)]
    own = [row for row in rows if row.rule == rule and row.how in _ADD]
    # What was due at the end or later may have left or not.
    needed = sum(instant_ns < end_ns - tolerance.current().time_ns for instant_ns in due)
    if not needed <= len(own) <= count:
        yield f"{rules[rule]['id']!r} added {len(own)} packets to it instead of {count}"
        return
    for row, instant_ns in zip(own, due, strict=False):
        if abs(row.t_ns - instant_ns) > tolerance.current().time_ns:
            instants = f"{seconds(row.t_ns)} instead of {seconds(instant_ns)}"
            yield f"{rules[rule]['id']!r} added a packet at {instants}"
        if deed["action"] == "reflect" and row.towards == seen.towards:
            yield f"{rules[rule]['id']!r} sent it on instead of back"
