"""How a telephone call sounds: packets lost and late, and the mean opinion score of the E-model.

A receiver plays each packet a fixed time after it was sent; what has not arrived by then is late, which for
the listener is as good as lost. A call lasts as long as it was to last: of one that broke off, the packets
that were no longer handed over are missing like those that were lost.
"""

import math

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.kpis.delay import delays_s

PLAYOUT_S = 0.16
"""Delay above which a packet is late (dissertation on ResTP, section 4.5)."""
PACKET_S = 0.02
"""Speech in a packet, which the sender collects first (G.711 in packets of 20 ms: RFC 3551, section 4.2)."""
BASIC_RATING = 93.2
"""Rating of ITU-T G.107 with every parameter at its default and without delay and loss (section 7.7)."""
G711 = "g711"
"""What the E-model's numbers here are of, with the plan's word; calls whose plan names no codec are of it."""
ROBUSTNESS_PERCENT = 25.1
"""Bpl of G.711 with packet loss concealment; its Ie is 0 (ITU-T G.113, Appendix I)."""
MOST_EQUIPMENT_IMPAIRMENT = 95.0
"""Ie-eff when everything is lost (G.107, eq. 7-29)."""


def _is_call(flow: FlowData) -> bool:
    return flow.record.get("app") == "voip" and flow.sent_ns.size > 0


def _never_began(flow: FlowData) -> bool:
    """Whether the call's session never came about: nobody heard anything."""
    return flow.record.get("app") == "voip" and not flow.sent_ns.size and flow.never_established


def _packets(flow: FlowData) -> int:
    """How many the whole call has: one an interval for as long as it was to last, whatever became of it."""
    params = flow.plan.get("app_params", {})
    handed_over = int(flow.sent_ns.size)
    if params.get("duration_s") is None:
        return handed_over
    due = float(params["duration_s"]) / float(params.get("interval_s", PACKET_S))
    # What the division leaves behind a whole number is rounding.
    return max(handed_over, math.ceil(due - 1e-6))


def lost_ratio(flow: FlowData) -> float | None:
    """Share of the packets of the call that never arrived."""
    if _never_began(flow):
        return 1.0
    return 1.0 - int(flow.arrived.sum()) / _packets(flow) if _is_call(flow) else None


def late_ratio(flow: FlowData) -> float | None:
    """Share of the packets of the call that arrived too late to be played."""
    return int((delays_s(flow) > PLAYOUT_S).sum()) / _packets(flow) if _is_call(flow) else None


def delay_deviation_s(flow: FlowData) -> float | None:
    """Standard deviation of the one-way delay of the packets that arrived."""
    return float(delays_s(flow).std()) if _is_call(flow) and flow.arrived.any() else None


def delay_impairment(delay_s: float) -> float:
    """Idd of the E-model for a delay from mouth to ear (G.107, eqs. 7-27 and 7-28)."""
    if delay_s <= 0.1:
        return 0.0
    x = math.log2(delay_s / 0.1)
    return 25 * (math.pow(1 + math.pow(x, 6), 1 / 6) - 3 * math.pow(1 + math.pow(x / 3, 6), 1 / 6) + 2)


def loss_impairment(missing_percent: float, burst_ratio: float) -> float:
    """Ie-eff of the E-model for G.711 (G.107, eq. 7-29)."""
    if missing_percent == 0:
        return 0.0
    return MOST_EQUIPMENT_IMPAIRMENT * missing_percent / (missing_percent / burst_ratio + ROBUSTNESS_PERCENT)


def opinion_score(rating: float) -> float:
    """Mean opinion score, 1 to 4.5, of a rating (G.107, Annex B)."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)


def mos(flow: FlowData) -> float | None:
    """The mean opinion score of the call; the worst there is for one of which nothing was heard. None for
    codecs that ITU-T G.113 has no values of on the scale of telephone speech (Opus).
    """
    if flow.plan.get("app_params", {}).get("codec", G711) != G711:
        return None
    if _never_began(flow):
        return 1.0
    if not _is_call(flow):
        return None
    missing = np.ones(_packets(flow), np.bool_)
    missing[: flow.sent_ns.size] = ~flow.arrived | (flow.received_ns - flow.sent_ns > PLAYOUT_S * NS_PER_S)
    if missing.all():
        # The model has no value for it: under random loss a burst would have no end.
        return 1.0
    share = float(missing.mean())
    starts = int(missing[0]) + int((np.diff(missing.astype(np.int8)) == 1).sum())
    # Mean length of bursts over that under random loss, 1 / (1 - p) (G.107, section 7.5).
    burst_ratio = max(1.0, missing.sum() / starts * (1 - share)) if starts else 1.0
    delayed = delay_impairment(PLAYOUT_S + PACKET_S)
    return opinion_score(BASIC_RATING - delayed - loss_impairment(100 * share, burst_ratio))


KPIS = (
    Kpi(
        name="voip_lost_ratio",
        most=1.0,
        label="Speech packets lost",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=False,
        definition="Share of the packets of a call that never reached the receiving application. A call has "
        "as many as it was to have: those that were no longer handed over when it broke off are lost, and of "
        "a call that was never established all.",
        of_nothing=1.0,
        of_flow=lost_ratio,
    ),
    Kpi(
        name="voip_late_ratio",
        most=1.0,
        label="Speech packets late",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=False,
        definition="Share of the packets of a call whose one-way delay exceeded 160 ms, so that they arrived "
        "too late to be played. A call that failed counts with 100 %, for what it did not bring is in no "
        "delay.",
        of_arrived=True,
        of_flow=late_ratio,
    ),
    Kpi(
        name="voip_delay_deviation_s",
        label="Speech packets' delay, standard deviation",
        shown_unit="ms",
        shown_factor=1e3,
        higher_is_better=False,
        definition="Standard deviation of the one-way delay of the packets of a call that arrived. A call "
        "that failed counts with its run's limit.",
        of_arrived=True,
        of_flow=delay_deviation_s,
    ),
    Kpi(
        name="voip_mos",
        least=1.0,
        most=4.5,
        label="Mean opinion score",
        shown_unit="",
        shown_factor=1.0,
        higher_is_better=True,
        definition="What listeners would say of the call on a scale from 1 (bad) to 4.5 (the best there is), "
        "estimated by the E-model (ITU-T G.107) for G.711 with loss concealment (G.113): each packet is "
        "played 160 ms after it was sent, and packets that are lost or late are missing, as are those that "
        "were no longer handed over when the call broke off. Nobody hears an echo. A call of which nothing "
        "was heard has 1; one with Opus has none, for G.113 gives no values for it on this scale.",
        of_nothing=1.0,
        of_flow=mos,
    ),
)
