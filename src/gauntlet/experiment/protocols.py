"""The transport protocols an experiment can name: one line each, known here and nowhere else.

A protocol is a stack of the guest (see the plan's "Flow") with its parameters, and how it looks in every
figure: one colour and one marker a protocol, and a line style that tells congestion controls apart. Colours
are those of palettes whose colours colour-blind readers can tell apart: Okabe and Ito's
(https://jfly.uni-koeln.de/color/, "Color Universal Design"), and Tol's
"muted", "vibrant" and "bright" (https://sronpersonalpages.nl/~pault/).
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gauntlet.errors import UserError
from gauntlet.experiment.external import AIOQUIC, STACK, ExternalStack


@dataclass(frozen=True)
class Protocol:
    """A transport protocol as experiments and figures know it."""

    key: str
    label: str
    stack: str
    """The guest's stack (the plan's "Flow" lists them); external: programs that carry it."""
    colour: str
    marker: str
    """A Vega marker: circle, square, diamond, cross, triangle-up, triangle-down, ..."""
    dash: tuple[int, ...]
    """Lengths of stroke and gap in pixels; () is a solid line."""
    stack_params: Mapping[str, str | float] = field(default_factory=dict)
    options: frozenset[str] = frozenset()
    """The flow keys of an experiment that this protocol's stack understands."""
    external: ExternalStack | None = None
    """The programs, when its stack is external."""
    reliable: bool = True
    """Whether it holds the sender back and delivers everything; only then can a sender be greedy."""


_BUFFERS = frozenset({"send_buffer", "receive_buffer"})
_STREAM = _BUFFERS | {"nodelay"}
_TCP = _STREAM | {"fast_open"}
_TICKETS = frozenset({"client_auth", "resumption"})
_SECURE = _STREAM | _TICKETS | {"early_data"}
_QUIC = {
    "aioquic": frozenset({"resumption", "early_data"}),
    "quinn": _BUFFERS | _TICKETS | {"early_data"},
    "s2n": _BUFFERS | _TICKETS,
    "quiche": frozenset({"receive_buffer", "early_data"}) | _TICKETS,
}
_RESTP = frozenset({"send_buffer", "congestion", "encapsulation", "loss_cause"})
_SOLID, _DASHED, _DOTTED, _DASH_DOT = (), (6, 3), (2, 2), (6, 2, 2, 2)


def _tcp(name: str, label: str, colour: str, marker: str, dash: tuple[int, ...]) -> Protocol:
    params = MappingProxyType({"congestion_control": name})
    return Protocol(f"tcp-{name}", f"TCP {label}", "tcp", colour, marker, dash, params, _TCP)


def _mptcp(name: str, label: str, colour: str, marker: str, dash: tuple[int, ...]) -> Protocol:
    params = MappingProxyType({"congestion_control": name})
    return Protocol(f"mptcp-{name}", f"MPTCP {label}", "mptcp", colour, marker, dash, params)


def _tfo(name: str, label: str, colour: str, marker: str, dash: tuple[int, ...]) -> Protocol:
    """TCP Fast Open: the first data go with the SYN."""
    params: Mapping[str, str | float] = MappingProxyType({"congestion_control": name, "fast_open": True})
    return Protocol(f"tfo-{name}", f"TCP Fast Open {label}", "tcp", colour, marker, dash, params, _STREAM)


def _quic(library: str, label: str, colour: str, marker: str, dash: tuple[int, ...]) -> Protocol:
    name, stack = label.lower(), f"quic-{library}"
    params = MappingProxyType({"congestion_control": name})
    return Protocol(
        f"{stack}-{name}", f"QUIC {library} {label}", stack, colour, marker, dash, params, _QUIC[library]
    )


def _quic_datagrams(library: str, colour: str) -> Protocol:
    """Each message in an unreliable datagram (RFC 9221)."""
    key, label, stack = f"quic-{library}-datagram", f"QUIC {library} datagrams", f"quic-{library}"
    params: Mapping[str, str | float] = MappingProxyType({"congestion_control": "cubic", "datagrams": True})
    return Protocol(key, label, stack, colour, "cross", _DOTTED, params, _QUIC[library], reliable=False)


