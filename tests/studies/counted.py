"""Made-up summaries of an experiment whose flows are trials of threats: a row for what came to the same."""

from typing import Any

import pyarrow as pa

from gauntlet.studies.summary import Part, Summary

FACTORS = {"protocol": ["udp", "sctp"], "threat": ["deletion"], "freshness": [False, True]}


def row(
    verdict: str,
    trials: int,
    *,
    distinct: int | None = None,
    protocol: str = "sctp",
    harms: str = "",
    freshness: bool = False,
) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "threat": "deletion",
        "freshness": freshness,
        "verdict": verdict,
        "harms": harms,
        "by": "",
        "accepted_before": False,
        "trials": trials,
        "distinct": trials if distinct is None else distinct,
        "told_after_s": None,
        "told_in_time": None,
    }


def summary(*rows: dict[str, Any]) -> Summary:
    return Summary("d00", {"threats": part(*rows)})


def part(*rows: dict[str, Any]) -> Part:
    manifest = {"factors": FACTORS, "labels": {}, "runs": 1}
    tables = {
        name: pa.table({"run": pa.array([], pa.string())})
        for name in ("flows", "delays", "windows", "series")
    }
    return Part(manifest, {**tables, "trials": pa.Table.from_pylist(list(rows))})
