"""A machine that plays runs for others: Dask workers, one a core, each with the engine installed here.

`gauntlet worker` starts them. A cluster that starts Dask workers itself (dask-jobqueue) has them load this
module: `--preload gauntlet.worker`.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from gauntlet import packing
from gauntlet.engine.cores import usable_cores
from gauntlet.errors import RunError, UserError
from gauntlet.executor import engines
from gauntlet.executor.address import Cluster
from gauntlet.executor.play import Player
from gauntlet.executor.reach import reach
from gauntlet.executor.silence import silence

if TYPE_CHECKING:
    from distributed import Nanny, Worker

_ANSWER_S = 30.0
"""How long a scheduler is waited for."""

_START_S = 300.0
"""How long workers may take to start once there is one; many of them start at a time, from slow disks too."""


def serve(
    cluster: Cluster, workers: int | None = None, on_ready: Callable[[int], None] | None = None
) -> bool:
    """Play runs for whoever asks the scheduler, until SIGTERM, SIGINT or the scheduler's end; returns whether
    it was a signal.

    `workers` is how many runs play at a time (default: one a core); `on_ready` is told when they are known
    to the scheduler. Raises UserError for a number or an address that cannot be, RunError when the engine is
    not installed or no scheduler answers.
    """
    cores = len(usable_cores())
    workers = cores if workers is None else workers
    if not 1 <= workers <= cores:
        raise UserError(
            f"{workers} workers were asked for and this host lets us use {cores} cores; ask for 1 to {cores}."
        )
    cluster.check()
    engines.installed().identity()  # what is missing is said here, and not by each worker
    return asyncio.run(_serve(cluster, workers, on_ready or (lambda _workers: None)))


async def dask_setup(worker: "Worker") -> None:
    """What Dask calls in each worker before it tells its scheduler of it."""
    from gauntlet.executor.cluster_worker import Station

    if worker.nanny is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: its nanny ends it
    try:
        player = Player(engines.installed(), packing.packed)
        await worker.plugin_add(Station(player, packing.code()), catch_errors=False)
    except Exception as error:
        # Dask would go on without; who is asked for its suit says that it is no worker of Gauntlet.
        print(f"This worker cannot play runs: {error}", file=sys.stderr, flush=True)
        raise


async def _serve(cluster: Cluster, workers: int, on_ready: Callable[[int], None]) -> bool:
    import dask
    from distributed import Nanny

    # The processes of workers have one of their own each, in which runs are played.
    dask.config.set({"distributed.worker.daemon": False})
    silence()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    stopped = asyncio.ensure_future(stop.wait())
    if not await _before(stopped, reach(cluster, _ANSWER_S)):
        return True
    nannies = [
        Nanny(
            cluster.address,
            nthreads=1,
            memory_limit=0,
            preload=[__name__],
            security=cluster.security(),
            silence_logs=logging.CRITICAL,
            death_timeout=_START_S,
            dashboard=False,
        )
        for _ in range(workers)
    ]
    try:
        if await _before(stopped, _start(nannies, cluster)):
            on_ready(workers)
            await _before(stopped, _end(nannies))
        return stopped.done()
    finally:
        await asyncio.gather(*(nanny.close(timeout=5) for nanny in nannies), return_exceptions=True)


async def _before(stopped: "asyncio.Future[Any]", work: Coroutine[Any, Any, None]) -> bool:
    """Wait for work, at most until a signal comes; whether it was done. Raises what the work raises."""
    doing = asyncio.create_task(work)
    await asyncio.wait([doing, stopped], return_when=asyncio.FIRST_COMPLETED)
    if not doing.done():
        doing.cancel()
        await asyncio.wait([doing])
        return False
    doing.result()
    return True


async def _start(nannies: "Sequence[Nanny]", cluster: Cluster) -> None:
    """Start workers and have them known to the scheduler. Raises RunError."""
    try:
        await asyncio.wait_for(asyncio.gather(*nannies), _START_S)
    except (OSError, ValueError, RuntimeError) as error:
        raise RunError(
            f"The workers for {cluster.address} did not start within {_START_S:.0f} s "
            f"({error or type(error).__name__}); try fewer (--workers)."
        ) from None


async def _end(nannies: "Sequence[Nanny]") -> None:
    """Wait until all workers have ended."""
    for nanny in nannies:
        await nanny.finished()
