"""The applications an experiment can name, one entry each: the keys they need and what the plan gets."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment import pages
from gauntlet.experiment.external import FTP, FTPS, STACK, ExternalStack
from gauntlet.experiment.runspec import FlowSpec

DRAIN_S = 300.0
"""Virtual seconds granted after the last message of a paced flow for what is still queued to arrive."""
PATIENT_ROUND_TRIPS = 400
"""Round trips granted beside, where they take longer than DRAIN_S: a retransmission takes one, and more
where it is lost, too."""
LONGEST_WAIT_S = 3660 * 86_400.0
"""No more is granted for round trips: ten years."""
SLOWEST_BPS = 50_000
"""A transfer slower than this on average (bit/s, after DRAIN_S) counts as failed. Two orders of magnitude
below the 5.2 Mbit/s of the slowest line of D3.4, section 5.2; virtual time makes waiting cheap."""


@dataclass(frozen=True)
class App:
    """An application: its keys in the experiment file and its parameters in the plan."""

    name: str
    keys: tuple[str, ...]
    """Keys of a flow that it needs; the other applications' keys are refused."""
    optional: tuple[str, ...]
    """Keys that it may have besides."""
    params: Callable[[FlowSpec], dict[str, Any]]
    longest_s: Callable[[FlowSpec], float]
    """Virtual seconds from its start after which it has surely failed over a short link."""
    stacks: frozenset[str] | None = None
    """Stacks of the guest that can carry it; None: any, as far as the guest knows."""
    own_programs: bool = False
    """Whether programs of the user's own can carry it besides."""
    external: ExternalStack | None = None
    """Programs that are this application; None: the guest plays it, or the protocol's programs do."""
    receiver_opens: bool = False
    """Whether the receiving end opens the session and asks; else the sending end does."""
    direction: str = "up"
    """The way it usually goes."""


def _cbr_params(flow: FlowSpec) -> dict[str, Any]:
    return {
        "rate_bps": flow.rate_bps,
        "message_size_bytes": flow.packet_bytes,
        "duration_s": flow.duration_s,
    }


def _vbr_params(flow: FlowSpec) -> dict[str, Any]:
    return {
        "peak_rate_bps": flow.rate_bps,
        "message_size_bytes": flow.packet_bytes,
        "mean_on_s": flow.mean_on_s,
        "mean_off_s": flow.mean_off_s,
        "duration_s": flow.duration_s,
    }


def _longest_of_duration_s(flow: FlowSpec) -> float:
    return (flow.duration_s or 0.0) + DRAIN_S


def _bulk_params(flow: FlowSpec) -> dict[str, Any]:
    params = {"size_bytes": flow.size_bytes, "message_size_bytes": flow.packet_bytes}
    return params if flow.rate_bps is None else {**params, "rate_bps": flow.rate_bps}


def _bulk_longest_s(flow: FlowSpec) -> float:
    slowest_bps = min(SLOWEST_BPS, flow.rate_bps or SLOWEST_BPS)
    return (flow.size_bytes or 0) * 8 / slowest_bps + DRAIN_S


def _periodic_s(flow: FlowSpec) -> float:
    """How long messages fall due: `count` of them are as many intervals."""
    return flow.duration_s if flow.duration_s is not None else (flow.count or 1) * (flow.interval_s or 0.0)


def _periodic_params(flow: FlowSpec) -> dict[str, Any]:
    return {
        "message_size_bytes": flow.size_bytes,
        "interval_s": flow.interval_s,
        "duration_s": _periodic_s(flow),
        "connection": flow.connection or "kept",
    }


def _periodic_longest_s(flow: FlowSpec) -> float:
    return _periodic_s(flow) + DRAIN_S


def _files_params(flow: FlowSpec) -> dict[str, Any]:
    return {"size_bytes": flow.size_bytes, "objects": [{"object": "file", "size_bytes": flow.size_bytes}]}


def _voip_params(flow: FlowSpec) -> dict[str, Any]:
    params = {"duration_s": flow.duration_s}
    return params if flow.codec is None else {**params, "codec": flow.codec}


FRAME_RATE_HZ = 25.0
"""Of video, where the file names none."""
VIDEO_PACKET_BYTES = 1100
"""The longest packet of video with RTP's header: it fits a datagram of QUIC before that has found out that
the path takes more than 1,200 bytes (RFC 9000, section 14.1)."""
PLAYOUT_S = 0.16
"""How long after its capture a frame of video is shown, where the file does not say: the delay up to which a
packet of a call is in time (gauntlet.metrics.kpis.voip)."""


def _video_params(flow: FlowSpec) -> dict[str, Any]:
    params = {
        "rate_bps": flow.rate_bps,
        "duration_s": flow.duration_s,
        "frame_rate_hz": flow.frame_rate_hz or FRAME_RATE_HZ,
        "packet_bytes": VIDEO_PACKET_BYTES,
        "playout_s": flow.playout_s or PLAYOUT_S,
    }
    return params if flow.gop_frames is None else {**params, "gop_frames": flow.gop_frames}


