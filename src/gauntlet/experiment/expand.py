"""Multiply an experiment out into runs: stable order, stable ids, seeds that protocols share."""

import dataclasses
import random
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gauntlet.errors import UserError
from gauntlet.experiment import (
    drops,
    flows,
    in_path,
    links,
    networks,
    own_links,
    path_managers,
    protocols,
    seeds,
    server,
    stretches,
    threats,
    workloads,
)
from gauntlet.experiment.load import Experiment, Point
from gauntlet.experiment.queues import QueueSection
from gauntlet.experiment.runspec import Factor, FlowSpec, LinkConditions, RunSpec, ScenarioRef
from gauntlet.experiment.schema import Condition, ExperimentSection
from gauntlet.experiment.sysctls import STOCK_SYSCTLS

if TYPE_CHECKING:
    from gauntlet.scenario import Scenario

LONGEST_ID = 200
"""Letters of a run's id; it names a folder, and file systems allow 255 bytes."""

_ID_NAMES = {"channel_delay": "delay"}


def expand(experiment: Experiment) -> list[RunSpec]:
    """Make every run of an experiment, ordered by protocol, then axes as in the file, then repetition.

    Scenarios are loaded and stretches chosen, so a wrong scenario, parameter or stretch is found here, before
    anything runs. Raises UserError naming the file.
    """
    return list(one_by_one(experiment))


def one_by_one(experiment: Experiment) -> Iterator[RunSpec]:
    """The runs that `expand` makes, for whoever looks at one after the other and keeps none. Raises as it, at
    the run at which it is found."""
    try:
        yield from _runs(experiment)
    except UserError as error:
        raise UserError(f"{experiment.source}: {error}") from None


def empty_run(condition: Condition, folder: Path, *, seed: int, limit_s: float) -> RunSpec:
    """One run over a link with nothing sent, for programs of the user. Raises UserError."""
    ride = _Ride.of(condition, folder, seed)
    link_seed = seeds.link_seed(seed, 1)
    drawn = ride.drawn(link_seed)
    start_s, duration_s = stretches.stretch(ride.asked, ride.scenario, link_seed, limit_s)
    return RunSpec(
        id="exec",
        factors={},
        labels={},
        seed=seeds.run_seed(seed, 1, ride.settled),
        link_seed=link_seed,
        scenario=drawn.ref,
        start_s=start_s,
        duration_s=duration_s,
        limit_s=limit_s,
        link=drawn.link,
        flows=(),
        record={"messages": False, "socket_interval_s": None, "packets": "none", "taps": None},
        sysctls={**STOCK_SYSCTLS, **condition.sysctl},
    )


def _runs(experiment: Experiment) -> Iterator[RunSpec]:
    prepared = [
        (point, _Ride.of(point.condition, experiment.folder, experiment.about.seed, point.varied_links))
        for point in experiment.points
    ]
    record = {
        "messages": experiment.record.messages,
        "socket_interval_s": experiment.record.sockets,
        "packets": experiment.record.packets,
        "taps": None,
        **({"keys": True} if experiment.record.keys else {}),
        **({"qlog": True} if experiment.record.qlog else {}),
    }
    for entry in experiment.protocols or (None,):
        for point, ride in prepared:
            chosen = flows.flows(
                point.condition.flow if ride.own is None else ride.own.flows,
                entry,
                ride.max_rate_bps,
                experiment.known,
                experiment.folder,
                round_trip_s=ride.round_trip_s,
            )
            drops.check(ride.link, chosen)
            if ride.own is not None:
                own_links.refuse_nodes(experiment.in_path, experiment.threats)
            nodes = in_path.planned(experiment.in_path, ride.link.network, chosen)
            processor = server.planned(point.condition.server, ride.link.network, chosen)
            for index, flow in enumerate(chosen):
                networks.endpoints(ride.link.network, flow, index)
            path_managers.check(ride.link.network, chosen, experiment.known)
            limit_s = _limit_s(experiment.about, chosen, ride)
            for repetition in range(1, experiment.about.repetitions + 1):
                yield _run(
                    experiment,
                    point=point,
                    ride=ride,
                    sent=chosen,
                    entry=entry,
                    limit_s=limit_s,
                    repetition=repetition,
                    record=record,
                    nodes=nodes,
                    processor=processor,
                )


@dataclasses.dataclass(frozen=True, slots=True)
class _Repetition:
    """What one repetition of a condition draws, whatever is sent."""

    ride: "_Ride"
    seed: int
    link_seed: int
    start_s: float
    duration_s: float


