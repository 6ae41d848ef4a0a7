"""The channel of a run as its specification has it: delay, loss, bursts of losses, queue. A loss that nobody
asked for is not told: that a line loses nothing is known only of one whose file says so.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gauntlet import units


@dataclass(frozen=True)
class Channel:
    """What is known of it; None for what is not, or is no single number."""

    delay_s: float | None = None
    """One way."""
    loss: float | None = None
    """Share of the packets that are lost independently, in both directions alike, those that the line itself
    loses included. Nothing that is lost is told only where losses are varied, or a file says so.
    """
    bursts: str = ""
    """Losses in bursts, for people; empty without any."""
    added: str = ""
    """Losses on top of those of a measured line or a model, whose own are no single number; for people."""
    queue_bytes: float | None = None
    """Before the bottleneck; None where the scenario's own is left as it is."""
    one_way: str = ""
    """Losses of one direction, in the place of `loss`; for people: 1 % loss up. Both where each loses
    something else.
    """


FACTORS = {"channel_delay_s", "loss", "loss_direction", "burst_loss", "queue_bytes"}
"""Factors of an experiment that a channel tells of."""

OF_CONSTANT = {"scenario.delay", "scenario.loss", "scenario.queue_limit"}
"""And parameters of a constant link that it tells of, where they are varied; the loss is that of any."""


def channel_of(spec: Mapping[str, Any]) -> Channel:
    """The channel of a run by its specification (RunSpec as JSON), and by its factors where that has none."""
    factors, link, scenario = (spec.get(name) or {} for name in ("factors", "link", "scenario"))
    params = scenario.get("params", {})
    own = params if scenario.get("name") == "constant" else {}
    delay_s = factors.get("channel_delay_s", link.get("channel_delay_s"))
    if delay_s is None and own.get("delay") is not None:
        delay_s = _number(own["delay"], units.time_s)
    bursts = link.get("burst_loss")
    way = way_of(link)
    if bursts:
        losses: dict[str, Any] = {"bursts": _bursts(bursts, way)}
    else:
        losses = _losses(factors, link, params, way, of_file=bool(scenario.get("path")))
    queue_bytes = link.get("queue_limit_bytes", factors.get("queue_bytes"))
    if queue_bytes is None and own.get("queue_limit") is not None:
        queue_bytes = _number(own["queue_limit"], units.size_bytes)
    return Channel(delay_s, queue_bytes=queue_bytes, **losses)


def way_of(link: Mapping[str, Any]) -> str:
    """The one direction in which a link of a specification loses packets, up or down; empty for both."""
    direction = str(link.get("loss_direction", "both"))
    return "" if direction == "both" else direction


def _losses(
    factors: Mapping[str, Any], link: Mapping[str, Any], params: Mapping[str, Any], way: str, *, of_file: bool
) -> dict[str, Any]:
    """What is lost, as fields of a `Channel`: the share; in words that of one direction (`way`), or what is
    added to a line of a file, which may lose some itself.

    A specification has a loss of 0 where nobody names one, so 0 counts only where it is a factor's value.
    """
    drops = link.get("loss", factors.get("loss")) or 0.0
    told = bool(drops) or "loss" in factors
    if of_file:
        return {"added": f"{_lost(drops, way)} added"} if told else {}
    own = _number(params.get("loss", 0.0), units.fraction)
    loss = 1 - (1 - drops) * (1 - own)
    if way and told:
        other = f", {100 * own:g} % {'down' if way == 'up' else 'up'}" if own else ""
        return {"one_way": f"{_lost(loss, way)}{other}"}
    varied = any(name in ("loss", "scenario.loss") or _of_own_link(name) for name in factors)
    return {"loss": loss} if loss or varied else {}


def _of_own_link(factor: str) -> bool:
    """Whether a factor is the loss of a link of one's own network: network.air.loss."""
    return factor.startswith("network.") and factor.endswith(".loss")


def _lost(share: float, way: str) -> str:
    """1 % loss; in one direction 1 % loss up."""
    return f"{100 * share:g} % loss{f' {way}' if way else ''}"


def common(channels: Collection[Channel]) -> Channel:
    """What several runs have in common."""

    def the_same(name: str) -> Any:
        found = {getattr(it, name) for it in channels}
        return found.pop() if len(found) == 1 else None

    words = {name: the_same(name) or "" for name in ("bursts", "added", "one_way")}
    return Channel(the_same("delay_s"), the_same("loss"), queue_bytes=the_same("queue_bytes"), **words)


def _number(given: Any, read: Any) -> float:
    """A parameter as written, or in base units already."""
    return float(read(given)) if isinstance(given, str) else float(given)


def _bursts(states: Mapping[str, float], way: str) -> str:
    """Losses of a chain of two states (schema.GilbertElliott): how many, and the mean length of a burst."""
    enter, leave = states["p"], states["r"]
    aside = f" {way}" if way else ""
    if enter + leave == 0:
        return f"losses{aside} in bursts"
    bad = enter / (enter + leave)
    share = bad * states.get("loss_bad", 1.0) + (1 - bad) * states.get("loss_good", 0.0)
    length = f" of {1 / leave:.3g} packets" if leave else ""
    return f"{100 * share:.3g} % loss{aside} in bursts{length}"
