"""What a set of paths should be like: how many, how far apart, how much longer, how differently late."""

from dataclasses import dataclass

from gauntlet.errors import UserError
from gauntlet.geography.network import Network, Path


@dataclass(frozen=True)
class Wanted:
    """k d-geodiverse paths within stretch h and skew t, as ResTP asks GeoDivRP for them.

    Raises UserError for what no set of paths can be.
    """

    paths: int
    """k"""
    apart_km: float
    """d: the least distance between any two of them (`separation`)."""
    stretch_hops: int | None = None
    """h: hops that a path may have beyond those of the shortest path; None: any number."""
    skew_s: float | None = None
    """t: the greatest difference of their delays; None: any."""

    def __post_init__(self) -> None:
        if self.paths < 1:
            raise UserError(f"{self.paths} paths: ask for one at least.")
        bounds: list[tuple[float | None, str]] = [
            (self.apart_km, "distance of paths"),
            (self.stretch_hops, "stretch"),
            (self.skew_s, "skew"),
        ]
        for value, what in bounds:
            if value is not None and not value >= 0:
                raise UserError(f"The {what} is {value:g}; give 0 or more.")

    def hops(self, shortest: Path) -> int | None:
        """The greatest number of links of a path, where a bound was given."""
        return None if self.stretch_hops is None else len(shortest) - 1 + self.stretch_hops

    def takes(self, network: Network, shortest: Path, path: Path) -> bool:
        """Whether a path keeps stretch and skew beside the shortest one."""
        hops = self.hops(shortest)
        late_s = network.delay_s(path) - network.delay_s(shortest)
        return (hops is None or len(path) - 1 <= hops) and (self.skew_s is None or late_s <= self.skew_s)
