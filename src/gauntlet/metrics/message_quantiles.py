"""Quantiles of the delays of single messages: the tables of results have them of packets, not of messages."""

from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow.compute as pc

from gauntlet.metrics.flow import flows_of
from gauntlet.metrics.kpis.message_delay import message_delays_s
from gauntlet.metrics.steps import Floats
from gauntlet.results.reader import Results

LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 41), [0.005, 0.01, 0.99, 0.995, 0.998, 0.999]]))
"""Levels of the quantiles that are kept: steps of 2.5 %, finer in the tails."""

MESSAGE_DELAYS = ("message_delay_s", "message_delay_with_setup_s")
"""Columns of `delays` for the messages of periodic flows; experiments without such flows do not have them."""


def message_quantiles(
    results: Results, wanted: AbstractSet[str]
) -> dict[tuple[str, int], tuple[Floats, ...]]:
    """Quantiles over the messages of each periodic flow of these runs, as `MESSAGE_DELAYS` names them."""
    return {
        key: tuple(quantiles_of(delays_s) for delays_s in each)
        for key, each in message_delays(results, wanted).items()
    }


def message_delays(results: Results, wanted: AbstractSet[str]) -> dict[tuple[str, int], tuple[Floats, ...]]:
    """The delays themselves, in seconds, the soonest first."""
    flows = results.table("flows")
    periodic = set(flows.filter(pc.equal(flows.column("app"), "periodic")).column("run").to_pylist())
    return {
        (run.id, flow.index): tuple(
            np.sort(message_delays_s(flow, with_setup=with_setup)) for with_setup in (False, True)
        )
        for run in (results.runs() if periodic else ())
        if run.id in periodic & wanted and run.ok
        for flow in flows_of(run)
    }


def quantiles_of(values: Floats) -> Floats:
    """The quantiles of what is known, at `LEVELS`; NaN without any."""
    known = values[~np.isnan(values)]
    return np.quantile(known, LEVELS) if known.size else np.full(LEVELS.size, np.nan)
