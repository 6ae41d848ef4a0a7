"""Whether a processor in virtual time foretells Gauntlet's own server at loads from which nothing was learnt
(`gauntlet.attack.prediction`): what is completed a second, and the 99th percentile of honest clients' delays.

Costs are learnt and every load is foretold before the first of these loads is played on this machine.
"""

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.attack import prediction
from gauntlet.attack.gates import reasons
from gauntlet.attack.kinds import H2, H3
from gauntlet.attack.measures import INVALID, INVALID_RUN
from gauntlet.attack.prediction import Costs, Figures
from gauntlet.benches import attack_common
from gauntlet.benches.attack_common import (
    Condition,
    certificates_folder,
    facts,
    labels,
    measure,
    of_client,
    planned,
)
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.engine.contract import Engine
from gauntlet.engine.virtual import Virtual
from gauntlet.errors import RunError, UserError
from gauntlet.metrics.kpi import Kpi

_REPETITIONS = 3
_QUICK = {H2: (0.8,), H3: (0.8,)}


def conditions(quick: bool) -> list[Condition]:
    """What is foretold."""
    loads = _QUICK if quick else prediction.HELD_OUT
    return [{"over": over, "load": load} for over, held_out in loads.items() for load in held_out]


def _ready() -> None:
    attack_common.ready()
    try:
        Virtual.installed()
    except RunError as error:
        raise UserError(str(error)) from None


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    asked = conditions(quick)
    engine = Virtual.installed()
    server = facts()
    same = {**server, "engine": engine.identity()}
    costs = {
        over: _costs(parts.take(f"costs-{over}", server, partial(_learnt, over, tell)))
        for over in dict.fromkeys(str(it["over"]) for it in asked)
    }
    learnt = {over: [it.handshake_s, it.request_s] for over, it in costs.items()}
    foretold: dict[tuple[str, float], Figures] = {}
    for condition in asked:
        over, load = str(condition["over"]), float(condition["load"])
        tell(f"Load {load:g} over {over} in virtual time.")
        predict = partial(_predicted, over, load, costs[over], engine)
        known = {**same, "learnt": learnt[over]}
        part = parts.take(f"foretold-{over}-{load:g}", known, predict)
        foretold[over, load] = _figures(part)

    def of(condition: Condition) -> Mapping[str, Any]:
        over, load = str(condition["over"]), float(condition["load"])
        outcome = prediction.play_host(
            over, prediction.flood_per_s(load, costs[over]), asks=True, folder=certificates_folder()
        )
        why = reasons(outcome)
        found = None if why else prediction.observed(outcome)
        return {**row(foretold[over, load], found), "why_invalid": "; ".join(why)}

    return measure(
        asked, _REPETITIONS, seed, tell, parts,
        of=of, same={**same, "learnt": learnt}, samples=prediction.CLIENT.requests,
    )  # fmt: skip


def row(foretold: Figures, found: Figures | None) -> dict[str, float | None]:
    """What was foretold and what was found (None: the run tells nothing), and the one over the other; none
    where one of them is not within the honest client's limit.
    """
    observed = found or Figures(float("nan"), None)
    late = foretold.p99_s is None or observed.p99_s is None
    return {
        "completed_per_s": observed.completed_per_s if found else None,
        "p99_s": observed.p99_s,
        "foretold_completed_per_s": foretold.completed_per_s,
        "foretold_p99_s": foretold.p99_s,
        "completed_ratio": foretold.completed_per_s / observed.completed_per_s if found else None,
        "p99_ratio": None if late else float(foretold.p99_s or 0) / float(observed.p99_s or 1),
        INVALID: float(found is None),
    }


def _learnt(over: str, tell: Tell) -> pa.Table:
    with tempfile.TemporaryDirectory(prefix="gauntlet-prediction-") as folder:
        found = prediction.learn(over, _REPETITIONS, Path(folder), tell)
    return pa.table({"handshake_s": [found.handshake_s], "request_s": [found.request_s]})


def _costs(part: pa.Table) -> Costs:
    return Costs(**part.to_pylist()[0])


def _predicted(over: str, load: float, costs: Costs, engine: Engine) -> pa.Table:
    found = prediction.predict(over, load, costs, engine)
    return pa.table(
        {"completed_per_s": [found.completed_per_s], "p99_s": pa.array([found.p99_s], pa.float64())}
    )


def _figures(part: pa.Table) -> Figures:
    return Figures(**part.to_pylist()[0])


def _plan(quick: bool) -> Plan:
    return planned(
        conditions(quick), _REPETITIONS, learnt=list(prediction.LEARNT), **of_client(prediction.CLIENT)
    )


def _kpi(name: str, label: str, unit: str, factor: float, definition: str) -> Kpi:
    return Kpi(name, label, unit, factor, False, definition)


BENCH = Bench(
    name="attack-prediction",
    about="What a processor in virtual time foretells of Gauntlet's own server under load, and what came of "
    "it.",
    measures=(
        _kpi("completed_per_s", "Completed", "1/s", 1.0, "Sessions, the honest client's among them."),
        _kpi("p99_s", "Delay, 99th percentile", "ms", 1e3, "Of honest clients; none beyond their limit."),
        _kpi("foretold_completed_per_s", "Completed, foretold", "1/s", 1.0, "In virtual time."),
        _kpi("foretold_p99_s", "Delay, 99th percentile, foretold", "ms", 1e3, "In virtual time."),
        _kpi("completed_ratio", "Completed, foretold over found", "", 1.0, "1: foretold to the point."),
        _kpi("p99_ratio", "99th percentile, foretold over found", "", 1.0, "1: foretold to the point."),
        INVALID_RUN,
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=_ready,
    alone=True,
    labels=labels(_plan(quick=False)),
)
