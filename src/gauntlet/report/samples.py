"""What results tell of the samples of each flow, each distribution read once."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from gauntlet.errors import NotMeasured
from gauntlet.metrics.message_quantiles import MESSAGE_DELAYS, message_delays
from gauntlet.metrics.quantity import DISTRIBUTIONS, Kept
from gauntlet.results.reader import Results


@dataclass(frozen=True)
class Samples:
    """Distributions by run and flow: quantiles as tables keep them, of single messages all."""

    results: Results
    trusted: AbstractSet[str]
    """Runs whose messages are read one by one, since no table has them."""
    singly: bool
    """Whether they are read for a quantile that a table tells too, linear between two messages."""
    _read: dict[str, Mapping[tuple[str, int], Kept]] = field(default_factory=dict)

    def of(self, name: str) -> Mapping[tuple[str, int], Kept]:
        """One of `DISTRIBUTIONS`. Raises NotMeasured for one that results do not have."""
        if name not in self._read:
            self._read.update(self._found(name))
        return self._read[name]

    def _found(self, name: str) -> dict[str, Mapping[tuple[str, int], Kept]]:
        table, column, _ = DISTRIBUTIONS[name]
        if column in MESSAGE_DELAYS:
            read = message_delays(self.results, self.trusted)
            return {
                other: {key: Kept.of_samples(each[MESSAGE_DELAYS.index(of)]) for key, each in read.items()}
                for other, (_, of, _) in DISTRIBUTIONS.items()
                if of in MESSAGE_DELAYS
            }
        if table != "delays":
            raise NotMeasured(f"Results keep no quantiles of {name}.")
        kept = self.results.by_flow(table, ("level", column))
        return {name: {key: Kept(each["level"], each[column].astype(float)) for key, each in kept.items()}}
