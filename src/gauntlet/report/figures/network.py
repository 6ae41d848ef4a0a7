"""The network of one's own that runs had in common, drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gauntlet import units
from gauntlet.figures.network import network as picture
from gauntlet.metrics.numbers import listed
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures.figure import Figure, figure


def _share(value: float) -> str:
    return units.spaced(units.format_fraction(value))


_SHOWN: Sequence[tuple[str, str, Callable[[Any], str]]] = (
    ("rate_bps", "{}", lambda value: units.spaced(units.format_rate(value))),
    ("queue_limit_bytes", "queue {}", lambda value: units.spaced(units.format_size(value))),
    ("queue", "{}", lambda value: str(value["kind"])),
    ("delay_s", "{}", lambda value: units.spaced(units.format_time(value))),
    ("jitter_s", "± {}", lambda value: units.spaced(units.format_time(value))),
    ("loss", "loss {}", _share),
    ("gilbert_elliott", "losses in bursts", lambda _: ""),
    ("duplicate", "{} twice", _share),
    ("corrupt", "{} damaged", _share),
)
"""Keys of a link direction in a plan, and how they read."""


def network(evaluation: Evaluation) -> list[Figure]:
    """One picture; none where runs had no such network in common."""
    told = (evaluation.results.scenario or {}).get("network")
    if told is None:
        return []
    columns: dict[str, list[Any]] = {
        "a": [link["ends"][0] for link in told["links"]],
        "b": [link["ends"][1] for link in told["links"]],
        "words": [_words(link)[0] for link in told["links"]],
        "back": [_words(link)[1] for link in told["links"]],
        "fails": [int(bool(link["down"])) for link in told["links"]],
    }
    varied = [factor.words for factor in evaluation.factors if factor.name.startswith("network.")]
    differ = "differs" if len(varied) == 1 else "differ"
    first = f" It is that of the first run; {listed(varied)} {differ} in others." if varied else ""
    failing = " Links that are down for some time stand out." if any(columns["fails"]) else ""
    return [
        figure(
            name="network",
            title="The network",
            caption="Squares send or receive, circles hand on. Beside each link is what it does to packets."
            f"{failing}{first}",
            chart=picture(columns, _ends(evaluation, told)),
            columns=columns,
        )
    ]


def _ends(evaluation: Evaluation, told: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Sender and receiver of each flow."""
    asked = [(row.asked.get("sender"), row.asked.get("receiver")) for row in evaluation.rows]
    found = [(str(one), str(other)) for one, other in asked if one and other]
    return list(dict.fromkeys(found)) or [(str(told["from"]), str(told["to"]))]


def _words(link: Mapping[str, Any]) -> tuple[str, str]:
    """What a link does, and on its way back where that is another thing: to b: 5 Mbit/s; to a: 2 Mbit/s."""
    follows = f"follows {link['follows']}" if "follows" in link else ""
    onwards, back = (", ".join(filter(None, (follows, _way(link[way])))) for way in ("onwards", "backwards"))
    first, second = link["ends"]
    if onwards == back:
        return onwards, ""
    return f"to {second}: {onwards or 'nothing'}", f"to {first}: {back or 'nothing'}"


def _way(state: Mapping[str, Any]) -> str:
    told = ((form, shown(state[key])) for key, form, shown in _SHOWN if state.get(key))
    # No line ends within a quantity.
    return ", ".join(form.format(value).replace(" ", "\N{NO-BREAK SPACE}") for form, value in told)
