"""[[in_path]]: nodes that stand in a link and do with packets what their rules say.

What rules can say the player tells itself (`player.json`): a key of a plan that ends in `_s` is written
here without it and with a unit, one that ends in `_bytes` likewise. So a new condition or action needs
nothing here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment import player
from gauntlet.experiment.networks import NETWORKS
from gauntlet.experiment.protocols import protocol
from gauntlet.experiment.runspec import FlowSpec
from gauntlet.experiment.strict import Strict, unknown_key

_RULES: Mapping[str, Any] = player.DESCRIPTION["rules"]
_UNITS = {"_s": units.time_s, "_bytes": units.size_bytes}
"""By the end of a key in a plan: how its value is written in an experiment."""
_IN_WORDS = {"towards": "direction"}
"""Keys that have another name here: a plan names a node, an experiment says up or down."""
_SHARES = frozenset({"probability"})


class RuleSection(Strict):
    """[[in_path.rule]]: which packets, and what is done with them."""

    name: str
    """What the record and the report call it."""
    match: dict[str, Any] = Field(default_factory=dict)
    """Conditions, all of which have to hold; none: every packet."""
    do: dict[str, Any]
    """`action` and its parameters."""


class InPathSection(Strict):
    """[[in_path]]: a node that stands in a link."""

    name: str = Field(default="in-path", pattern=r"^[a-z0-9][a-z0-9-]{0,10}$")
    """What the record and the report call it."""
    place: Literal["train", "trackside"]
    """Beside the hosts of the train, or beside those of the trackside."""
    rule: list[RuleSection] = Field(default_factory=list)
    """Its rules, in order."""


def planned(
    sections: Iterable[InPathSection], network: str, flows: Sequence[FlowSpec]
) -> tuple[dict[str, Any], ...]:
    """The plan's `in_path`: each node in its link of the network. Raises UserError."""
    found, taken = [], set[str]()
    for section in sections:
        here = f"[[in_path]] {section.name}"
        between = NETWORKS[network].in_path.get(section.place)
        if between is None:
            raise UserError(f"{here}: the network '{network}' has no link beside the {section.place} for it.")
        if section.place in taken:
            raise UserError(f"{here}: another node stands there; give one node the rules of both.")
        taken.add(section.place)
        rules = []
        for rule in section.rule:
            where = f"{here}, rule {rule.name!r}"
            conditions = _translated(rule.match, _RULES["match"], between, f"{where}, match")
            _alone(conditions, where)
            for key in ("message", "opening"):
                if key in conditions:
                    conditions[key] = _of_flow(key, conditions[key], flows, where)
            rules.append({"id": rule.name, "match": conditions, "do": _deed(rule.do, between, where)})
        ids = [rule["id"] for rule in rules]
        twice = next((name for name in ids if ids.count(name) > 1), None)
        if twice is not None:
            raise UserError(f"{here}: the rule {twice!r} stands twice; give each its own name.")
        _stored(rules, here)
        found.append({"node": section.name, "between": list(between), "rules": rules})
    names = [node["node"] for node in found]
    if len(set(names)) < len(names):
        raise UserError(f"[[in_path]]: two nodes are called '{names[0]}'; give each its own name.")
    return tuple(found)


def _alone(conditions: Mapping[str, Any], where: str) -> None:
    """A rule that the clock calls looks at no packet, so no condition can stand beside its instant."""
    others = [_word(key) for key in conditions if key != "at_s"]
    if "at_s" in conditions and others:
        raise UserError(
            f"{where}, match: at stands alone, for the clock calls the rule and no packet; take "
            f"{', '.join(others)} away, or write from and until for packets of a time."
        )


def _stored(rules: Sequence[Mapping[str, Any]], here: str) -> None:
    """See that each name under which a rule takes packets is one under which another keeps them."""
    for rule in rules:
        deed = rule["do"]
        packet = deed.get("packet")
        wanted = {
            "capture": packet.get("captured") if isinstance(packet, dict) else None,
            "hold": deed.get("from") if deed["action"] == "release" else None,
        }
        for action, name in wanted.items():
            kept = [it["do"].get("as") for it in rules if it["do"]["action"] == action]
            if not isinstance(name, str) or name in kept:
                continue
            names = ", ".join(map(str, kept))
            there = f"the names are {names}" if names else f"there is no rule with {action!r}"
            raise UserError(
                f"{here}, rule {rule['id']!r}: no rule of the node {action}s packets as {name!r}: {there}; "
                f'add one with do = {{ action = "{action}", as = "{name}" }}.'
            )


def _deed(written: Mapping[str, Any], between: tuple[str, str], where: str) -> dict[str, Any]:
    known = _RULES["do"]
    action = written.get("action")
    if action not in known:
        raise UserError(f"{where}: the action {action!r} is not known; choose one of {', '.join(known)}.")
    rest = {key: value for key, value in written.items() if key != "action"}
    return {"action": action, **_translated(rest, known[action], between, f"{where}, action {action!r}")}


def _translated(
    written: Mapping[str, Any], known: Sequence[str], between: tuple[str, str], where: str
) -> dict[str, Any]:
    """Keys and values as a plan has them; `known` are the plan's keys."""
    by_word = {_word(key): key for key in known}
    found = {}
    for word, value in written.items():
        if word not in by_word:
            raise UserError(f"{where}: {unknown_key(word, by_word)}")
        key = by_word[word]
        try:
            found[key] = _value(key, value, between)
        except UserError as error:
            raise UserError(f"{where}, {word}: {error}") from None
    return found


def _word(key: str) -> str:
    """How a key of a plan is written here."""
    for end in _UNITS:
        key = key.removesuffix(end)
    return _IN_WORDS.get(key, key)


def _value(key: str, value: Any, between: tuple[str, str]) -> Any:
    if key == "towards":
        if value not in ("up", "down"):
            raise UserError(f"{value!r} is not known; choose 'up' or 'down'.")
        return between[value == "up"]
    if key in _SHARES:
        return units.fraction(value)
    read = next((read for end, read in _UNITS.items() if key.endswith(end)), None)
    if read is None:
        return value
    return [read(each) for each in value] if isinstance(value, list) else read(value)


def _of_flow(key: str, value: Any, flows: Sequence[FlowSpec], where: str) -> dict[str, Any]:
    """`message = 3` and `opening = "syn"` with the flow that they are about."""
    short = "number" if key == "message" else "packet"
    told = dict(value) if isinstance(value, dict) else {short: value}
    named = told.pop("flow", None)
    if named is None and len(flows) > 1:
        raise UserError(f"{where}, {key}: there are {len(flows)} flows; add flow, the name of one of them.")
    places = [n for n, flow in enumerate(flows) if named is None or flow.name == named]
    if not places:
        raise UserError(f"{where}, {key}: no flow is called {named!r}; give the name of a [[flow]].")
    flow = flows[places[0]]
    feature = "in-clear" if key == "message" else "opening"
    if flow.external is not None or protocol(flow.protocol).stack not in player.stacks_with(feature):
        able = ", ".join(sorted(player.stacks_with(feature)))
        what = "its messages" if key == "message" else "the packets that open its sessions"
        raise UserError(
            f"{where}, {key}: nobody on the way knows {what} over {flow.protocol}; {able} can be told."
        )
    return {"flow": f"f{places[0]}", **told}
