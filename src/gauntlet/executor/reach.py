"""Whether a scheduler answers, asked before Dask begins: where something else listens Dask waits for ever."""

import asyncio

from gauntlet.errors import RunError
from gauntlet.executor.address import Cluster


async def reach(cluster: Cluster, patience_s: float) -> None:
    """See that a scheduler answers, within so many seconds. Raises RunError with what the system said."""
    from distributed.core import rpc

    scheduler = rpc(cluster.address, connection_args=cluster.security().get_connection_args("client"))
    try:
        await asyncio.wait_for(scheduler.identity(), patience_s)
    except Exception as error:  # whatever the other side is, Dask stumbles over its words in many ways
        raise RunError(
            f"No scheduler answers at {cluster.address} within {patience_s:.0f} s{_cause(error)}; is `dask "
            "scheduler` running there, and does it speak TLS exactly when the address begins with tls://?"
        ) from None
    finally:
        await scheduler.close_rpc()


def _cause(error: BaseException) -> str:
    """What the system said at the bottom of an error, in brackets, if it said anything."""
    below = error.__cause__ or error.__context__
    if below is not None and (said := _cause(below)):
        return said
    return f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
