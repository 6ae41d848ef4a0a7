"""Table 8's formula, for its table."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studies.d34.plugin import TABLE_8, overflow, packets_with_headers, steady_loss
else:
    from gauntlet.studies.folders import known
    from gauntlet.studies.plugin import module

    _own = module(known()["d34"])
    TABLE_8 = _own.TABLE_8
    overflow = _own.overflow
    packets_with_headers = _own.packets_with_headers
    steady_loss = _own.steady_loss

__all__ = ["TABLE_8", "overflow", "packets_with_headers", "steady_loss"]
