"""The experiment file's sections as models. docs/formats/experiment.md is the reference for users.

Values that an axis of [matrix] may replace (scenario, link, flows, sysctls) are checked once per condition;
the rest is checked once.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from gauntlet.errors import UserError
from gauntlet.experiment import protocols, workloads
from gauntlet.experiment.external import StackSection
from gauntlet.experiment.gilbert_elliott import GilbertElliott
from gauntlet.experiment.in_path import InPathSection
from gauntlet.experiment.judge import Judge, answered
from gauntlet.experiment.known import Known
from gauntlet.experiment.latency_load import LoadSection
from gauntlet.experiment.network_section import NetworkSection
from gauntlet.experiment.pages import MOST_CONNECTIONS, Http
from gauntlet.experiment.quantities import (
    WRITTEN_TIME,
    Duration,
    Memory,
    Rate,
    RateOrMax,
    Share,
    Size,
    SpreadTime,
    Time,
)
from gauntlet.experiment.queues import Queue
from gauntlet.experiment.scenario_section import ScenarioSection
from gauntlet.experiment.server import ServerSection
from gauntlet.experiment.services import Service
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.threats import NONE, ThreatSection

DEFAULT_PACKET_BYTES = 1448
"""Application bytes of a packet: what fits 1,500 bytes after IPv4 (20), TCP (20) and its time stamps (12)."""
MAX_REPETITIONS = 10_000
SHORTEST_INTERVAL_S = 1e-3
"""The guest refuses shorter ones."""
MOST_SESSIONS = 1000
MOST_INITIAL_WINDOW = 65_535 // 536
"""Segments of TCP's default size (RFC 9293, section 3.7.1) in the longest window that a receiver can offer at
first (RFC 7323, section 2.2: the window of a SYN is not scaled). The guest refuses more."""
MOST_FURTHER_SUBFLOWS = 8
"""Linux has a path manager of MPTCP open so many (MPTCP_PM_ADDR_MAX, net/mptcp/protocol.h)."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def _slug(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a usable name; write small letters, digits, dots and dashes.")
    return name


def _sysctl_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r} is not a kernel setting's value; write a whole number or text.")
    return str(value)


def _known_protocol(key: str, info: ValidationInfo) -> str:
    """`info.context` holds the experiment's own protocols beside the others."""
    known = info.context or Known()
    try:
        return protocols.protocol(key, known=known.protocols).key
    except UserError as error:
        raise ValueError(str(error)) from None


def _known_kpi(name: str, info: ValidationInfo) -> str:
    if name:
        answered({"kpi": name}, info)
    return name


def _known_app(name: str) -> str:
    try:
        return workloads.app(name).name
    except UserError as error:
        raise ValueError(str(error)) from None


DSCPS = {
    "be": 0, "le": 1, "ef": 46, "va": 44,
    **{f"cs{n}": 8 * n for n in range(8)},
    **{f"af{n}{m}": 8 * n + 2 * m for n in range(1, 5) for m in range(1, 4)},
}  # fmt: skip
"""Classes of service by the names of RFC 2474, 2597, 3246, 5865 and 8622."""


