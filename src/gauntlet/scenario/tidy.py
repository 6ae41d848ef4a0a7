"""A scenario as one table, for notebooks."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.scenario.registry import load_scenario
from gauntlet.scenario.trace import Trace
from gauntlet.table import Table


def scenario(name: str, /, *, seed: int = 1, **parameters: Any) -> Table:
    """A link over time: one row for each stretch of time in which nothing changes.

    `name` is a scenario (`gauntlet scenario list`) or the path of a trace or line file, `parameters` are its
    own, as numbers or text with units (`bandwidth="5MHz"`), `seed` is that of its random draws.

    Columns: `bearer`, `until_s` (where the row ends; null for one that holds for as long as needed) and
    those of a trace (docs/formats/trace.md): `t_s`, `rate_up_bps`, `rate_down_bps`, `delay_up_s`,
    `delay_down_s`, `loss_up`, `loss_down`, `queue_limit_bytes`, and of a railway `cell`, `km`, `speed_kmh`,
    `mcs`, `sharers`, `source`.

    Raises UserError for a name or a parameter that cannot be.
    """
    bearers = load_scenario(name, parameters, seed).bearers
    return Table(pa.concat_tables([_rows(bearer, trace) for bearer, trace in bearers.items()]))


def _rows(bearer: str, trace: Trace) -> pa.Table:
    last = [trace.end_s if math.isfinite(trace.end_s) else np.nan]
    until_s = np.append(trace.column("t_s")[1:], last)
    table = trace.table.add_column(1, "until_s", pa.array(until_s, from_pandas=True))
    return table.add_column(0, "bearer", pa.repeat(pa.scalar(bearer), table.num_rows))
