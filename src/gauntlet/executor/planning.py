"""From an experiment's runs to complete plans: made once, with what they have in common kept once."""

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.executor.attachments import Attached, attached
from gauntlet.executor.plan import RunPlan, canonical
from gauntlet.experiment import links
from gauntlet.experiment.external import STACK
from gauntlet.experiment.plans import plan_apart_from_link
from gauntlet.experiment.runspec import RunSpec


def plans(specs: Sequence[RunSpec]) -> list[RunPlan]:
    """The plan of each run, in order. Raises UserError for what cannot be read, RunError for its files."""
    planner = _Planner()
    # Runs that ride the same link follow each other, so that it is loaded once.
    order = sorted(range(len(specs)), key=lambda index: (specs[index].link_seed, specs[index].seed))
    made = {index: planner.plan(specs[index]) for index in order}
    return [made[index] for index in range(len(specs))]


class _Planner:
    """Makes plans whose equal parts are the same object, and the timeline of equal links once."""

    def __init__(self) -> None:
        self._texts: dict[bytes, bytes] = {}
        self._timelines: dict[str, bytes] = {}
        self._known: dict[bytes, Attached] = {}

    def plan(self, spec: RunSpec) -> RunPlan:
        run = plan_apart_from_link(spec)
        parts = {name: self._shared(canonical(value)) for name, value in run.items()}
        stacks = [flow["stack_params"] for flow in run["flows"] if flow["stack"] == STACK]
        files, libraries = self._attached(stacks) if stacks else ({}, {})
        return RunPlan({**parts, "timeline": self._timeline(spec)}, files, libraries)

    def _attached(self, stacks: Sequence[Mapping[str, Any]]) -> Attached:
        asked = canonical([{**stack, "parameters": None} for stack in stacks])
        if asked not in self._known:
            self._known[asked] = attached(stacks)
        return self._known[asked]

    def _timeline(self, spec: RunSpec) -> bytes:
        link = repr((spec.scenario, spec.link, spec.link_seed, spec.start_s, spec.limit_s))
        known = self._timelines.get(link)
        if known is None:
            known = self._timelines[link] = self._shared(canonical(links.timeline(spec)))
        return known

    def _shared(self, text: bytes) -> bytes:
        return self._texts.setdefault(text, text)
