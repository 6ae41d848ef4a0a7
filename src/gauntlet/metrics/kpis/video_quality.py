"""What viewers would say of a video call: the video quality of ITU-T G.1070.

```
    coding:  I = Iofr exp(-(ln Fr - ln Ofr)^2 / (2 DFr^2))        Ofr   best frame rate at this bit rate
    loss:    Vq = 1 + I exp(-Ppl / DPpl)                          Iofr  I at that frame rate
```

All of Ofr, Iofr, DFr and DPpl follow from bit rate Br and frame rate Fr by twelve coefficients, which belong
to a codec, a format, a screen and an interval of key frames. **Those here are provisional.** G.1070 calls its
own so. Those here are the same, digit by digit, in two public programs that cite it (one of them says: H.264,
VGA, a key frame each second, as `app = "video"` sends it), and were not held against its own text.
Use what comes out to compare transports under one source, not as what an own codec would get.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gauntlet.metrics.flow import NEVER_NS, NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.kpis.video import is_video, never_began

RTP_HEADER_BYTES = 12
"""Of every packet (RFC 3550, section 5.1)."""
BEST_FRAME_RATES_HZ = (1.0, 30.0)
"""Within which Ofr lies (G.1070)."""
BEST_CODING = 4.0
"""The most that Iofr and Icoding can be: Vq ends at 5."""


@dataclass(frozen=True)
class Coefficients:
    """v1 to v12 of G.1070; bit rates in kbit/s, frame rates in Hz, losses in percent."""

    v: tuple[float, ...]

    def __getitem__(self, number: int) -> float:
        """By the number that the recommendation gives it."""
        return self.v[number - 1]


H264_VGA = Coefficients(
    (5.517, 0.0129, 3.459, 178.53, 1.02, 1.15, 0.000355, 0.114, 513.77, 0.736, -6.451, 13.684)
)
"""H.264, VGA, 9.2 inches; provisional (see above)."""


def coding_quality(rate_kbps: float, frame_rate_hz: float, of: Coefficients = H264_VGA) -> float:
    """Icoding: how far above 1 the quality is without loss."""
    lowest, highest = BEST_FRAME_RATES_HZ
    best_hz = min(max(of[1] + of[2] * rate_kbps, lowest), highest)
    at_best = of[3] - of[3] / (1 + math.pow(rate_kbps / of[4], of[5]))
    robustness = of[6] + of[7] * rate_kbps
    apart = math.log(frame_rate_hz) - math.log(best_hz)
    return min(max(at_best, 0.0), BEST_CODING) * math.exp(-(apart**2) / (2 * robustness**2))


def loss_robustness(rate_kbps: float, frame_rate_hz: float, of: Coefficients = H264_VGA) -> float:
    """DPpl: the loss in percent that leaves 1/e of what coding left."""
    return of[10] + of[11] * math.exp(-frame_rate_hz / of[8]) + of[12] * math.exp(-rate_kbps / of[9])


def video_quality(rate_kbps: float, frame_rate_hz: float, lost_percent: float) -> float:
    """Vq, from 1 to 5."""
    kept = math.exp(-lost_percent / loss_robustness(rate_kbps, frame_rate_hz))
    return 1 + coding_quality(rate_kbps, frame_rate_hz) * kept


def unplayed_ratio(flow: FlowData) -> float | None:
    """Share of the packets of a video call that were not there when their frame was to be shown; None for
    other flows, and where frames were not recorded.
    """
    if not is_video(flow) or not flow.exchanges:
        return None
    params = flow.plan["app_params"]
    payload_bytes = int(params["packet_bytes"]) - RTP_HEADER_BYTES
    sizes = np.array([int(row["size_bytes"]) for row in flow.exchanges])
    captured_ns = np.array([int(row["requested_ns"]) for row in flow.exchanges])
    due_ns = np.repeat(captured_ns, -(-sizes // payload_bytes)) + float(params["playout_s"]) * NS_PER_S
    there = np.zeros(len(due_ns), np.bool_)
    came_ns = flow.received_ns[: len(due_ns)]
    there[: len(came_ns)] = (came_ns != NEVER_NS) & (came_ns <= due_ns[: len(came_ns)])
    return float((~there).mean())


def of_call(flow: FlowData) -> float | None:
    """The quality of a call; the worst there is for one of which nothing was seen."""
    if never_began(flow):
        return 1.0
    lost = unplayed_ratio(flow)
    if lost is None:
        return None
    params = flow.plan["app_params"]
    return video_quality(float(params["rate_bps"]) / 1e3, float(params["frame_rate_hz"]), 100 * lost)


KPIS = (
    Kpi(
        name="video_quality",
        least=1.0,
        most=5.0,
        label="Video quality (G.1070)",
        shown_unit="",
        shown_factor=1.0,
        higher_is_better=True,
        definition="What viewers would say of a video call on a scale from 1 (bad) to 5, estimated by ITU-T "
        "G.1070 for H.264 in VGA with provisional coefficients, from bit rate, frame rate and the share of "
        "packets that are lost, or late when their frame is to be shown. A call of which nothing was seen "
        "has 1.",
        of_nothing=1.0,
        of_flow=of_call,
    ),
)
