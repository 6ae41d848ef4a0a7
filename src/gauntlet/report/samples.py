"""Quantiles that results keep of each flow, each distribution read once."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from gauntlet.errors import NotMeasured
from gauntlet.metrics.message_quantiles import LEVELS, MESSAGE_DELAYS, message_quantiles
from gauntlet.metrics.quantity import DISTRIBUTIONS
from gauntlet.metrics.steps import Floats
from gauntlet.results.reader import Results


@dataclass(frozen=True)
class Samples:
    """Levels and quantiles of distributions by run and flow."""

    results: Results
    trusted: AbstractSet[str]
    """Runs whose messages are read one by one, where no table has their quantiles."""
    _read: dict[str, Mapping[tuple[str, int], tuple[Floats, Floats]]] = field(default_factory=dict)

    def of(self, name: str) -> Mapping[tuple[str, int], tuple[Floats, Floats]]:
        """One of `DISTRIBUTIONS`. Raises NotMeasured for one that results do not have."""
        if name not in self._read:
            self._read.update(self._found(name))
        return self._read[name]

    def _found(self, name: str) -> dict[str, dict[tuple[str, int], tuple[Floats, Floats]]]:
        table, column, _ = DISTRIBUTIONS[name]
        if column in MESSAGE_DELAYS:
            read = message_quantiles(self.results, self.trusted)
            return {
                other: {key: (LEVELS, each[MESSAGE_DELAYS.index(of)]) for key, each in read.items()}
                for other, (_, of, _) in DISTRIBUTIONS.items()
                if of in MESSAGE_DELAYS
            }
        if table != "delays":
            raise NotMeasured(f"Results keep no quantiles of {name}.")
        kept = self.results.by_flow(table, ("level", column))
        return {name: {key: (each["level"], each[column].astype(float)) for key, each in kept.items()}}
