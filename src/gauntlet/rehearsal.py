"""Before the first run: the engine says whether it can play what an experiment asks of it.

What it refuses is put into the words of the experiment: its keys, its protocols, its applications.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from gauntlet.engine.contract import Engine
from gauntlet.errors import UserError
from gauntlet.executor.plan import RunPlan
from gauntlet.experiment import RunSpec
from gauntlet.experiment.external import STACK, check_extras
from gauntlet.experiment.runspec import Factor

_LINK = frozenset({"seed", "limit_s", "timeline"})
"""Of a run what no engine refuses: its conditions were checked where the experiment was read."""

_RULE = re.compile(r'in-path node "(?P<node>[^"]*)", rule "(?P<rule>[^"]*)": ')
"""How the sentence of an engine begins that refuses a rule of an in-path node."""


def rehearse(
    planned: Sequence[tuple[RunSpec, RunPlan]], engine: Engine, source: str, *, programs: bool = True
) -> None:
    """Have the engine start what runs ask of it; `source` names their experiment in error sentences. Without
    `programs` those that carry flows are not started.

    Repetitions differ by what was drawn for them and not by what was asked: the first one stands for all.
    Each different set of flows is started once.

    Raises UserError for programs that need what is not installed and with the engine's reason for the first
    run that it cannot play, RunError when it plays nothing.
    """
    first: dict[tuple[tuple[str, Factor], ...], tuple[RunSpec, RunPlan]] = {}
    for spec, plan in planned:
        first.setdefault(_cell(spec), (spec, plan))
    different: dict[tuple[tuple[str, bytes], ...], tuple[RunSpec, RunPlan]] = {}
    for spec, plan in first.values():
        different.setdefault(_asked(plan), (spec, plan))
    asking = list(different.values())
    check_programs([spec for spec, _ in asking], source)
    refusals = engine.refusals([_rehearsed(plan, programs=programs) for _, plan in asking])
    for (spec, _), reason in zip(asking, refusals, strict=True):
        if reason is not None:
            raise UserError(f"{source}: {_refused(reason, spec)}.")


def _rehearsed(plan: RunPlan, *, programs: bool) -> dict[str, Any]:
    run = plan.run()
    flows = [flow for flow in run["flows"] if programs or flow["stack"] != STACK]
    return {**run, "flows": flows}


def check_programs(specs: Iterable[RunSpec], source: str) -> None:
    """See that the packages are installed that programs of `specs` need; nothing is played for it.

    Raises UserError with the command that installs what is missing.
    """
    for spec in specs:
        check_extras((flow.external for flow in spec.flows), f"{source}: {_what(spec)}")


def _cell(spec: RunSpec) -> tuple[tuple[str, Factor], ...]:
    return tuple((name, value) for name, value in spec.factors.items() if name != "repetition")


def _asked(plan: RunPlan) -> tuple[tuple[str, bytes], ...]:
    return tuple(sorted((name, text) for name, text in plan.parts.items() if name not in _LINK))


def _refused(reason: str, spec: RunSpec) -> str:
    """What is wrong and where: with a rule of a node, or with what flows are to carry over what."""
    rule = _RULE.match(reason)
    if rule is None:
        return f"{_what(spec)} cannot be played: {_worded(reason, spec)}"
    return f"[[in_path]] {rule['node']}, rule {rule['rule']!r}: {_worded(reason[rule.end() :], spec)}"


def _worded(reason: str, spec: RunSpec) -> str:
    """The guest's sentence, which has the keys of a plan, with those of an experiment."""
    own = reason.removeprefix("flow f0: ") if len(spec.flows) == 1 else reason
    plain = re.sub(r"`(?:app|stack)_params` of `[\w-]+`: | of `(?:app|stack)_params`", "", own)
    message = "size" if all(flow.app == "periodic" for flow in spec.flows) else "packet"
    keys = {"message_size": message, "peak_rate": "rate", "towards": "direction"}
    words = r"`(\w+?)(?:_(?:bytes|bps|segments|s))?`"
    return re.sub(words, lambda name: f"`{keys.get(name[1], name[1])}`", plain)


def _what(spec: RunSpec) -> str:
    apps = " and ".join(f"'{name}'" for name in dict.fromkeys(flow.app for flow in spec.flows))
    return f"'{spec.factors['protocol']}' with the application {apps}"
