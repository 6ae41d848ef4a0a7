"""Results of the study that no KPI holds, for claims to name."""

from collections.abc import Mapping

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.ratios import ratio
from gauntlet.studies.model import NotMeasured, Value
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary


def _harq_gain(summary: Summary) -> Mean:
    """HARQ's throughput over TCP's at 10 % packet errors, over the same ratio at 1 %, by repetition; the
    geometric mean.
    """
    quantity = Quantity("throughput_bps")
    values = {
        (protocol, loss): by_repetition(
            summary, "files-loss", {"protocol": protocol, "loss": loss}, quantity
        ).values
        for protocol in ("restp-3wh-harq", "tcp-reno")
        for loss in (0.01, 0.1)
    }
    shared = set.intersection(*(set(of) for of in values.values()))
    above, below = (
        [
            values["restp-3wh-harq", one][number] * values["tcp-reno", other][number]
            for number in sorted(shared)
        ]
        for one, other in ((0.1, 0.01), (0.01, 0.1))
    )
    found = ratio(above, below).mean if shared else None
    if found is None:
        raise NotMeasured("files-loss has no repetition with both protocols at 1 and 10 %.")
    return found


VALUES: Mapping[str, Value] = {"harq-gain-at-10-over-1": _harq_gain}
"""By the name that a claim of the kind `value` gives."""
