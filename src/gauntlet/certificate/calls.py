"""Did the clock call the rules of an in-path node that have an instant (`at_s`), once each, and then?"""

from __future__ import annotations

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import seconds
from gauntlet.certificate.in_path_log import Log
from gauntlet.certificate.rules import Rules


def check_calls(rules: Rules, log: Log, end_ns: int) -> list[str]:
    """What is wrong, a sentence each. `end_ns`: when the node stopped."""
    found = []
    called: dict[int, list[int]] = {}
    for row in log.rows:
        if row.event != "matched" or not 0 <= row.rule < len(rules):
            continue
        rule = rules[row.rule]
        timed = "at_s" in rule.get("match", {})
        if timed != (row.packet < 0):
            by = "a packet" if timed else "the clock"
            found.append(f"The rule {rule['id']!r} was called by {by}, at {seconds(row.t_ns)}.")
        elif timed:
            called.setdefault(row.rule, []).append(row.t_ns)
    for number, rule in enumerate(rules):
        if "at_s" not in rule.get("match", {}):
            continue
        due_ns, instants = round(rule["match"]["at_s"] * 1e9), called.get(number, [])
        needed = int(due_ns < end_ns - tolerance.current().time_ns)
        if not needed <= len(instants) <= 1:
            found.append(
                f"The clock called the rule {rule['id']!r} {len(instants):,} times instead of {needed}, at "
                f"{seconds(due_ns)}."
            )
        elif instants and abs(instants[0] - due_ns) > tolerance.current().time_ns:
            when = f"{seconds(instants[0])} instead of {seconds(due_ns)}"
            found.append(f"The clock called the rule {rule['id']!r} at {when}.")
    return found
