"""RunSpec: everything that one run is, before it becomes a plan. Plain data that survives JSON."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Factor = str | float | int


@dataclass(frozen=True)
class ScenarioRef:
    """Which scenario a run rides: name and parameters as written, bearer; `path` where the name is a file."""

    name: str
    params: Mapping[str, Any]
    bearer: str | None = None
    path: str | None = None


@dataclass(frozen=True)
class FlowSpec:
    """One flow in base units; `protocol` is a key of protocols.PROTOCOLS, `rate_bps` None means greedy.

    For an on-off source `rate_bps` is that of its on periods; these last `mean_on_s` and the others
    `mean_off_s` on average.
    """

    protocol: str
    app: str
    direction: str
    tunnel: str
    start_s: float
    packet_bytes: int
    rate_bps: int | None = None
    duration_s: float | None = None
    size_bytes: int | None = None
    pages: int | None = None
    page: str | None = None
    objects: Sequence[Mapping[str, Any]] = dataclasses.field(default_factory=list)
    """The files of a page, as the plan has them; the sum of their sizes is `size_bytes`."""
    http: str | None = None
    connections: int | None = None
    """At a time, of HTTP/1.1; None: as many as a browser keeps."""
    mean_on_s: float | None = None
    mean_off_s: float | None = None
    interval_s: float | None = None
    """Of a source of single messages of `size_bytes`; it sends `count`, or for `duration_s`."""
    count: int | None = None
    kind: str | None = None
    """Of safety messages: position-report or movement-authority."""
    bound_s: float | None = None
    """Of safety messages: the age from which on one is late."""
    freshness: bool | None = None
    """Of safety messages: whether their receiver checks numbers, age and silence; None: yes."""
    codec: str | None = None
    """Of a call over RTP; None: its packets have no header of RTP."""
    frame_rate_hz: float | None = None
    """Of video; None: as usual."""
    gop_frames: int | None = None
    """Of video: frames from one I frame to the next; None: as usual."""
    playout_s: float | None = None
    """Of video: how long after its capture a frame is shown; None: as usual."""
    warm_up_s: float | None = None
    """Of safety messages: so long before its start a session without messages is opened, which the flow's own
    resumes; None: there is none."""
    reopen_after_s: float | None = None
    """Of safety messages: how long the sender of a session that broke waits before it opens the next one;
    None: there is one session."""
    reopen_most: int | None = None
    """Of safety messages: so many further sessions at most; None: as many as usual."""
    session: int | None = None
    """Its place, from 0, among sessions of one section that are alike; None: there is one."""
    threat: Mapping[str, Any] | None = None
    """Of safety messages: what an attacker with the sender's keys does to one, as the plan has it
    (threats.py)."""
    connection: str | None = None
    """kept: all messages over one session; fresh: each over its own."""
    options: Mapping[str, int | bool | str] = dataclasses.field(default_factory=dict)
    """Parameters of the stack beyond the protocol's own, by their names in the plan."""
    external: Mapping[str, Any] | None = None
    """`stack_params` of programs that carry the flow (external.py); None: the protocol's own stack does."""
    name: str | None = None
    """What reports call it; None: its application and direction."""
    judge: Mapping[str, Any] | None = None
    """What the report holds it against (judge.py), in base units; None: nothing."""
    background: bool | None = None
    """Whether nothing is answered about it; None: no."""
    sender: str | None = None
    """In a network of one's own: the node from which it goes; None: as direction and tunnel say."""
    receiver: str | None = None
    """And the one to which it goes."""


