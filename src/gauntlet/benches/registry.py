"""The benches that there are, by name."""

from gauntlet.benches.contract import Bench

_ALL: tuple[Bench, ...] = ()

BENCHES: dict[str, Bench] = {it.name: it for it in _ALL}
