"""All kinds of chart that a study's figures.toml can name."""

from collections.abc import Mapping

from gauntlet.figures import against, arrivals, cdf, curves, delays, link, map, rates, table
from gauntlet.figures.kind import Kind

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        against.KIND,
        arrivals.KIND,
        cdf.KIND,
        curves.KIND,
        delays.KIND,
        link.KIND,
        map.KIND,
        rates.KIND,
        table.KIND,
    )
}