@dataclasses.dataclass(frozen=True)
class _Ride:
    """The scenario of one condition, and what follows from it for every repetition."""

    ref: ScenarioRef
    asked: stretches.Asked
    scenario: "Scenario"
    link: LinkConditions
    delay_half_width_s: float
    """Half the width of the range around the channel's delay from which each repetition draws its own."""
    sysctls: dict[str, str]
    own: own_links.OwnLinks | None = None
    """The network of one's own in place of a line; `scenario` is then what one of its links follows, or
    constant and like its first way."""

    @staticmethod
    def of(
        condition: Condition, folder: Path, seed: int, varied: Mapping[str, str] = MappingProxyType({})
    ) -> "_Ride":
        own = own_links.of(condition, folder, varied)
        ref = _scenario_ref(condition, folder) if own is None else own.scenario()
        section = condition.scenario if own is None or own.followed is None else own.followed.section
        stretches.refuse_bare_numbers(section, ref, seed)
        # Of this one only what no seed changes is used: its length and its highest rate.
        scenario = links.scenario(ref, seed)
        link = _link(condition, scenario) if own is None else own.conditions(condition)
        half_width_s = condition.link.channel_delay[1] if condition.link.channel_delay else 0.0
        sysctls = {**STOCK_SYSCTLS, **condition.sysctl}
        asked = stretches.Asked(section.name, section.chunk, section.start)
        ride = _Ride(ref, asked, scenario, link, half_width_s, sysctls, own)
        links.check(ref, scenario, ride._shifted(-half_width_s).link)
        return ride

    def repeated(
        self, condition: Condition, about: ExperimentSection, repetition: int, limit_s: float
    ) -> _Repetition:
        """A repetition of the experiment; every protocol meets the same one."""
        place = (repetition, limit_s)
        if place not in self._repeated:
            seed = about.seed
            link_seed = seeds.link_seed(seed, repetition)
            part = (0, 1)
            if condition.scenario.stratified:
                from gauntlet.scenario import stratum

                part = stratum(seed, repetition)
            found = stretches.stretch(self.asked, self.scenario, link_seed, limit_s, part)
            drawn, run_seed = self.drawn(link_seed), seeds.run_seed(seed, repetition, self.settled)
            self._repeated[place] = _Repetition(drawn, run_seed, link_seed, *found)
        return self._repeated[place]

    @cached_property
    def _repeated(self) -> dict[tuple[int, float], _Repetition]:
        return {}

    def drawn(self, link_seed: int) -> "_Ride":
        """The same with the delay of one repetition, which is that of every protocol in it."""
        if self.delay_half_width_s == 0:
            return self
        # Python's generator and not seeds.derive, which would change the delays of all results that exist.
        # What it draws from a text is the same on every machine (random.seed, version 2: SHA-512).
        place = random.Random(f"channel delay {link_seed}").uniform(-1.0, 1.0)
        return self._shifted(place * self.delay_half_width_s)

    def _shifted(self, by_s: float) -> "_Ride":
        """The same with another delay of the channel; a constant link has it among its parameters."""
        if self.link.channel_delay_s is None:
            own_s = self.ref.params.get("delay")
            if by_s == 0 or own_s is None:
                return self
            params = {**self.ref.params, "delay": round(own_s + by_s, links.DELAY_DIGITS)}
            return dataclasses.replace(self, ref=dataclasses.replace(self.ref, params=params))
        delay_s = round(self.link.channel_delay_s + by_s, links.DELAY_DIGITS)
        return dataclasses.replace(self, link=dataclasses.replace(self.link, channel_delay_s=delay_s))

    def max_rate_bps(self, direction: str) -> float:
        """What "max" means for a flow of this direction, in bit/s; in a network of one's own between these
        ends, `sender>receiver`.
        """
        if self.own is not None:
            return self.own.rate_bps(direction)
        return links.max_rate_bps(self.ref, self.scenario, direction)

    @cached_property
    def round_trip_s(self) -> float:
        """The longest round trip without queues that any repetition can meet."""
        if self.own is not None and self.own.followed is not None:
            return self.own.round_trip_s
        longest = self._shifted(self.delay_half_width_s)
        spread_s = 2 * self.link.jitter_s
        return spread_s + links.round_trip_s(longest.ref, links.scenario(longest.ref, 0), longest.link)

    @cached_property
    def settled(self) -> dict[str, Any]:
        """What the run seed depends on: the link's condition, wherever the trace file lies."""
        spread = {"delay_half_width_s": self.delay_half_width_s} if self.delay_half_width_s else {}
        link = {**dataclasses.asdict(self.link), **spread}
        # Whether packets vanish by script or not, the others meet the same fate; so they do whatever the
        # bucket, what queues before it and the hosts' interfaces are like.
        for key in ("drop", "queue", "bucket_bytes", "offload", "threat", "map"):
            del link[key]
        if self.link.own is not None and "followed" in self.link.own:
            link["own"] = {**link["own"], "followed": [_placeless(it) for it in link["own"]["followed"]]}
        # What a network cannot have changes no seed.
        link = {
            key: value
            for key, value in link.items()
            if value is not None or not (key.startswith("second_") or key == "own")
        }
        return {"name": self.ref.name, "params": self.ref.params, "link": link}


