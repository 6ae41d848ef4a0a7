"""How long pages take: from the request for the main object to the last byte of the last embedded one."""

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi


def page_load_times_s(flow: FlowData) -> list[float]:
    """Load time of each page of which every object arrived, in order."""
    if flow.record.get("app") != "web":
        return []
    pages: dict[str, list[tuple[int, int | None]]] = {}
    for one in flow.exchanges:
        completed_ns = one["completed_ns"] if one["outcome"] == "ok" else None
        pages.setdefault(one["object"].split(",")[0], []).append((one["requested_ns"], completed_ns))
    times = []
    for objects in pages.values():
        ends = [end for _, end in objects if end is not None]
        if len(ends) == len(objects):
            times.append((max(ends) - min(begin for begin, _ in objects)) / NS_PER_S)
    return times


def page_load_time_s(flow: FlowData) -> float | None:
    """Mean over the pages of a flow that was not cut short; None for one that was."""
    times = page_load_times_s(flow)
    return float(np.mean(times)) if times and flow.record.get("outcome") == "ok" else None


KPIS = (
    Kpi(
        name="page_load_time_s",
        label="Page load time",
        shown_unit="s",
        shown_factor=1.0,
        higher_is_better=False,
        definition="Mean time from the request for a page's main object to the last byte of its last object "
        "at the browser, over the pages of a run; the session is there already. Where a page did not "
        "come, the run counts with its limit.",
        censored=True,
        over="loaded",
        of_flow=page_load_time_s,
    ),
)
