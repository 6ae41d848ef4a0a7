"""A network of one's own in words: how large it is, and what the first flow meets in it."""

from collections.abc import Mapping
from typing import Any

from gauntlet import units


def words(scenario: Mapping[str, Any]) -> str:
    """The network of `scenario.json` (docs/formats/results.md)."""
    network, (columns,) = scenario["network"], scenario["bearers"].values()
    links = network["links"]
    nodes = {end for link in links for end in link["ends"]}
    rate = units.spaced(units.format_rate(columns["rate_up_bps"][0]))
    queue = units.spaced(units.format_size(columns["queue_limit_bytes"][0]))
    delay = units.spaced(units.format_time(columns["delay_up_s"][0]))
    loss = units.spaced(units.format_fraction(columns["loss_up"][0]))
    failing = sum(bool(link["down"]) for link in links)
    down = f" {failing} of the links fail{'s' if failing == 1 else ''} for some time." if failing else ""
    size = f"{len(nodes)} nodes and {len(links)} links"
    return (
        f"{size}. On the first way from {network['from']} to {network['to']} the narrowest link carries "
        f"{rate}, behind a queue of {queue}; one-way delay {delay}, packet loss {loss}.{down}"
    )
