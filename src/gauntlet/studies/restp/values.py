"""Results of the study that no KPI holds, for claims to name."""

from collections.abc import Mapping

from gauntlet.metrics.intervals import Mean, mean
from gauntlet.studies.model import NotMeasured, Value
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary


def _harq_gain(summary: Summary) -> Mean:
    """HARQ's throughput over TCP's at 10 % packet errors, over the same ratio at 1 %, by repetition."""
    quantity = Quantity("throughput_bps")
    values = {
        (protocol, loss): by_repetition(
            summary, "files-loss", {"protocol": protocol, "loss": loss}, quantity
        ).values
        for protocol in ("restp-3wh-harq", "tcp-reno")
        for loss in (0.01, 0.1)
    }
    shared = set.intersection(*(set(of) for of in values.values()))
    ratios = [
        (values["restp-3wh-harq", 0.1][number] / values["tcp-reno", 0.1][number])
        / (values["restp-3wh-harq", 0.01][number] / values["tcp-reno", 0.01][number])
        for number in sorted(shared)
    ]
    if not ratios:
        raise NotMeasured("files-loss has no repetition with both protocols at 1 and 10 %.")
    return mean(ratios)


VALUES: Mapping[str, Value] = {"harq-gain-at-10-over-1": _harq_gain}
"""By the name that a claim of the kind `value` gives."""
