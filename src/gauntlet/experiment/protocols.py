"""The transport protocols an experiment can name: one line each, known here and nowhere else. A stack of the
player without a line here is a protocol of its own name.

A protocol is a stack of the guest (see the plan's "Flow") with its parameters. Which options it understands
follows from what the player says of the stack. How it is drawn stands in
`gauntlet.figures.palette`.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gauntlet.errors import UserError
from gauntlet.experiment import player
from gauntlet.experiment.external import AIOQUIC, STACK, ExternalStack

LONGEST_S = 366 * 86_400.0
"""The longest time that the player takes as a flow's parameter."""


@dataclass(frozen=True)
class Fitted:
    """A time that whoever flies a mission sets by the round trip, which the orbits tell beforehand."""

    round_trips: float
    more_s: float = 0.0
    least_s: float = 0.0

    def value_s(self, round_trip_s: float) -> float:
        """The time for a longest round trip."""
        wanted_s = max(self.round_trips * round_trip_s + self.more_s, self.least_s)
        return round(min(wanted_s, LONGEST_S), 6)


@dataclass(frozen=True)
class Protocol:
    """A transport protocol as experiments know it."""

    key: str
    label: str
    stack: str
    """The guest's stack (the plan's "Flow" lists them); external: programs that carry it."""
    stack_params: Mapping[str, str | float] = field(default_factory=dict)
    options: frozenset[str] = frozenset()
    """The flow keys of an experiment that this protocol's stack understands."""
    external: ExternalStack | None = None
    """The programs, when its stack is external."""
    reliable: bool = True
    """Whether it holds the sender back and delivers everything; only then can a sender be greedy."""
    fitted: Mapping[str, "Fitted"] = field(default_factory=dict)
    """Parameters of the stack that follow from the link's longest round trip, unless the flow gives them."""


OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "send_buffer": "send_buffer_bytes",
        "receive_buffer": "receive_buffer_bytes",
        "nodelay": "nodelay",
        "streams": "streams",
        "homes": "homes",
        "dscp": "dscp",
        "fast_open": "fast_open",
        "congestion": "congestion",
        "encapsulation": "encapsulation",
        "loss_cause": "loss_cause",
        "initial_window": "initial_window_segments",
        "active_paths": "active_paths",
        "further_subflows": "further_subflows",
        "paths_at_once": "paths_at_once",
        "ack_every": "ack_every",
        "pacing": "pacing",
        "migrate_after": "migrate_after_s",
        "path_timeout": "path_timeout_s",
        "initial_rtt": "initial_rtt_s",
        "idle_timeout": "idle_timeout_s",
        "max_ack_delay": "max_ack_delay_s",
        "initial_cwnd": "initial_window_bytes",
        "pad_to_mtu": "pad_to_mtu",
        "cipher": "cipher",
        "frame": "frame_bytes",
        "fop_window": "window_frames",
        "fop_timer": "timer_s",
        "transmission_limit": "transmission_limit",
        "report_interval": "report_interval_s",
        "t_max": "t_max_s",
        "t_h": "t_h_s",
        "t_seq": "t_seq_s",
        "n_send_max": "n_send_max",
        "mwa": "mwa",
        "n_max_packet": "n_max_packet",
        "n_diag_window": "n_diag_window",
        "n_diagnosis": "n_diagnosis",
        "n_defer_queue": "n_defer_queue",
        "safety_code": "safety_code",
        "check_code": "check_code",
        "client_auth": "client_auth",
        "resumption": "resumption",
        "early_data": "early_data",
    }
)
"""Flow keys of an experiment that are a stack's own affair, and what the plan calls them."""


def _options(stack: str) -> frozenset[str]:
    """The options whose parameter the player's stack takes."""
    taken = player.parameters(stack)
    return frozenset(key for key, name in OPTIONS.items() if name in taken)


_AIOQUIC = frozenset({"resumption", "early_data"})
_QUICHE = frozenset({"receive_buffer", "early_data", "client_auth", "resumption"})
"""What cannot be read from the player as it is shipped: programs, and a stack that is left out."""


def _tcp(name: str, label: str) -> Protocol:
    params = MappingProxyType({"congestion_control": name})
    return Protocol(f"tcp-{name}", f"TCP {label}", "tcp", params, _options("tcp"))


def _mptcp(name: str, label: str) -> Protocol:
    params = MappingProxyType({"congestion_control": name})
    return Protocol(f"mptcp-{name}", f"MPTCP {label}", "mptcp", params, _options("mptcp"))


def _tfo(name: str, label: str) -> Protocol:
    """TCP Fast Open: the first data go with the SYN."""
    params: Mapping[str, str | float] = MappingProxyType({"congestion_control": name, "fast_open": True})
    return Protocol(f"tfo-{name}", f"TCP Fast Open {label}", "tcp", params, _options("tcp") - {"fast_open"})


