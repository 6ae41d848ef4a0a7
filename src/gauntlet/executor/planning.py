"""From an experiment's runs to complete plans: made once, with what they have in common kept once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gauntlet.executor.attachments import Attached, attached
from gauntlet.executor.plan import RunPlan, canonical
from gauntlet.experiment import timelines
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


def planned_one_by_one(specs: Iterable[RunSpec]) -> Iterator[tuple[RunSpec, RunPlan]]:
    """Each run with its plan, made when it is asked for: nothing of a run stays but its link's timeline,
    which others have too. Raises as `plans`, at the run at which it is found."""
    planner = _Planner()
    for spec in specs:
        yield spec, planner.plan(spec)
        planner.forget()


class _Planner:
    """Makes plans whose equal parts are the same object, and the timeline of equal links once."""

    def __init__(self) -> None:
        self._texts: dict[bytes, bytes] = {}
        self._timelines: dict[str, bytes] = {}
        self._links: dict[tuple[int, int, int, float, float], tuple[RunSpec, bytes]] = {}
        self._known: dict[bytes, Attached] = {}
        self._common: dict[
            tuple[int, int, int, int, float],
            tuple[RunSpec, dict[str, bytes], Mapping[str, str], Mapping[str, str]],
        ] = {}

    def plan(self, spec: RunSpec) -> RunPlan:
        # Repetitions share these objects, and with them all of the plan but its seed and timeline.
        common = (id(spec.flows), id(spec.link), id(spec.sysctls), id(spec.record), spec.limit_s)
        if common not in self._common:
            run = plan_apart_from_link(spec)
            parts = {name: self._shared(canonical(value)) for name, value in run.items()}
            stacks = [flow["stack_params"] for flow in run["flows"] if flow["stack"] == STACK]
            # The spec is kept too, so that nothing else gets an id of its parts.
            self._common[common] = (spec, parts, *(self._attached(stacks) if stacks else ({}, {})))
        _, parts, files, libraries = self._common[common]
        own = {"seed": self._shared(canonical(spec.seed)), "timeline": self._timeline(spec)}
        return RunPlan({**parts, **own}, files, libraries)

    def forget(self) -> None:
        """Let go of what belongs to single runs."""
        self._texts.clear()
        self._links.clear()
        self._common.clear()

    def _attached(self, stacks: Sequence[Mapping[str, Any]]) -> Attached:
        asked = canonical([{**stack, "parameters": None} for stack in stacks])
        if asked not in self._known:
            self._known[asked] = attached(stacks)
        return self._known[asked]

    def _timeline(self, spec: RunSpec) -> bytes:
        drawn = (spec.link_seed, spec.start_s, spec.limit_s)
        same = (id(spec.scenario), id(spec.link), *drawn)
        if same not in self._links:
            link = repr((spec.scenario, spec.link, *drawn))
            if link not in self._timelines:
                self._timelines[link] = self._shared(canonical(timelines.timeline(spec)))
            self._links[same] = (spec, self._timelines[link])
        return self._links[same][1]

    def _shared(self, text: bytes) -> bytes:
        return self._texts.setdefault(text, text)
