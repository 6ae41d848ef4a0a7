"""Where plans are played: on the cores of this machine, or by the workers of a cluster."""

from collections.abc import Mapping

from gauntlet.engine.contract import Engine
from gauntlet.executor.address import Cluster
from gauntlet.executor.contract import Executor
from gauntlet.executor.local import Local
from gauntlet.executor.play import Pack, Player


def opened(place: Cluster | int, engine: Engine, pack: Pack, code: Mapping[str, str], jobs: int) -> Executor:
    """An executor for so many jobs: on this machine with `place` workers at most, or on a cluster.

    `pack` and `code` are what packs records and what decides how (`gauntlet.packing`). Raises UserError for
    a number or an address that cannot be, RunError when nobody answers there.
    """
    if isinstance(place, int):
        return Local(Player(engine, pack), min(place, jobs))
    place.check()
    from gauntlet.executor.cluster import Dask

    return Dask(place, {"engine": engine.identity(), "code": code})