def _quic(library: str, label: str) -> Protocol:
    name, stack = label.lower(), f"quic-{library}"
    params = MappingProxyType({"congestion_control": name})
    options = _options(stack) or _QUICHE
    return Protocol(f"{stack}-{name}", f"QUIC {library} {label}", stack, params, options)


def _quic_datagrams(library: str) -> Protocol:
    """Each message in an unreliable datagram (RFC 9221)."""
    key, label, stack = f"quic-{library}-datagram", f"QUIC {library} datagrams", f"quic-{library}"
    params: Mapping[str, str | float] = MappingProxyType({"congestion_control": "cubic", "datagrams": True})
    return Protocol(key, label, stack, params, _options(stack) or _QUICHE, reliable=False)


_MARS_BDP_BYTES = 167_000_000
"""500 kbit/s, the rate of the Mars Reconnaissance Orbiter from its greatest distance, for the round trip of
2,678 s there (data/deep-space.toml)."""


def _deep_space(library: str, label: str) -> Protocol:
    """QUIC with what a mission would set (draft-ietf-tiptop-quic-profile-00,
    draft-huitema-quic-in-space-01): no retransmission before an answer can have come, an idle time-out that
    outlives handshake and losses, and credit for twice what is under way.
    """
    name, stack = label.lower(), f"quic-{library}"
    params: Mapping[str, str | float] = MappingProxyType(
        {
            "congestion_control": name,
            "send_buffer_bytes": 2 * _MARS_BDP_BYTES,
            "receive_buffer_bytes": 2 * _MARS_BDP_BYTES,
        }
    )
    fitted = MappingProxyType(
        {
            # A tenth more than light needs, for queues; never less than RFC 9002 has.
            "initial_rtt_s": Fitted(1.1, least_s=0.333),
            # Three probes in vain, after 3.3, 9.9 and 23.1 round trips (RFC 9002, 6.2), the next at 49.5.
            "idle_timeout_s": Fitted(36, least_s=30),
        }
    )
    return Protocol(
        f"{stack}-{name}-deep-space",
        f"QUIC {library} {label}, deep space",
        stack,
        params,
        _options(stack),
        fitted=fitted,
    )


def _tls(key: str, label: str, **params: str) -> Protocol:
    options = _options("tls") - ({"initial_window", "dscp"} if params.get("transport") == "sctp" else set())
    return Protocol(f"tls-{key}", f"TLS {label}", "tls", MappingProxyType(params), options)


def _restp(
    name: str,
    label: str,
    *,
    reliable: bool = True,
    several_paths: bool = False,
    **services: str | float,
) -> Protocol:
    key = f"restp-{name}"
    params = MappingProxyType(services)
    options = _options("restp")
    if not reliable:
        options -= {"loss_cause", "ack_every", "pacing"}
    if not several_paths:
        options -= {"paths_at_once"}
    return Protocol(key, f"ResTP {label}", "restp", params, options, reliable=reliable)


def _studied(
    name: str,
    label: str,
    *,
    reliable: bool = True,
    **services: str | float,
) -> Protocol:
    """ResTP with the services that a table of Nguyen's dissertation (2021) lists, its timers, and without the
    CRC, which none of its tables has.
    """
    return _restp(
        name,
        label,
        reliable=reliable,
        several_paths=False,
        dissertation=True,
        crc=False,
        **services,
    )


def _aioquic(name: str, label: str) -> Protocol:
    params = MappingProxyType({"congestion_control": name})
    key, shown = f"quic-aioquic-{name}", f"QUIC aioquic {label}"
    return Protocol(key, shown, STACK, params, _AIOQUIC, external=AIOQUIC)