LONGEST_PAGE_S = 600.0
"""Virtual seconds granted for a page and for reading it: half a minute on average, drawn, and the loading."""


def _safety_params(flow: FlowSpec) -> dict[str, Any]:
    params = {
        "kind": flow.kind,
        "interval_s": flow.interval_s,
        "duration_s": flow.duration_s,
        "bound_s": flow.bound_s,
        "freshness": flow.freshness is not False,
        **({} if flow.threat is None else {"threat": dict(flow.threat)}),
        **({} if flow.warm_up_s is None else {"warm_up_s": flow.warm_up_s}),
        **({} if flow.reopen_after_s is None else {"reopen_after_s": flow.reopen_after_s}),
        **({} if flow.reopen_most is None else {"reopen_most": flow.reopen_most}),
    }
    return params if flow.size_bytes is None else {**params, "message_size_bytes": flow.size_bytes}


DIRECTIONS = MappingProxyType({"position-report": "up", "movement-authority": "down"})
"""The kinds of messages of the application safety, and the way that each goes."""


WEB_PAGES = ("drawn", "fixed")
"""Pages of the application web."""


def _web_params(flow: FlowSpec) -> dict[str, Any]:
    return {"pages": flow.pages or 1, "page": flow.page or "drawn"}


def _web_longest_s(flow: FlowSpec) -> float:
    return (flow.pages or 1) * LONGEST_PAGE_S + DRAIN_S


LONGEST_OBJECT_S = 10.0
"""Virtual seconds granted for each file of a page besides its bytes: its handshakes, with losses."""


def _page_params(flow: FlowSpec) -> dict[str, Any]:
    params = {"http": flow.http, "objects": flow.objects, "size_bytes": flow.size_bytes}
    return params if flow.connections is None else {**params, "connections": flow.connections}


def _page_longest_s(flow: FlowSpec) -> float:
    return _bulk_longest_s(flow) + LONGEST_OBJECT_S * len(flow.objects)


def _ftp(programs: ExternalStack) -> App:
    return App(
        programs.name,
        ("size",),
        (),
        _files_params,
        _bulk_longest_s,
        stacks=frozenset({"tcp"}),
        external=programs,
        receiver_opens=True,
    )


_ALL = (
    App("cbr", ("rate", "duration"), (), _cbr_params, _longest_of_duration_s),
    App("bulk", ("size",), ("rate",), _bulk_params, _bulk_longest_s),
    App("vbr", ("rate", "mean_on", "mean_off", "duration"), (), _vbr_params, _longest_of_duration_s),
    App(
        "periodic",
        ("size", "interval"),
        ("count", "duration", "connection", "sessions"),
        _periodic_params,
        _periodic_longest_s,
    ),
    App(
        "safety",
        ("kind", "interval", "duration", "bound"),
        ("size", "freshness", "sessions", "warm_up", "reopen_after", "reopen_most"),
        _safety_params,
        _longest_of_duration_s,
    ),
    App("voip", ("duration",), ("codec",), _voip_params, _longest_of_duration_s),
    App(
        "video",
        ("rate", "duration"),
        ("frame_rate", "gop", "playout"),
        _video_params,
        _longest_of_duration_s,
    ),
    App("web", (), ("pages", "page"), _web_params, _web_longest_s),
    App(
        "page",
        ("page", "http"),
        ("connections",),
        _page_params,
        _page_longest_s,
        stacks=pages.STACKS,
        own_programs=True,
        receiver_opens=True,
        direction="down",
    ),
    _ftp(FTP),
    _ftp(FTPS),
    App(
        "files",
        ("size",),
        (),
        _files_params,
        _bulk_longest_s,
        stacks=frozenset({STACK}),
        receiver_opens=True,
    ),
)
APPS: Mapping[str, App] = MappingProxyType({entry.name: entry for entry in _ALL})
"""Every application by name."""
ALL_KEYS = frozenset(key for entry in _ALL for key in (*entry.keys, *entry.optional))
"""Keys of a flow that belong to some applications only."""


def longest_s(flow: FlowSpec, round_trip_s: float) -> float:
    """Virtual seconds from its start after which a flow has surely failed, over this round trip."""
    waiting_s = max(0.0, min(PATIENT_ROUND_TRIPS * round_trip_s, LONGEST_WAIT_S) - DRAIN_S)
    return app(flow.app).longest_s(flow) + waiting_s


def app(name: str) -> App:
    """Look an application up; UserError names those there are."""
    if name in APPS:
        return APPS[name]
    close = difflib.get_close_matches(name, APPS, n=1)
    hint = f"did you mean '{close[0]}'?" if close else "choose one that is known"
    raise UserError(f"unknown application '{name}'; {hint} (known: {', '.join(APPS)}).")
