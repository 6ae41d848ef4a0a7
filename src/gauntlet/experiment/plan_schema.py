"""The plan's schema on this side (docs/formats/plan.md). The guest checks the same on its own."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from gauntlet.errors import UserError
from gauntlet.experiment import plan_routes, player
from gauntlet.experiment.plan_routes import PlanRouteChange
from gauntlet.experiment.quantities import MAX_MEMORY_MIB, MIN_MEMORY_MIB
from gauntlet.experiment.strict import Location, Strict, sentence, unknown_key

Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]
NodeName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
LinkName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+>[A-Za-z0-9._-]+$")]

RATE_KEYS = frozenset({"rate_bps", "burst_bytes", "queue_limit_bytes", "queue"})
"""Keys of a timeline entry that tbf and what queues under it realise; all others need netem."""


class PlanNode(Strict):
    """A network namespace, or a bridge."""

    name: NodeName
    switch: bool = False


class PlanLink(Strict):
    """A link between two nodes."""

    a: NodeName
    b: NodeName
    mtu_bytes: Count = 1500


class PlanAddress(Strict):
    """An address of a node on its link to another."""

    node: NodeName
    link: NodeName
    address: str


class PlanRoute(Strict):
    """A static route by next hop or tunnel."""

    node: NodeName
    to: str
    via: str | None = None
    tunnel: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "PlanRoute":
        if (self.via is None) == (self.tunnel is None):
            raise ValueError(
                f"the route of '{self.node}' to {self.to} needs exactly one of 'via' and 'tunnel'."
            )
        return self


class PlanTunnel(Strict):
    """A GRE tunnel."""

    name: str
    a: NodeName
    b: NodeName
    a_outer: str
    b_outer: str
    a_inner: str
    b_inner: str
    mtu_bytes: Count = 1476


class PlanNetwork(Strict):
    """A preset's name, or a network of one's own."""

    preset: str | None = None
    nodes: list[PlanNode] = Field(default_factory=list)
    links: list[PlanLink] = Field(default_factory=list)
    addresses: list[PlanAddress] = Field(default_factory=list)
    routes: list[PlanRoute] = Field(default_factory=list)
    tunnels: list[PlanTunnel] = Field(default_factory=list)

    @model_validator(mode="after")
    def _either(self) -> "PlanNetwork":
        if (self.preset is None) != bool(self.nodes):
            raise ValueError(
                "the network needs either a preset or nodes of its own, not both and not neither."
            )
        return self


class PlanGilbertElliott(Strict):
    """Loss in bursts."""

    p: Probability
    r: Probability
    loss_bad: Probability
    loss_good: Probability


class PlanFifo(Strict):
    """First in, first out, so many packets."""

    kind: Literal["pfifo"]
    limit_packets: Count


class _PlanDelays(Strict):
    limit_packets: Count
    target_s: Positive
    ecn: bool


class PlanCodel(_PlanDelays):
    """CoDel (RFC 8289)."""

    kind: Literal["codel"]
    interval_s: Positive
    ce_threshold_s: Positive | None = None


class PlanFqCodel(_PlanDelays):
    """FQ-CoDel (RFC 8290)."""

    kind: Literal["fq_codel"]
    interval_s: Positive
    ce_threshold_s: Positive | None = None
    flows: Count
    quantum_bytes: Count


class PlanPie(_PlanDelays):
    """PIE (RFC 8033)."""

    kind: Literal["pie"]
    tupdate_s: Positive


class PlanFqPie(_PlanDelays):
    """PIE for each flow."""

    kind: Literal["fq_pie"]
    tupdate_s: Positive
    flows: Count
    quantum_bytes: Count


class PlanRed(Strict):
    """Random early detection."""

    kind: Literal["red"]
    limit_bytes: Count
    min_bytes: Count
    max_bytes: Count
    probability: Probability
    burst_packets: Count
    ecn: bool


class PlanSfq(Strict):
    """Stochastic fairness queueing."""

    kind: Literal["sfq"]
    limit_packets: Count
    quantum_bytes: Count


class PlanCake(Strict):
    """CAKE without its shaper."""

    kind: Literal["cake"]
    rtt_s: Positive
    target_s: Positive
    diffserv: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8"]
    memory_bytes: Count | None = None


PlanQueue = Annotated[
    PlanFifo | PlanCodel | PlanFqCodel | PlanPie | PlanFqPie | PlanRed | PlanSfq | PlanCake,
    Field(discriminator="kind"),
]


class PlanChange(Strict):
    """One timeline entry."""

    at_s: NotNegative
    link: LinkName
    rate_bps: Positive | None = None
    burst_bytes: Count = 1580
    queue_limit_bytes: Count = 512_000
    queue: PlanQueue | None = None
    delay_s: NotNegative = 0.0
    jitter_s: NotNegative = 0.0
    reorder: bool = False
    loss: Probability = 0.0
    gilbert_elliott: PlanGilbertElliott | None = None
    duplicate: Probability = 0.0
    corrupt: Probability = 0.0
    limit_packets: Count = 100_000
    up: bool = True

    @model_validator(mode="after")
    def _one_group(self) -> "PlanChange":
        changed = self.model_fields_set - {"at_s", "link"}
        if not changed:
            raise ValueError(
                f"the entry for '{self.link}' at {self.at_s:g} s changes nothing; name what changes."
            )
        if changed & RATE_KEYS and changed - RATE_KEYS:
            raise ValueError(
                f"the entry for '{self.link}' at {self.at_s:g} s has keys of a rate limit and of a delay; "
                "put the delay on the next hop."
            )
        return self


class PlanDrop(Strict):
    """A packet that vanishes by script: the n-th of its kind, of one flow, in front of one link direction."""

    flow: NodeName
    packet: Literal["syn", "syn-ack"]
    nth: Count
    link: LinkName


class PlanRule(Strict):
    """A rule of an in-path node. What its conditions and its action take the player knows, and says."""

    id: Annotated[str, Field(min_length=1)]
    match: dict[str, Any] = Field(default_factory=dict)
    do: dict[str, Any]

    @model_validator(mode="after")
    def _known(self) -> "PlanRule":
        rules = player.DESCRIPTION["rules"]
        action = self.do.get("action")
        for key in self.match:
            if key not in rules["match"]:
                raise ValueError(f"the rule '{self.id}': match: {unknown_key(key, rules['match'])}")
        if action not in rules["do"]:
            raise ValueError(
                f"the rule '{self.id}' has no action that is known; choose one of {', '.join(rules['do'])}."
            )
        for key in self.do:
            if key not in ("action", *rules["do"][action]):
                raise ValueError(f"the rule '{self.id}': do: {unknown_key(key, rules['do'][action])}")
        return self


class PlanInPath(Strict):
    """A node that stands in the link between two others."""

    node: NodeName
    between: Annotated[list[NodeName], Field(min_length=2, max_length=2)]
    rules: list[PlanRule] = Field(default_factory=list)


MOST_COST_NS = 60 * 10**9
"""Most that a piece of work may cost: a minute, as the guest has it."""
Cost = Annotated[int, Field(ge=0, le=MOST_COST_NS)]


class PlanProcessor(Strict):
    """What the servers in a node compute with, and what work costs on it."""

    node: NodeName
    handshake_ns: Cost = 0
    request_ns: Cost = 0
    packet_ns: Cost = 0

    @model_validator(mode="after")
    def _something(self) -> "PlanProcessor":
        if not (self.handshake_ns or self.request_ns or self.packet_ns):
            raise ValueError(
                f"the processor of node '{self.node}' does everything for nothing; give handshake_ns, "
                "request_ns or packet_ns, or leave it out."
            )
        return self


class PlanFlow(Strict):
    """Who sends what to whom."""

    id: NodeName
    stack: str
    stack_params: dict[str, Any] = Field(default_factory=dict)
    app: str
    app_params: dict[str, Any] = Field(default_factory=dict)
    from_: NodeName = Field(alias="from")
    to: NodeName
    start_s: NotNegative
    port: Annotated[int, Field(ge=1, le=65535)] | None = None


class PlanProgram(Strict):
    """A program of the user's own, with the environment it gets (`gauntlet exec`)."""

    id: NodeName
    node: NodeName
    argv: Annotated[list[str], Field(min_length=1)]
    working_directory: str = "/"
    environment: dict[str, str] = Field(default_factory=dict)
    start_s: NotNegative = 0.0
    wait: bool = True
    private_tmp: bool = False
    names: dict[str, NodeName] = Field(default_factory=dict)
    terminal: str | None = None


