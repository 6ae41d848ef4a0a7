"""How each protocol is drawn: one colour and one marker a protocol, a line style that tells
congestion controls apart.

Most colours are those of palettes whose colours colour-blind readers can tell apart: Okabe and Ito's
(https://jfly.uni-koeln.de/color/, "Color Universal Design"), and Tol's
"muted", "vibrant" and "bright" (https://sronpersonalpages.nl/~pault/). No two protocols that an experiment of
ours plays side by side look alike, on a light page or a dark one (tests/figures/test_palette.py).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Drawn(NamedTuple):
    """What a protocol looks like in every figure."""

    colour: str
    marker: str
    """A Vega marker: circle, square, diamond, cross, triangle-up, triangle-down, ..."""
    dash: tuple[int, ...]
    """Lengths of stroke and gap in pixels; () is a solid line."""


_SOLID, _DASHED, _DOTTED, _DASH_DOT = (), (6, 3), (2, 2), (6, 2, 2, 2)

PALETTE: Mapping[str, Drawn] = MappingProxyType(
    {
        "tcp-cubic": Drawn("#0072B2", "circle", _SOLID),
        "tcp-bbr": Drawn("#D55E00", "square", _DASHED),
        "tcp-reno": Drawn("#009E73", "triangle-up", _DOTTED),
        "tfo-cubic": Drawn("#3288BD", "circle", _DASHED),
        "tfo-reno": Drawn("#66C2A5", "triangle-up", _DASHED),
        "sctp": Drawn("#CC79A7", "diamond", _DASH_DOT),
        "sctp-two-homes": Drawn("#8C6D1F", "square", _DOTTED),
        "sctp-partial": Drawn("#4020C0", "diamond", _DOTTED),
        "udp": Drawn("#666666", "cross", _SOLID),
        "mptcp-cubic": Drawn("#56B4E9", "triangle-down", _SOLID),
        "mptcp-bbr": Drawn("#E69F00", "triangle-right", _DASHED),
        "mptcp-backup": Drawn("#1B9E3A", "triangle-down", _DOTTED),
        "tcp-vegas": Drawn("#8F00C8", "triangle-left", _DASH_DOT),
        "tcp-westwood": Drawn("#117733", "stroke", _DASH_DOT),
        "tcp-illinois": Drawn("#882255", "arrow", _DASH_DOT),
        "tcp-bic": Drawn("#44AA99", "wedge", _DASHED),
        "tcp-hybla": Drawn("#999933", "triangle", _DOTTED),
        "tcp-veno": Drawn("#AA4499", "circle", _DASH_DOT),
        "tcp-dctcp": Drawn("#6A51A3", "square", _DASH_DOT),
        "quic-quinn-cubic": Drawn("#EE3377", "triangle-up", _SOLID),
        "quic-quinn-newreno": Drawn("#CC3311", "diamond", _DOTTED),
        "quic-quinn-bbr": Drawn("#9C27B0", "triangle-down", _DASHED),
        "quic-quinn-migration": Drawn("#F4845F", "triangle-up", _DOTTED),
        "quic-noq-cubic": Drawn("#0B7A75", "triangle-left", _SOLID),
        "quic-noq-bbr": Drawn("#7B2D26", "triangle-right", _DASHED),
        "quic-noq-backup": Drawn("#3DDC97", "triangle-left", _DOTTED),
        "quic-noq-datagram": Drawn("#C5A664", "cross", _DOTTED),
        "quic-s2n-cubic": Drawn("#33BBEE", "triangle-left", _SOLID),
        "quic-s2n-bbr": Drawn("#CCBB44", "triangle-right", _DASHED),
        "quic-quiche-cubic": Drawn("#BB5566", "wedge", _SOLID),
        "quic-quiche-reno": Drawn("#DDAA33", "wedge", _DOTTED),
        "quic-quiche-bbr": Drawn("#004488", "wedge", _DASHED),
        "quic-quinn-datagram": Drawn("#44AA77", "cross", _DOTTED),
        "quic-quiche-datagram": Drawn("#997700", "cross", _DOTTED),
        "quic-quinn-cubic-deep-space": Drawn("#5E3C99", "triangle-up", _DASHED),
        "sdls": Drawn("#8C8C00", "cross", _DASHED),
        "sdls-cop1": Drawn("#01665E", "square", _SOLID),
        "sdls-cop1-deep-space": Drawn("#8C510A", "square", _DASHED),
        "rasta": Drawn("#BD0505", "diamond", _SOLID),
        "rasta-tls": Drawn("#511F51", "diamond", _DASHED),
        "restp-protected": Drawn("#AA0DFE", "triangle-up", _DASH_DOT),
        "tls-cubic": Drawn("#332288", "triangle-down", _DASH_DOT),
        "tls-bbr": Drawn("#AA9400", "triangle-up", _DOTTED),
        "tls-sctp": Drawn("#FA42DB", "cross", _DASH_DOT),
        "dtls": Drawn("#416F2A", "cross", _SOLID),
        "dtls-12": Drawn("#90BE6D", "cross", _DASHED),
        "restp-file": Drawn("#000000", "triangle-up", _SOLID),
        "restp-file-no-crc": Drawn("#7F3B08", "triangle-up", _DOTTED),
        "restp-file-bbr": Drawn("#A5781D", "triangle-up", _DASHED),
        "restp-file-harq": Drawn("#6D0303", "triangle-up", _DASH_DOT),
        "restp-web": Drawn("#729ECA", "triangle-up", _DOTTED),
        "restp-satellite": Drawn("#7B3294", "triangle-up", _DASHED),
        "restp-multipath": Drawn("#7570B3", "triangle-up", _DASH_DOT),
        "restp-standby": Drawn("#B39DDB", "triangle-up", _DOTTED),
        "restp-copies": Drawn("#9933FF", "triangle-up", _SOLID),
        "restp-voice": Drawn("#FA42BD", "triangle-up", _SOLID),
        "restp-datagram": Drawn("#A9A9A9", "triangle-up", _DOTTED),
        "restp-file-dynamic": Drawn("#4D9221", "triangle-up", _DASHED),
        "restp-file-own": Drawn("#525252", "triangle-up", _DOTTED),
        "restp-3wh-arq": Drawn("#B15928", "diamond", _SOLID),
        "restp-3wh-harq": Drawn("#6A3D9A", "diamond", _DASH_DOT),
        "restp-3wh-harq-full": Drawn("#9E67B5", "diamond", _DOTTED),
        "restp-tfo-arq": Drawn("#35978F", "diamond", _DOTTED),
        "restp-opt-arq": Drawn("#1F78B4", "diamond", _DASHED),
        "restp-outage-arq": Drawn("#EFA00B", "diamond", _DASHED),
        "restp-ful-arq": Drawn("#FB9A99", "diamond", _DOTTED),
        "restp-par-arq": Drawn("#E31A1C", "diamond", _SOLID),
        "restp-opt-par-arq": Drawn("#5AB5E2", "diamond", _DASHED),
        "restp-arq-open": Drawn("#FF7F00", "diamond", _DASH_DOT),
        "restp-opt-paths": Drawn("#A6CEE3", "diamond", _DASH_DOT),
        "quic-aioquic-newreno": Drawn("#44BB99", "diamond", _DOTTED),
        "quic-aioquic-cubic": Drawn("#225555", "diamond", _SOLID),
    }
)
"""By the key of the protocol; one that is not here gets a spare colour (`gauntlet.figures.style`)."""