def _dscp(value: object) -> int:
    number = DSCPS.get(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 64:
        raise ValueError(f"{value!r} is no DSCP; write 0 to 63 or one of {', '.join(DSCPS)}.")
    return number


def _off_or_interval(value: object) -> object:
    return None if value is False else value


def _coarse_enough(interval_s: float | None) -> float | None:
    if interval_s is not None and interval_s < SHORTEST_INTERVAL_S:
        raise ValueError(
            f"the interval of {interval_s:g} s is too short; give 1ms or more, or false for none."
        )
    return interval_s


Name = Annotated[str, AfterValidator(_slug), Field(json_schema_extra={"pattern": f"^{_NAME.pattern}$"})]
"""What results folders and flows are called."""


class ExperimentSection(Strict):
    """[experiment]: what it is called and how often it is repeated."""

    name: Name
    title: str = ""
    question: str = ""
    """What the report is to answer, in the user's words."""
    answer_by: Annotated[str, AfterValidator(_known_kpi)] = ""
    """The KPI by which flows without a `judge` of their own are judged; empty: that of their application."""
    matters: Share = 0.0
    """Two protocols that differ by less, as a share of the better mean, are called equal."""
    seed: int = Field(default=1, ge=0, lt=2**53)
    repetitions: int = Field(default=10, ge=1, le=MAX_REPETITIONS)
    limit: Duration | None = None
    """Virtual seconds after which a run counts as failed; None: worked out from what is sent."""
    memory: Memory | None = None
    """MiB of each guest; None: as usual."""


class LinkSection(Strict):
    """[link]: conditions added to the scenario's own; every key can be an axis of [matrix] too."""

    channel_delay: SpreadTime | None = None
    """One way, access and internet together, middle and half width of the range from which each repetition
    draws; None: the scenario's own delay alone."""
    loss: Share = 0.0
    loss_direction: Literal["both", "up", "down"] = "both"
    burst_loss: GilbertElliott | None = None
    jitter: Time = 0.0
    """Half the width of a uniform variation of the access delay, per packet."""
    reorder: bool = False
    duplicate: Share = 0.0
    corrupt: Share = 0.0
    queue: Queue | None = None
    """What queues in front of the bottleneck, and how much; None: as the scenario says."""
    bucket: Size | None = None
    """Bytes of the bottleneck's token bucket; None: those of D3.4's script."""
    offload: Literal["off", "on"] = "off"
    """Whether the interfaces of the hosts cut segments and merge packets."""
    drop: Literal["none", "first-syn", "first-syn-ack", "both"] = "none"
    """Packets of each session's opening that vanish in the network, whatever else is lost."""
    threat: str = NONE
    """Which [[threat]] happens; none: none."""
    network: Literal["rail-d34", "rail-d34-dual", "wire", "wire-dual"] | None = None
    """None: rail-d34 for railway lines, wire for the rest."""
    second_rate: Rate | None = None
    second_delay: Time | None = None
    second_loss: Share | None = None
    """Of the second line of wire-dual; None: as on the first."""


SafetyCode = Literal[
    "md4-half", "md4-full", "blake2b-half", "blake2b-full", "siphash-half", "siphash-full", "none"
]
"""RaSTA's, as the player names them."""


class FlowSection(Strict):
    """[workload] or one [[flow]]: who sends what."""

    name: Name | None = None
    """What reports call it; None: its application and direction."""
    judge: Judge | None = None
    """What is asked of it, which the report answers first."""
    background: bool | None = None
    """Whether it is there for the others' sake and nothing is answered about it; None: no."""
    app: Annotated[str, AfterValidator(_known_app)]
    rate: RateOrMax | None = None
    duration: Duration | None = None
    mean_on: Duration | None = None
    mean_off: Duration | None = None
    size: Size | None = None
    interval: Duration | None = None
    count: int | None = Field(default=None, ge=1)
    kind: Literal["position-report", "movement-authority"] | None = None
    """Of safety: what its messages are."""
    bound: Duration | None = None
    """Of safety: the age from which on a message is late."""
    freshness: bool | None = None
    """Of safety: whether the receiver checks numbers, age and silence; None: yes."""
    warm_up: Duration | None = None
    """Of safety: so long before its start a session without messages is opened, whose ticket the flow's own
    begins with; None: there is none."""
    reopen_after: Duration | None = None
    """Of safety: how long the sender of a session that broke waits before it opens the next one; None: a flow
    has one session."""
    reopen_most: int | None = Field(default=None, ge=1, le=1000)
    """Of safety with `reopen_after`: so many further sessions at most; None: three."""
    sessions: int | None = Field(default=None, ge=2, le=MOST_SESSIONS)
    """Of safety and periodic: so many alike side by side, each beginning at a drawn place of the interval;
    None: one."""
    codec: Literal["g711", "opus"] | None = None
    """Of voip: what makes the packets of RTP; None: speech of G.711 without RTP's header."""
    frame_rate: float | None = Field(default=None, ge=0.1, le=1000)
    """Of video, frames a second; None: 25."""
    gop: int | None = Field(default=None, ge=1)
    """Of video: frames from one I frame to the next; None: 25."""
    playout: Duration | None = None
    """Of video: how long after its capture a frame is shown; None: 160 ms."""
    connection: Literal["kept", "fresh"] | None = None
    """Of periodic messages; None: kept."""
    pages: int | None = Field(default=None, ge=1, le=10_000)
    page: str | None = None
    """Of web: drawn, from the distributions of the 3GPP model, or fixed, one page of 79,453 and 226 bytes. Of
    page: a generated page, or a file list (pages.py)."""
    http: Http | None = None
    connections: int | None = Field(default=None, ge=1, le=MOST_CONNECTIONS)
    """Of http = "1.1": how many at a time; None: as many as a browser keeps."""
    packet: Size = DEFAULT_PACKET_BYTES
    protocol: Annotated[str, AfterValidator(_known_protocol)] | None = None
    """Fixed protocol of this flow; None: as [matrix] protocols says."""
    from_: str | None = Field(default=None, alias="from")
    """In a network of one's own: the node that sends."""
    to: str | None = None
    """In a network of one's own: the node that receives."""
    direction: Literal["up", "down"] | None = None
    """up: train to trackside; None: as the application usually goes."""
    tunnel: Literal["b", "c"] = "b"
    start: Time = 1.0
    """Seconds after the stretch begins; the first second lets the network settle."""
    send_buffer: Size | None = None
    receive_buffer: Size | None = None
    nodelay: bool | None = None
    streams: int | None = Field(default=None, ge=1, le=65535)
    homes: int | None = Field(default=None, ge=1, le=8)
    dscp: Annotated[int, BeforeValidator(_dscp), WithJsonSchema({"enum": [*DSCPS, *range(64)]})] | None = None
    """What both ends write into their packets (RFC 2474): a number, or its name; None: 0."""
    fast_open: bool | None = None
    """Whether TCP sends the first data with its SYN; None: no."""
    congestion: Literal["none", "newreno", "bic", "cubic", "bbr", "lia"] | None = None
    """ResTP's congestion control; None: the preset's."""
    encapsulation: Literal["udp", "ip"] | None = None
    """What carries ResTP's packets; None: UDP."""
    loss_cause: Literal["congestion", "corruption", "outage", "dynamic"] | None = None
    """What ResTP takes a loss to mean; None: as the preset says."""
    initial_window: int | None = Field(default=None, ge=1, le=MOST_INITIAL_WINDOW)
    """Segments that TCP may send before the first acknowledgement; None: the kernel's ten (RFC 6928)."""
    active_paths: int | None = Field(default=None, ge=1, le=1 + MOST_FURTHER_SUBFLOWS)
    """Over how many paths MPTCP sends while they work, the first ones; the others are backups. None: all."""
    further_subflows: int | None = Field(default=None, ge=0, le=MOST_FURTHER_SUBFLOWS)
    """The most subflows of MPTCP beside the first; None: one to each further address of the receiver."""
    paths_at_once: int | None = Field(default=None, ge=2, le=15)
    """How many paths ResTP has at a time; the next takes the place of one that fails. None: all there are."""
    ack_every: int | None = Field(default=None, ge=1, le=256)
    """ResTP: packets in order that one acknowledgement answers; None: 2."""
    pacing: bool | None = None
    """Whether ResTP spaces its packets evenly; None: as the preset has it."""
    migrate_after: Duration | None = None
    """The silence after which QUIC goes on over the receiver's next address; None: it stays at the first."""
    path_timeout: Duration | None = None
    """The silence after which multipath QUIC gives a path up; None: 1 s."""
    initial_rtt: Duration | None = None
    """The round trip that QUIC assumes before it has measured one; None: the library's 333 ms (RFC 9002)."""
    idle_timeout: Duration | None = None
    """Silence after which a QUIC session counts as dead; None: the library's."""
    max_ack_delay: Duration | None = None
    """For how long QUIC asks the other end to hold back an acknowledgement at most; None: the library's."""
    initial_cwnd: Size | None = None
    """QUIC's first congestion window; None: the library's."""
    pad_to_mtu: bool | None = None
    """Whether QUIC pads packets behind the handshake to the longest that the path takes; None: no."""
    cipher: Literal["aes-256-gcm", "aes-128-gcm", "aes-256-cmac"] | None = None
    """By what SDLS protects frames; None: AES-256-GCM."""
    frame: Size | None = None
    """The longest TC frame; None: 1,024 bytes."""
    fop_window: int | None = Field(default=None, ge=1, le=127)
    """K of COP-1, the most frames under way; None: 10."""
    fop_timer: Duration | None = None
    """T1 of COP-1, after which frames are sent again; None: 3 s."""
    transmission_limit: int | None = Field(default=None, ge=1, le=100_000)
    """How often COP-1 sends a frame at most; None: 3 times."""
    report_interval: Duration | None = None
    """How often COP-1's receiver reports though nothing came; None: 1 s."""
    t_max: Duration | None = None
    """T_max of RaSTA, the greatest age of a message; None: 1.8 s."""
    t_h: Duration | None = None
    """T_h of RaSTA, after which a heartbeat follows; None: 300 ms."""
    t_seq: Duration | None = None
    """T_seq of RaSTA, for how long a frame waits for those before it; None: 100 ms."""
    n_send_max: int | None = Field(default=None, ge=2, le=65535)
    """N_sendMax of RaSTA, the most messages that are not confirmed; None: 20."""
    mwa: int | None = Field(default=None, ge=1, le=65534)
    """MWA of RaSTA, after how many messages it confirms at the latest; None: 10."""
    n_max_packet: int | None = Field(default=None, ge=1, le=255)
    """N_maxPacket of RaSTA, the most messages in one of its own; None: 1."""
    n_diag_window: int | None = Field(default=None, ge=1)
    """N_diagWindow of RaSTA, how many messages a diagnosis of the connection counts; None: 5,000."""
    n_diagnosis: int | None = Field(default=None, ge=1)
    """N_diagnosis of RaSTA, how many frames a diagnosis of a channel counts; None: 200."""
    n_defer_queue: int | None = Field(default=None, ge=1, le=10_000)
    """N_deferQueueSize of RaSTA, how many frames can wait; None: 4."""
    safety_code: SafetyCode | None = None
    """What RaSTA protects messages by; None: the lower half of MD4."""
    check_code: Literal["a", "b", "c", "d", "e"] | None = None
    """The option of the check code in RaSTA's frames; None: a, none."""
    client_auth: bool | None = None
    """Whether the sender shows a certificate too; None: no."""
    resumption: bool | None = None
    """Whether a session after the first resumes it with its ticket; None: no."""
    early_data: bool | None = None
    """Whether a session that is resumed sends data in its first flight (0-RTT); None: no."""

    @model_validator(mode="after")
    def _complete(self) -> "FlowSection":
        application = workloads.app(self.app)
        for key in application.keys:
            if getattr(self, key) is None:
                raise ValueError(f"the application '{self.app}' needs the key '{key}'; add it.")
        for key in sorted(workloads.ALL_KEYS - {*application.keys, *application.optional}):
            if getattr(self, key) is not None:
                raise ValueError(f"the application '{self.app}' has no key '{key}'; leave it out.")
        if self.app == "periodic" and (self.count is None) == (self.duration is None):
            raise ValueError("the application 'periodic' needs either the key 'count' or the key 'duration'.")
        if self.kind is not None and self.direction not in (None, workloads.DIRECTIONS[self.kind]):
            raise ValueError(
                f"a {self.kind} goes {workloads.DIRECTIONS[self.kind]}; leave the key 'direction' out."
            )
        if self.app == "web" and self.page not in (None, *workloads.WEB_PAGES):
            raise ValueError(
                f"the application 'web' has no page '{self.page}'; choose {' or '.join(workloads.WEB_PAGES)}."
            )
        if self.background and self.judge is not None:
            raise ValueError("a flow in the background is not judged; leave 'judge' or 'background' out.")
        if self.connections is not None and self.http != "1.1":
            raise ValueError("the key 'connections' belongs to http = \"1.1\"; leave it out.")
        return self

    @model_validator(mode="after")
    def _sessions(self) -> "FlowSection":
        if self.early_data and not self.resumption:
            raise ValueError(
                "early_data needs resumption = true: only a session that is resumed can send early."
            )
        if self.warm_up is not None and not self.resumption:
            raise ValueError(
                "warm_up needs resumption = true: the session before leaves a ticket, and the flow's own is "
                "to resume it."
            )
        if self.warm_up is not None and self.warm_up > self.start:
            raise ValueError("the session before would begin before the run; give warm_up at most as start.")
        if self.reopen_most is not None and self.reopen_after is None:
            raise ValueError("reopen_most needs reopen_after, how long the sender waits; give both or none.")
        return self


class RecordSection(Strict):
    """[record]: what to keep of each run."""

    messages: bool = True
    sockets: Annotated[
        Duration | None,
        BeforeValidator(_off_or_interval),
        AfterValidator(_coarse_enough),
        WithJsonSchema({"anyOf": [{"const": False}, WRITTEN_TIME]}),
    ] = 0.1
    """Interval of socket samples; false for none."""
    packets: Literal["none", "headers", "full"] = "headers"
    keys: bool = False
    """The secrets of secure sessions, with which Wireshark decrypts a capture of whole packets."""
    qlog: bool = False
    """The events of QUIC connections, one file for each end."""


class ExperimentFile(Strict):
    """The whole file before the matrix is multiplied out."""

    experiment: ExperimentSection
    scenario: dict[str, Any] | None = None
    network: dict[str, Any] | None = None
    """A network of one's own, in place of a scenario."""
    link: dict[str, Any] = Field(default_factory=dict)
    server: dict[str, Any] = Field(default_factory=dict)
    matrix: dict[str, Any] = Field(default_factory=dict)
    workload: dict[str, Any] | None = None
    load: LoadSection | None = None
    """A test of latency under load, in place of flows."""
    flow: list[dict[str, Any]] = Field(default_factory=list)
    in_path: list[InPathSection] = Field(default_factory=list)
    """Nodes that stand in a link and do with packets what their rules say."""
    threat: list[ThreatSection] = Field(default_factory=list)
    """Threats to single messages, of which [link] threat chooses one."""
    record: RecordSection = RecordSection()
    sysctl: dict[str, Any] = Field(default_factory=dict)
    stack: dict[str, StackSection] = Field(default_factory=dict)
    """Protocols of the user's own."""
    services: list[Service] = Field(alias="class", default_factory=list)
    """Classes of service that the report holds its flows against, before the package's own."""


class Condition(Strict):
    """One point of the matrix: everything that one run needs but protocol and repetition."""

    scenario: ScenarioSection
    network: NetworkSection | None = None
    link: LinkSection
    server: ServerSection = ServerSection()
    flow: tuple[FlowSection, ...]
    sysctl: dict[
        str, Annotated[str, BeforeValidator(_sysctl_text), WithJsonSchema({"type": ["string", "integer"]})]
    ]


LINK_KEYS = tuple(LinkSection.model_fields)
"""Keys that [matrix] takes bare, besides those of a flow."""
SERVER_KEYS = tuple(ServerSection.model_fields)
"""Keys that [matrix] takes behind `server.`."""
OF_REPORTS = ("name", "judge", "background")
"""Keys of a flow that say how its numbers are told; no axis varies them, and no run depends on them."""
OF_PLACES = ("from_", "to")
"""Keys of a flow that say between which nodes it goes; no axis varies them."""
FLOW_KEYS = tuple(key for key in FlowSection.model_fields if key not in (*OF_REPORTS, *OF_PLACES))