def _tls(key: str, label: str, colour: str, marker: str, dash: tuple[int, ...], **params: str) -> Protocol:
    return Protocol(
        f"tls-{key}", f"TLS {label}", "tls", colour, marker, dash, MappingProxyType(params), _SECURE
    )


def _restp(
    name: str,
    label: str,
    colour: str,
    dash: tuple[int, ...],
    *,
    marker: str = "triangle-up",
    reliable: bool = True,
    **services: str | float,
) -> Protocol:
    key = f"restp-{name}"
    params = MappingProxyType(services)
    options = _RESTP if reliable else _RESTP - {"loss_cause"}
    return Protocol(key, f"ResTP {label}", "restp", colour, marker, dash, params, options, reliable=reliable)


def _studied(
    name: str,
    label: str,
    colour: str,
    dash: tuple[int, ...],
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
        colour,
        dash,
        marker="diamond",
        reliable=reliable,
        dissertation=True,
        crc=False,
        **services,
    )


def _aioquic(name: str, label: str, colour: str, marker: str, dash: tuple[int, ...]) -> Protocol:
    params = MappingProxyType({"congestion_control": name})
    key, shown = f"quic-aioquic-{name}", f"QUIC aioquic {label}"
    return Protocol(key, shown, STACK, colour, marker, dash, params, _QUIC["aioquic"], external=AIOQUIC)