def _placeless(followed: Mapping[str, Any]) -> dict[str, Any]:
    """What a link follows, wherever the trace file lies."""
    return {**followed, "scenario": {**followed["scenario"], "path": None}}


def _scenario_ref(condition: Condition, folder: Path) -> ScenarioRef:
    section = condition.scenario
    found = stretches.referred(section, _params(condition), folder)
    if section.stratified and section.chunk is None:
        raise UserError("[scenario]: 'stratified' is about where a chunk begins; add chunk, its length.")
    return found


def _params(condition: Condition) -> dict[str, Any]:
    """Parameters of the scenario; a constant link has no access network: the channel's delay is its own."""
    params, delay = condition.scenario.params, condition.link.channel_delay
    if condition.scenario.name != "constant" or delay is None:
        return params
    if "delay" in params:
        raise UserError(
            "[scenario] delay: there is a channel_delay too; keep one of them, they mean the same here."
        )
    return {**params, "delay": delay[0]}


def _link(condition: Condition, scenario: "Scenario") -> LinkConditions:
    section = condition.link
    return LinkConditions(
        network=section.network or ("rail-d34" if scenario.line is not None else "wire"),
        channel_delay_s=section.channel_delay[0]
        if section.channel_delay and scenario.kind != "constant"
        else None,
        loss=section.loss,
        loss_direction=section.loss_direction,
        burst_loss=section.burst_loss.model_dump() if section.burst_loss else None,
        jitter_s=section.jitter,
        reorder=section.reorder,
        duplicate=section.duplicate,
        corrupt=section.corrupt,
        queue_limit_bytes=section.queue if isinstance(section.queue, int) else None,
        queue=section.queue.settled() if isinstance(section.queue, QueueSection) else None,
        bucket_bytes=section.bucket,
        offload=section.offload,
        drop=section.drop,
        threat=section.threat,
        second_rate_bps=section.second_rate,
        second_delay_s=section.second_delay,
        second_loss=section.second_loss,
    )


def _limit_s(about: ExperimentSection, sent: tuple[FlowSpec, ...], ride: _Ride) -> float:
    """When a run ends at the latest, whatever a repetition draws."""
    latest_s = max(flows.latest_s(flow) for flow in sent)
    limit_s = about.limit or max(
        flows.latest_s(flow) + workloads.longest_s(flow, ride.round_trip_s) for flow in sent
    )
    if limit_s <= latest_s:
        raise UserError(
            f"[experiment] limit: {limit_s:g} s are over before a flow starts, at {latest_s:g} s; give a "
            "longer limit or an earlier start."
        )
    return limit_s


def _run(
    experiment: Experiment,
    *,
    point: Point,
    ride: _Ride,
    sent: tuple[FlowSpec, ...],
    entry: str | None,
    limit_s: float,
    repetition: int,
    record: dict[str, Any],
    nodes: tuple[dict[str, Any], ...],
    processor: Mapping[str, Any] | None,
) -> RunSpec:
    key = entry or "+".join(dict.fromkeys(flow.protocol for flow in sent))
    drawn = ride.repeated(point.condition, experiment.about, repetition, limit_s)
    sent = flows.begun(sent, drawn.link_seed)
    sent, threat = threats.threatened(experiment.threats, drawn.ride.link, sent, nodes, drawn.link_seed)
    factors: dict[str, Factor] = {"protocol": key}
    labels = {"protocol": protocols.label(key, experiment.known)}
    slugs = [key]
    for axis, value in point.chosen:
        factors[axis.factor] = value.factor
        labels[axis.factor] = value.label
        slugs.append(f"{_ID_NAMES.get(axis.key, axis.key).replace('_', '-')}-{value.slug}")
    factors["repetition"] = repetition
    labels["repetition"] = str(repetition)
    return RunSpec(
        id=_id([*slugs, f"rep-{repetition:03d}"]),
        factors=factors,
        labels=labels,
        seed=drawn.seed,
        link_seed=drawn.link_seed,
        scenario=drawn.ride.ref,
        start_s=drawn.start_s,
        duration_s=drawn.duration_s,
        limit_s=limit_s,
        link=drawn.ride.link,
        flows=sent,
        record=record,
        sysctls=ride.sysctls,
        in_path=(*nodes, *threat),
        processor=processor,
        memory_mib=experiment.about.memory,
    )


def _id(parts: list[str]) -> str:
    name = "_".join(parts).replace("+", "-with-")
    if len(name) > LONGEST_ID:
        raise UserError(
            f"[matrix]: the run's id {name} is longer than {LONGEST_ID} letters; vary fewer or shorter keys."
        )
    return name
