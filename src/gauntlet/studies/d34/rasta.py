"""The appendix's model, for its figure."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studies.d34.plugin import rasta_over_tcp as ratio
    from studies.d34.plugin import rasta_throughput_bps, tcp_throughput_bps
else:
    from gauntlet.studies.folders import known
    from gauntlet.studies.plugin import module

    _own = module(known()["d34"])
    ratio = _own.rasta_over_tcp
    rasta_throughput_bps = _own.rasta_throughput_bps
    tcp_throughput_bps = _own.tcp_throughput_bps

__all__ = ["rasta_throughput_bps", "ratio", "tcp_throughput_bps"]