@dataclass(frozen=True)
class LinkConditions:
    """What is added to the scenario's own link, in base units (see schema.LinkSection)."""

    network: str
    channel_delay_s: float | None = None
    loss: float = 0.0
    loss_direction: str = "both"
    burst_loss: Mapping[str, float] | None = None
    jitter_s: float = 0.0
    reorder: bool = False
    duplicate: float = 0.0
    corrupt: float = 0.0
    queue_limit_bytes: int | None = None
    queue: Mapping[str, Any] | None = None
    """What queues at the bottleneck, as `QueueSection.settled` has it; None: a queue of bytes."""
    bucket_bytes: int | None = None
    """Of the bottleneck's shaper; None: the plan's own."""
    offload: str = "off"
    """Whether the hosts' interfaces cut segments and merge packets: on or off."""
    drop: str = "none"
    """Packets that vanish by script (drops.py)."""
    threat: str = "none"
    """What happens to a message (threats.py)."""
    second_rate_bps: int | None = None
    second_delay_s: float | None = None
    second_loss: float | None = None
    """Of the second line of a network that has one; None: as on the first."""
    own: Mapping[str, Any] | None = None
    """A network of one's own: what a plan has of it, and its links (`OwnNetwork.to_json`); None: `network` is
    a preset."""
    map: Mapping[str, Any] | None = None
    """The map from which it was taken, to draw (`gauntlet.geography.told`)."""


def without_later_keys(link: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of a link as a mapping, without those that came later and say nothing here."""
    usual = {
        "queue": None,
        "own": None,
        "map": None,
        "bucket_bytes": None,
        "offload": "off",
        "threat": "none",
    }
    return {key: value for key, value in link.items() if key not in usual or value != usual[key]}


@dataclass(frozen=True)
class RunSpec:
    """One run of an experiment.

    `factors` hold what the run is a point of: protocol, each axis of the matrix (base units, the unit in the
    name), repetition from 1. `labels` say the same for people. `seed` goes to the guest, `link_seed` chose
    the stretch. `start_s` and `duration_s` are the stretch of the scenario; the run may last `limit_s` at
    most.
    """

    id: str
    factors: dict[str, Factor]
    labels: dict[str, str]
    seed: int
    link_seed: int
    scenario: ScenarioRef
    start_s: float
    duration_s: float
    limit_s: float
    link: LinkConditions
    flows: tuple[FlowSpec, ...]
    record: dict[str, Any]
    sysctls: dict[str, str]
    in_path: tuple[Mapping[str, Any], ...] = ()
    """Nodes that stand in links, as the plan has them (in_path.py)."""
    processor: Mapping[str, Any] | None = None
    """What the server computes with, as the plan has it (server.py); None: computing costs nothing."""
    memory_mib: int | None = None
    """Of the guest; None: as usual."""

    @property
    def scenarios(self) -> list[ScenarioRef]:
        """What it rides, and what links of a network of one's own follow."""
        followed = [] if self.link.own is None else self.link.own.get("followed", [])
        return [self.scenario, *(ScenarioRef(**link["scenario"]) for link in followed)]

    def to_json(self) -> dict[str, Any]:
        """The same as JSON-serialisable data."""
        data = dataclasses.asdict(self)
        # Most runs have none of these, and are written as they were before there were any.
        data["link"] = without_later_keys(data["link"])
        of_sessions = ("warm_up_s", "reopen_after_s", "reopen_most", "session")
        later = (
            "kind",
            "bound_s",
            "freshness",
            "codec",
            "frame_rate_hz",
            "gop_frames",
            "playout_s",
            *of_sessions,
            "threat",
            "judge",
            "background",
            "sender",
            "receiver",
        )
        data["flows"] = [
            {key: value for key, value in flow.items() if key not in later or value is not None}
            for flow in data["flows"]
        ]
        unused = {key for key in ("in_path", "processor", "memory_mib") if not data[key]}
        return {key: value for key, value in data.items() if key not in unused}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "RunSpec":
        """Read what `to_json` gave."""
        inner = {
            "scenario": ScenarioRef(**data["scenario"]),
            "link": LinkConditions(**data["link"]),
            "flows": tuple(FlowSpec(**flow) for flow in data["flows"]),
            "in_path": tuple(data.get("in_path", ())),
        }
        return RunSpec(**{**data, **inner})
