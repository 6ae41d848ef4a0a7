"""What Dask logs is for those who know Dask; whoever uses a cluster is told in sentences what happened."""

import logging


def silence() -> None:
    """Keep Dask's loggers, of which each has a level of its own, from writing to the terminal."""
    for name in [*logging.root.manager.loggerDict, "distributed"]:
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
