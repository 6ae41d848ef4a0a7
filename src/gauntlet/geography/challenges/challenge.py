"""A challenge with its name: what it takes from a network, and how it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gauntlet.errors import UserError
from gauntlet.geography.challenges.outages import Outages
from gauntlet.geography.challenges.ring import Ring
from gauntlet.geography.network import Network


@dataclass(frozen=True)
class Challenge:
    """What fails, from when to when; `rings` is empty where it has no shape."""

    name: str
    takes: Callable[[Network], Outages]
    rings: Sequence[Ring] = ()
    otherwise: str = ""
    """What to take where this one passes a network by, as the end of a sentence."""

    def outages(self, network: Network) -> Outages:
        """What it does to a network. Raises UserError where it reaches nothing of it."""
        found = self.takes(network)
        if not found.links:
            raise UserError(
                f"The challenge '{self.name}' reaches nothing of {network.name}; {self.otherwise}."
            )
        return found
