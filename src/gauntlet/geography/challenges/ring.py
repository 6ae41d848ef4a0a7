"""A circle on the Earth for some time, as a challenge is drawn."""

from dataclasses import dataclass
from typing import Any

from gauntlet.geography.sphere import Place


@dataclass(frozen=True)
class Ring:
    """From `from_s` to `to_s`; both are the same where it is one moment of a storm on its way."""

    middle: Place
    radius_km: float
    from_s: float
    to_s: float
    at_largest: bool = False
    """Whether it is smaller at other times between them."""

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "latitude": round(self.middle.latitude, 4),
            "longitude": round(self.middle.longitude, 4),
            "radius_km": self.radius_km,
            "from_s": self.from_s,
            "to_s": self.to_s,
        }
