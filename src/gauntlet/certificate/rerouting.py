"""Changes of routes: whether a run made those of its plan, and in time.

That packets then went the new way, and no other, follows from the stages: `hops` of the record says from when
to when a tap leads to which stage (stages.py), and a packet that went elsewhere is missing in one stage and
uninvited in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span
from gauntlet.certificate.stages import address_of


def ways_in(
    flow: Mapping[str, Any], ways: Sequence[Mapping[str, Any]], record: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """The ways of a flow of the record, and one more for each further link by which changes of routes may
    lead its packets to its receiver: with that link as the last one.
    """
    found = list(ways)
    hops = [hop for hop in record.get("hops", ()) if hop["next"].partition(">")[2] == flow.get("to")]
    for way in ways:
        ends = way.get("addresses") or [
            address_of(str(flow.get(end, ""))) for end in ("source", "destination")
        ]
        last = [hop["next"] for hop in hops if [hop["source"], hop["destination"]] == list(ends)]
        known = way["forward"][-1:]
        found += [{**way, "forward": [*way["forward"][:-1], it]} for it in last if [it] != known]
    return found


def check_route_changes(plan_run: Mapping[str, Any], record: Mapping[str, Any], findings: Findings) -> None:
    """Compare the plan's `route_changes` with the record's; a run without any has no such check."""
    planned = plan_run.get("route_changes", ())
    made = record.get("route_changes", ())
    if not planned and not made:
        return
    end_ns = round(record["virtual_s"] * 1e9)
    failures, latest_ns = [], 0
    for number, entry in enumerate(planned):
        planned_ns = round(entry["at_s"] * 1e9)
        where = (
            f"The change of the route of {entry['node']} to {entry['to']} planned at {seconds(planned_ns)}"
        )
        if number >= len(made):
            if planned_ns < end_ns - tolerance.current().timeline_ns:
                failures.append(f"{where} was never made.")
            break
        other = made[number]
        if any(entry[key] != other[key] for key in ("node", "to", "via")):
            failures.append(f"{where} was not made, but one of {other['node']} to {other['to']}.")
            continue
        late_ns = round(other["at_s"] * 1e9) - planned_ns
        if planned_ns > 0:
            latest_ns = max(latest_ns, late_ns, key=abs)
            if not -tolerance.current().time_ns <= late_ns <= tolerance.current().timeline_ns:
                how = f"{span(abs(late_ns))} {'later' if late_ns > 0 else 'earlier'}"
                failures.append(f"{where} was made {how}.")
    if len(made) > len(planned):
        failures.append(f"The run changed {plural(len(made), 'route')} and not {len(planned)} as planned.")
    failure = None
    if failures:
        failure = failures[0] + (f" ({plural(len(failures) - 1, 'more fault')})" if failures[1:] else "")
    findings.add(
        "routes",
        None,
        failure,
        f"{plural(len(made), 'change')} of routes were made as planned, at most {span(abs(latest_ns))} late.",
        measured={"changes": len(made), "largest_lateness_s": latest_ns / 1e9},
        expected={"changes": len(planned), "largest_lateness_s": tolerance.current().timeline_ns / 1e9},
    )
