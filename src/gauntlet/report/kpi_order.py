"""The order in which a report shows KPIs."""

from collections.abc import Iterable

KPI_ORDER = (
    "capacity_utilisation",
    "throughput_bps",
    "download_time_s",
    "delay_median_s",
    "delay_p95_s",
    "message_loss_ratio",
    "sender_drop_ratio",
    "retransmission_ratio",
    "jain_index",
)
"""The order in which KPIs are shown; others follow by name."""


def in_order(names: Iterable[str]) -> list[str]:
    """Names of KPIs in that order."""
    order = {name: position for position, name in enumerate(KPI_ORDER)}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))
