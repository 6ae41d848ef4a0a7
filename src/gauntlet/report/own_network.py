"""A network of one's own in words: how large it is, and what the first flow meets in it."""

from collections.abc import Mapping
from typing import Any

from gauntlet import units
from gauntlet.geography.remarks import remarks
from gauntlet.report.evaluation import Evaluation


def _to_the_microsecond(time_s: float) -> str:
    """Delays of cables have many digits, which tell nothing."""
    return units.format_time(round(time_s, 6) or time_s)


_OF_WAY = (
    ("rate", "the narrowest link carries {}", units.format_rate),
    ("queue_limit", "a queue of {} stands before it", units.format_size),
    ("delay", "one-way delays add up to {}", _to_the_microsecond),
    ("loss", "{} of the packets are lost", units.format_fraction),
)


def words(network: Mapping[str, Any]) -> str:
    """`network` of `scenario.json` (docs/formats/results.md)."""
    links, way = network["links"], network["way"]
    nodes = {end for link in links for end in link["ends"]}
    found = [f"{len(nodes)} nodes and {len(links)} links."]
    said = [text.format(units.spaced(shown(way[key]))) for key, text, shown in _OF_WAY if key in way]
    if said:
        found.append(f"On the way from {network['from']} to {network['to']} {', '.join(said)}.")
    found += [
        f"The link from {it['ends'][0]} to {it['ends'][1]} follows {it['follows']}."
        for it in links
        if "follows" in it
    ]
    found += [f"A tunnel of GRE joins {one} and {other}." for one, other in network.get("tunnels", ())]
    failing = sum(bool(link["down"]) for link in links)
    if failing:
        found.append(f"{failing} of the links {'is' if failing == 1 else 'are'} down for some time.")
    return " ".join(found)


def map_words(told: Mapping[str, Any]) -> str:
    """`map.json` (docs/formats/results.md), where runs had different paths through it."""
    network, sets = told["network"], told["sets"]
    found = [
        f"The runs took {len(sets)} different sets of paths through {network['name']}, "
        f"{len(network['nodes'])} nodes and {len(network['links'])} links."
    ]
    names = sorted({it["challenge"]["name"] for it in sets if it["challenge"]})
    if names:
        found.append(f"The challenge is {' or '.join(names)}.")
    return " ".join(found)


def challenge_remarks(evaluation: Evaluation) -> list[str]:
    """What of a challenge that runs had may not be meant, whichever paths they took."""
    told = evaluation.results.map
    paths: dict[str, list[Mapping[str, Any]]] = {}
    challenges: dict[str, Mapping[str, Any]] = {}
    for it in [] if told is None else told["sets"]:
        if it["challenge"] is not None:
            name = it["challenge"]["name"]
            challenges[name] = it["challenge"]
            paths.setdefault(name, []).extend(it["paths"])
    if not challenges:
        return []
    # A run that failed may not say how long it lasted.
    lasted_s = [run.record.get("virtual_s") for run in evaluation.results.runs()]
    until_s = max((it for it in lasted_s if it), default=None)
    return [it for name, challenge in challenges.items() for it in remarks(paths[name], challenge, until_s)]
