"""How a video call looks: frames late and missing, and how long the picture stands.

A receiver shows each frame a fixed time after it was captured (`playout_s` of the plan). A frame of which
a packet is missing by then is not shown. Nor is one that needs an earlier frame which was not: all up to the
next I frame. Meanwhile the picture stands. A call has as many frames as it was to have: those that were
never handed over are missing like those that were lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi

INTRA = "I"
"""What a frame that needs no other is called in the record."""

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Frames:
    """What became of each frame of a call, in order."""

    whole: _Flags
    """Whether all of it ever arrived."""
    in_time: _Flags
    """Whether it did before it was to be shown."""
    shown: _Flags
    """Whether it was in time, and so were all that it needs."""

    @classmethod
    def of(cls, flow: FlowData) -> Frames | None:
        """Those of a video call; None for other flows, and where frames were not recorded."""
        if not is_video(flow) or not flow.exchanges:
            return None
        delays_s = np.array([_delay_s(row) for row in flow.exchanges])
        in_time = delays_s <= float(flow.plan["app_params"]["playout_s"])
        shown = in_time.copy()
        for number, row in enumerate(flow.exchanges):
            if row["object"] != INTRA:
                shown[number] &= number > 0 and shown[number - 1]
        return cls(np.isfinite(delays_s), in_time, shown)

    @property
    def freezes(self) -> int:
        """How often the picture began to stand."""
        standing = np.concatenate(([0], (~self.shown).astype(np.int8)))
        return int((np.diff(standing) == 1).sum())


def is_video(flow: FlowData) -> bool:
    """Whether a flow is a video call."""
    return flow.record.get("app") == "video"


def never_began(flow: FlowData) -> bool:
    """Whether a video call's session never came about: nobody saw anything."""
    return is_video(flow) and not flow.sent_ns.size and flow.never_established


def _delay_s(row: Mapping[str, Any]) -> float:
    """From capture to the arrival of the last packet; infinite where one did not arrive."""
    if row["completed_ns"] is None:
        return float("inf")
    return (int(row["completed_ns"]) - int(row["requested_ns"])) / NS_PER_S


def missing_ratio(flow: FlowData) -> float | None:
    """Share of the frames of which some packet never arrived."""
    if never_began(flow):
        return 1.0
    frames = Frames.of(flow)
    return None if frames is None else float((~frames.whole).mean())


def late_ratio(flow: FlowData) -> float | None:
    """Share of the frames that were whole only after they were to be shown."""
    frames = Frames.of(flow)
    return None if frames is None else float((frames.whole & ~frames.in_time).mean())


def frozen_ratio(flow: FlowData) -> float | None:
    """Share of the time in which the picture stands: a frame is shown for as long as any other."""
    if never_began(flow):
        return 1.0
    frames = Frames.of(flow)
    return None if frames is None else float((~frames.shown).mean())


def freezes_per_min(flow: FlowData) -> float | None:
    """How often a minute the picture begins to stand."""
    frames = Frames.of(flow)
    if frames is None:
        return None
    return 60.0 * frames.freezes / float(flow.plan["app_params"]["duration_s"])


_share = partial(Kpi, most=1.0, shown_unit="%", shown_factor=100.0, higher_is_better=False)

KPIS = (
    _share(
        name="video_missing_ratio",
        label="Video frames missing",
        definition="Share of the frames of a video call of which some packet never reached the receiving "
        "application, among them those that were not handed over. Of a call that was never established: "
        "100 %.",
        of_nothing=1.0,
        of_flow=missing_ratio,
    ),
    _share(
        name="video_late_ratio",
        label="Video frames late",
        definition="Share of the frames of a video call that were whole only after they were to be shown: "
        "160 ms after their capture unless the experiment says otherwise. A call that failed counts with "
        "100 %, for what it did not bring is in no delay.",
        of_arrived=True,
        of_flow=late_ratio,
    ),
    _share(
        name="video_frozen_ratio",
        label="Video frozen",
        definition="Share of the time of a video call in which the picture stands: a frame that is missing "
        "or late is not shown, nor are those that need it, up to the next I frame. Of a call that was never "
        "established: 100 %.",
        of_nothing=1.0,
        of_flow=frozen_ratio,
    ),
    Kpi(
        name="video_freezes_per_min",
        label="Video freezes",
        shown_unit="1/min",
        shown_factor=1.0,
        higher_is_better=False,
        definition="How often the picture of a video call begins to stand, a minute. One that stands all the "
        "time does so once: look at the share of time too.",
        of_flow=freezes_per_min,
    ),
)