_ALL = (
    _tcp("cubic", "CUBIC"),
    _tcp("bbr", "BBR"),
    _tcp("reno", "Reno"),
    _tfo("cubic", "CUBIC"),
    _tfo("reno", "Reno"),
    Protocol("sctp", "SCTP", "sctp", options=_options("sctp")),
    # It turns to the second address of the receiver when the first does not answer (RFC 9260, section 6.4).
    Protocol(
        "sctp-two-homes",
        "SCTP, two homes",
        "sctp",
        MappingProxyType({"homes": 2}),
        _options("sctp") - {"homes"},
    ),
    # A message that is older than 160 ms is sent no more: the delay up to which a packet of a call is in time
    # (gauntlet.metrics.kpis.voip).
    Protocol(
        "sctp-partial",
        "SCTP partial",
        "sctp",
        MappingProxyType({"lifetime_s": 0.16}),
        _options("sctp") - {"streams"},
        reliable=False,
    ),
    Protocol("udp", "UDP", "udp", options=_options("udp"), reliable=False),
    _mptcp("cubic", "CUBIC"),
    _mptcp("bbr", "BBR"),
    # One path at a time; the others are backups (RFC 8684, section 3.3.8).
    Protocol(
        "mptcp-backup",
        "MPTCP backup",
        "mptcp",
        MappingProxyType({"congestion_control": "cubic", "active_paths": 1}),
        _options("mptcp") - {"active_paths"},
    ),
    _tcp("vegas", "Vegas"),
    _tcp("westwood", "Westwood"),
    _tcp("illinois", "Illinois"),
    _tcp("bic", "BIC"),
    _tcp("hybla", "Hybla"),
    _tcp("veno", "Veno"),
    _tcp("dctcp", "DCTCP"),
    _quic("quinn", "CUBIC"),
    _quic("quinn", "NewReno"),
    _quic("quinn", "BBR"),
    _quic("s2n", "CUBIC"),
    _quic("s2n", "BBR"),
    # Only a guest that was built with it has this one, also for datagrams.
    _quic("quiche", "CUBIC"),
    _quic("quiche", "Reno"),
    _quic("quiche", "BBR"),
    _quic_datagrams("quinn"),
    _quic_datagrams("quiche"),
    # It leaves a bearer after a second without an answer: above the round trip of any but deep space.
    Protocol(
        "quic-quinn-migration",
        "QUIC quinn, migrates",
        "quic-quinn",
        MappingProxyType({"congestion_control": "cubic", "migrate_after_s": 1.0}),
        _options("quic-quinn"),
    ),
    _quic("noq", "CUBIC"),
    _quic("noq", "BBR"),
    Protocol(
        "quic-noq-backup",
        "QUIC noq backup",
        "quic-noq",
        MappingProxyType({"congestion_control": "cubic", "active_paths": 1}),
        _options("quic-noq") - {"active_paths"},
    ),
    _quic_datagrams("noq"),
    _deep_space("quinn", "CUBIC"),
    Protocol("sdls", "SDLS", "sdls", options=_options("sdls"), reliable=False),
    Protocol("sdls-cop1", "SDLS + COP-1", "sdls-cop1", options=_options("sdls-cop1")),
    # The widest window that FARM-1 allows, T1 above the round trip, and no end of trying.
    Protocol(
        "sdls-cop1-deep-space",
        "SDLS + COP-1, deep space",
        "sdls-cop1",
        MappingProxyType({"window_frames": 127, "transmission_limit": 1000}),
        _options("sdls-cop1"),
        fitted=MappingProxyType(
            {
                "timer_s": Fitted(1.1, more_s=5, least_s=3),
                "report_interval_s": Fitted(0.1, least_s=1),
            }
        ),
    ),
    Protocol("rasta", "RaSTA", "rasta", options=_options("rasta")),
    Protocol(
        "rasta-tls",
        "RaSTA over TLS",
        "rasta-tls",
        MappingProxyType({"congestion_control": "cubic"}),
        _options("rasta-tls"),
    ),
    _restp("protected", "file, protected", profile="file_arq", protection="protected"),
    _tls("cubic", "over TCP CUBIC", congestion_control="cubic"),
    _tls("bbr", "over TCP BBR", congestion_control="bbr"),
    _tls("sctp", "over SCTP", transport="sctp"),
    Protocol("dtls", "DTLS 1.3", "dtls", options=_options("dtls"), reliable=False),
    Protocol(
        "dtls-12",
        "DTLS 1.2",
        "dtls",
        MappingProxyType({"version": "1.2"}),
        _options("dtls"),
        reliable=False,
    ),
    _restp("file", "file", profile="file_arq"),
    # In clear and unchecked but for what is below it: the sum of UDP, or over IP nothing.
    _restp("file-no-crc", "file, no CRC", profile="file_arq", crc=False),
    _restp("file-bbr", "file BBR", profile="file_arq", congestion="bbr"),
    _restp("file-harq", "file HARQ", profile="file_harq"),
    _restp("web", "web", profile="web_opt"),
    _restp("satellite", "satellite", profile="satellite_outage"),
    _restp("multipath", "multipath", several_paths=True, profile="multipath"),
    # One path at a time; LIA couples paths that send together, so each has a CUBIC of its own.
    _restp(
        "standby",
        "hot standby",
        several_paths=True,
        profile="multipath",
        paths="hot-standby",
        congestion="cubic",
    ),
    _restp("copies", "copies", several_paths=True, profile="copies"),
    _restp("voice", "voice", profile="voice", reliable=False),
    _restp("datagram", "datagram", profile="datagram", reliable=False),
    _restp("file-dynamic", "file, dynamic cause", profile="file_arq", loss_cause="dynamic"),
    # Where nobody else's traffic suffers, losses are bit errors and the window is constant: 64 packets.
    _restp(
        "file-own",
        "file, own path",
        profile="file_arq",
        i_own_the_path=True,
        loss_cause="corruption",
        congestion="none",
    ),
    # The dissertation's configurations, by its tables 4.1, 4.2, 4.4, 4.14, 4.16 and 4.17 and section A.3.3.
    # An opportunistic client has been at the server before and holds its cookie.
    # Voice waits at most 160 ms for a hole, the delay above which a packet is late (section 4.5.1).
    _studied("3wh-arq", "3WH-ARQ", profile="file_arq", ack_report="cumulative"),
    _studied("3wh-harq", "3WH-HARQ", profile="file_harq", ack_report="cumulative"),
    # Without the timer that sends an encoded packet before its group is full: what that timer costs.
    _studied(
        "3wh-harq-full",
        "3WH-HARQ, full groups",
        profile="file_harq",
        ack_report="cumulative",
        fec_timer=False,
    ),
    # TCP Fast Open inside ResTP, as section 4.2.1 has it for a fair comparison: the SYN carries the request.
    _studied("tfo-arq", "TFO-ARQ", profile="web_opt", ack_report="cumulative", visited=True, syn_first=False),
    _studied("opt-arq", "OPT-ARQ", profile="web_opt", ack_report="cumulative", visited=True),
    _studied(
        "outage-arq",
        "3WH-ARQ probing",
        profile="satellite_outage",
        ack_report="cumulative",
    ),
    _studied("ful-arq", "3WH-FUL-ARQ", profile="voice", ordering="full", ack_report="sack"),
    _studied("par-arq", "3WH-PAR-ARQ", profile="voice", hold_s=0.16, reliable=False),
    _studied(
        "opt-par-arq",
        "OPT-PAR-ARQ",
        profile="voice",
        hold_s=0.16,
        management="opportunistic",
        visited=True,
        reliable=False,
    ),
    # Its window is the bandwidth-delay product of section A.3.1, so that no burst overruns a queue as large.
    _studied(
        "arq-open",
        "ARQ without congestion control",
        profile="file_arq",
        ack_report="cumulative",
        congestion="none",
        open_window_packets=16,
        i_own_the_path=True,
    ),
    _studied(
        "opt-paths",
        "OPT over two paths",
        profile="multipath",
        ack_report="cumulative",
        management="opportunistic",
        visited=True,
    ),
    _aioquic("newreno", "NewReno"),
    _aioquic("cubic", "CUBIC"),
)