class PlanRecord(Strict):
    """What to keep."""

    messages: bool = True
    socket_interval_s: Annotated[float, Field(ge=1e-3, allow_inf_nan=False)] | None = None
    packets: Literal["none", "headers", "full"] = "headers"
    taps: list[LinkName] | None = None
    keys: bool = False
    qlog: bool = False


def _sorted(entries: list[PlanChange]) -> list[PlanChange]:
    for before, after in pairwise(entries):
        if after.at_s < before.at_s:
            raise ValueError(
                f"the entry at {after.at_s:g} s stands after one at {before.at_s:g} s; sort by at_s."
            )
    return entries


MOST_FLOWS = 20_000
"""Flows of one run: as many as have ports of their own (docs/formats/plan.md)."""


def _with_ports(flows: list[PlanFlow]) -> list[PlanFlow]:
    if len(flows) > MOST_FLOWS:
        raise ValueError(
            f"{len(flows)} flows; a run has at most {MOST_FLOWS}, for each has ports of its own."
        )
    return flows


class PlanRun(Strict):
    """One run."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    seed: Annotated[int, Field(ge=0, lt=2**53)]
    limit_s: Positive
    memory_mib: Annotated[int, Field(ge=MIN_MEMORY_MIB, le=MAX_MEMORY_MIB)] | None = None
    network: PlanNetwork
    timeline: Annotated[list[PlanChange], AfterValidator(_sorted)] = Field(default_factory=list)
    route_changes: Annotated[list[PlanRouteChange], AfterValidator(plan_routes.in_order)] = Field(
        default_factory=list
    )
    in_path: list[PlanInPath] = Field(default_factory=list)
    drops: list[PlanDrop] = Field(default_factory=list)
    processor: PlanProcessor | None = None
    offload: bool = False
    sysctls: dict[str, str] = Field(default_factory=dict)
    flows: Annotated[list[PlanFlow], AfterValidator(_with_ports)] = Field(default_factory=list)
    programs: list[PlanProgram] = Field(default_factory=list)
    record: PlanRecord = PlanRecord()

    @model_validator(mode="after")
    def _unique_ids(self) -> "PlanRun":
        for what, ids in (("flow", [f.id for f in self.flows]), ("program", [p.id for p in self.programs])):
            for name in ids:
                if ids.count(name) > 1:
                    raise ValueError(f"the {what} '{name}' stands twice; give each its own id.")
        return self

    @model_validator(mode="after")
    def _routes(self) -> "PlanRun":
        if self.network.preset is None:
            plan_routes.check(self.route_changes, self.network.nodes, self.network.addresses)
        return self


def _unique(runs: list[PlanRun]) -> list[PlanRun]:
    ids = [run.id for run in runs]
    for name in ids:
        if ids.count(name) > 1:
            raise ValueError(f"the run '{name}' stands twice; give each its own id.")
    return runs


class Plan(Strict):
    """A whole plan file."""

    format: Literal["gauntlet-plan"]
    version: Literal[1]
    runs: Annotated[list[PlanRun], AfterValidator(_unique)]


def check_plan(data: object, source: str = "plan") -> Plan:
    """Check a plan as parsed from JSON. Raises UserError with one sentence naming the source and the key."""
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{source}: {sentence(error, _path)}") from None


def read_plan(path: Path) -> Plan:
    """Read and check a plan file. Raises UserError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: the plan cannot be read ({error}).") from None
    return check_plan(data, str(path))


def _path(location: Location) -> str:
    """("runs", 0, "flows", 1, "to") is "runs[0].flows[1].to"."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")