_ALL = (
    _tcp("cubic", "CUBIC", "#0072B2", "circle", _SOLID),
    _tcp("bbr", "BBR", "#D55E00", "square", _DASHED),
    _tcp("reno", "Reno", "#009E73", "triangle-up", _DOTTED),
    _tfo("cubic", "CUBIC", "#3288BD", "circle", _DASHED),
    _tfo("reno", "Reno", "#66C2A5", "triangle-up", _DASHED),
    Protocol("sctp", "SCTP", "sctp", "#CC79A7", "diamond", _DASH_DOT, options=_STREAM | {"streams", "homes"}),
    Protocol("udp", "UDP", "udp", "#666666", "cross", _SOLID, options=_BUFFERS, reliable=False),
    _mptcp("cubic", "CUBIC", "#56B4E9", "triangle-down", _SOLID),
    _mptcp("bbr", "BBR", "#E69F00", "triangle-right", _DASHED),
    _tcp("vegas", "Vegas", "#332288", "triangle-left", _DASH_DOT),
    _tcp("westwood", "Westwood", "#117733", "stroke", _DASH_DOT),
    _tcp("illinois", "Illinois", "#882255", "arrow", _DASH_DOT),
    _tcp("bic", "BIC", "#44AA99", "wedge", _DASHED),
    _tcp("hybla", "Hybla", "#999933", "triangle", _DOTTED),
    _tcp("veno", "Veno", "#AA4499", "circle", _DASH_DOT),
    _quic("quinn", "CUBIC", "#EE3377", "triangle-up", _SOLID),
    _quic("quinn", "NewReno", "#CC3311", "diamond", _DOTTED),
    _quic("quinn", "BBR", "#EE7733", "triangle-down", _DASHED),
    _quic("s2n", "CUBIC", "#4477AA", "triangle-left", _SOLID),
    _quic("s2n", "BBR", "#CCBB44", "triangle-right", _DASHED),
    # Only a guest that was built with it has this one, also for datagrams.
    _quic("quiche", "CUBIC", "#BB5566", "wedge", _SOLID),
    _quic("quiche", "Reno", "#DDAA33", "wedge", _DOTTED),
    _quic("quiche", "BBR", "#004488", "wedge", _DASHED),
    _quic_datagrams("quinn", "#44AA77"),
    _quic_datagrams("quiche", "#997700"),
    _tls("cubic", "over TCP CUBIC", "#00429D", "circle", _SOLID, congestion_control="cubic"),
    _tls("bbr", "over TCP BBR", "#8F5200", "square", _DASHED, congestion_control="bbr"),
    _tls("sctp", "over SCTP", "#AA3377", "cross", _DASH_DOT, transport="sctp"),
    _restp("file", "file", "#000000", _SOLID, profile="file_arq"),
    _restp("file-bbr", "file BBR", "#A6761D", _DASHED, profile="file_arq", congestion="bbr"),
    _restp("file-harq", "file HARQ", "#661100", _DASH_DOT, profile="file_harq"),
    _restp("web", "web", "#6699CC", _DOTTED, profile="web_opt"),
    _restp("satellite", "satellite", "#7B3294", _DASHED, profile="satellite_outage"),
    _restp("multipath", "multipath", "#7570B3", _DASH_DOT, profile="multipath"),
    _restp("voice", "voice", "#E7298A", _SOLID, profile="voice", reliable=False),
    _restp("datagram", "datagram", "#A9A9A9", _DOTTED, profile="datagram", reliable=False),
    _restp(
        "file-dynamic", "file, dynamic cause", "#4D9221", _DASHED, profile="file_arq", loss_cause="dynamic"
    ),
    # Where nobody else's traffic suffers, losses are bit errors and the window is constant: 64 packets.
    _restp(
        "file-own",
        "file, own path",
        "#525252",
        _DOTTED,
        profile="file_arq",
        i_own_the_path=True,
        loss_cause="corruption",
        congestion="none",
    ),
    # The dissertation's configurations, by its tables 4.1, 4.2, 4.4, 4.14, 4.16 and 4.17 and section A.3.3.
    # An opportunistic client has been at the server before and holds its cookie.
    # Voice waits at most 160 ms for a hole, the delay above which a packet is late (section 4.5.1).
    _studied("3wh-arq", "3WH-ARQ", "#B15928", _SOLID, profile="file_arq", ack_report="cumulative"),
    _studied("3wh-harq", "3WH-HARQ", "#6A3D9A", _DASH_DOT, profile="file_harq", ack_report="cumulative"),
    _studied(
        "opt-arq", "OPT-ARQ", "#1F78B4", _DASHED, profile="web_opt", ack_report="cumulative", visited=True
    ),
    _studied(
        "outage-arq",
        "3WH-ARQ probing",
        "#EFA00B",
        _DASHED,
        profile="satellite_outage",
        ack_report="cumulative",
    ),
    _studied(
        "ful-arq", "3WH-FUL-ARQ", "#FB9A99", _DOTTED, profile="voice", ordering="full", ack_report="sack"
    ),
    _studied("par-arq", "3WH-PAR-ARQ", "#E31A1C", _SOLID, profile="voice", hold_s=0.16, reliable=False),
    _studied(
        "opt-par-arq",
        "OPT-PAR-ARQ",
        "#CAB2D6",
        _DASHED,
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
        "#FF7F00",
        _DASH_DOT,
        profile="file_arq",
        ack_report="cumulative",
        congestion="none",
        open_window_packets=16,
        i_own_the_path=True,
    ),
    _studied(
        "opt-paths",
        "OPT over two paths",
        "#A6CEE3",
        _DASH_DOT,
        profile="multipath",
        ack_report="cumulative",
        management="opportunistic",
        visited=True,
    ),
    _aioquic("newreno", "NewReno", "#44BB99", "diamond", _DOTTED),
    _aioquic("cubic", "CUBIC", "#225555", "diamond", _SOLID),
)

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({protocol.key: protocol for protocol in _ALL})
"""Every protocol by its key, in the order in which reports list them."""


def own(stacks: Mapping[str, tuple[ExternalStack, str | None]]) -> Mapping[str, Protocol]:
    """All protocols of an experiment that brings stacks of its own (by name, with what reports call it).

    Raises UserError for the name of a protocol that is there already.
    """
    found = dict(PROTOCOLS)
    for name, (stack, shown) in stacks.items():
        if name in PROTOCOLS:
            raise UserError(f"[stack.{name}]: there is a protocol of this name already; choose another name.")
        found[name] = Protocol(name, shown or name, STACK, "#666666", "square", _DASHED, external=stack)
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
