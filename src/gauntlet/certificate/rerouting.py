"""Changes of routes: whether a run made those of its plan, and in time.

That packets then went the new way, and no other, follows from the stages: `hops` of the record says from when
to when a tap leads to which stage (stages.py), and a packet that went elsewhere is missing in one stage and
uninvited in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.certificate.answers import Findings, plural, span
from gauntlet.certificate.changes import Words, check_changes
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
    words = Words(
        check="routes",
        link=None,
        named=lambda entry: f"the route of {entry['node']} to {entry['to']}",
        wrong=_difference,
        too_many=f"The run changed {plural(len(made), 'route')} and not {len(planned)} as planned.",
        passed=lambda latest_ns: (
            f"{plural(len(made), 'change')} of routes were made as planned, "
            f"at most {span(abs(latest_ns))} late."
        ),
    )
    check_changes(words, planned, made, round(record["virtual_s"] * 1e9), findings)


def _difference(wanted: Mapping[str, Any], made: Mapping[str, Any]) -> str | None:
    if all(wanted[key] == made[key] for key in ("node", "to", "via")):
        return None
    return f"was not made, but one of {made['node']} to {made['to']}"