def without_words(
    named: Iterable[Protocol], stacks: Iterable[str], reliable: Collection[str]
) -> list[Protocol]:
    """Protocols for the stacks that none of the named ones uses: as they are by themselves, under the names
    that the player gives them. So an experiment can name a new stack before anybody has a line for it here.
    """
    known = {protocol.stack for protocol in named}
    return [
        Protocol(stack, stack, stack, options=_options(stack), reliable=stack in reliable)
        for stack in stacks
        if stack not in known
    ]


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.key: protocol
        for protocol in (*_ALL, *without_words(_ALL, player.STACKS, player.stacks_with("reliable")))
    }
)
"""Every protocol by its key, in the order in which reports list them."""


def own(stacks: Mapping[str, tuple[ExternalStack, str | None]]) -> Mapping[str, Protocol]:
    """All protocols of an experiment that brings stacks of its own (by name, with what reports call it).

    Raises UserError for the name of a protocol that is there already.
    """
    found = dict(PROTOCOLS)
    for name, (stack, shown) in stacks.items():
        if name in PROTOCOLS:
            raise UserError(f"[stack.{name}]: there is a protocol of this name already; choose another name.")
        found[name] = Protocol(name, shown or name, STACK, external=stack)
    return found


def protocol(key: str, where: str | None = None, known: Mapping[str, Protocol] = PROTOCOLS) -> Protocol:
    """Look a protocol up by its key, such as "tcp-bbr"; `known` are those of the experiment.

    Raises UserError naming the protocols there are, with the nearest first where one is near.
    """
    if key in known:
        return known[key]
    place = f"{where}: " if where else ""
    if family := [name for name in known if key.lower() in name.split("-")]:
        raise UserError(f"{place}unknown protocol '{key}'; write one of {', '.join(family)}.")
    close = difflib.get_close_matches(key.lower(), known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else "choose one that is known"
    raise UserError(f"{place}unknown protocol '{key}'; {hint} (known: {', '.join(known)}).")


def label(key: str, known: Mapping[str, Protocol] = PROTOCOLS) -> str:
    """What people read: "tcp-bbr" is "TCP BBR"; "tcp-bbr+sctp", two flows at once, is "TCP BBR + SCTP"."""
    return " + ".join(protocol(part, known=known).label for part in key.split("+"))
