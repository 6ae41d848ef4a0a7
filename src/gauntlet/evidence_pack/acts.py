"""What an experiment does to a message, in words: its threat, as it acts over the protocol at hand."""

from collections.abc import Mapping
from typing import Any

from gauntlet.experiment.threats import COPY_AFTER_S, at_sender, sealed
from gauntlet.units import format_time, spaced

_WHO = {
    "random-fault": "A fault does it",
    "off-path": "Somebody off the path does it, who sees nothing",
    "on-path": "Somebody on the path does it, who sees packets and can add some",
    "in-path": "Somebody in the path does it, without keys",
    "in-path-with-keys": "Somebody in the path does it, with the sender's keys",
}


def act(section: Mapping[str, Any], flow: Mapping[str, Any]) -> str:
    """What a threat of an experiment file does to a flow of a plan, as sentences."""
    at_end = at_sender(flow) is not None
    blind = sealed(str(flow["stack"])) and not at_end
    meant = _meant(section)
    if section["kind"] == "repetition" and not at_end and _early(section, flow):
        meant = f"the first flight of the session, with {meant} in it,"
    deed = _DEEDS[section["kind"]](section, meant, blind=blind)
    if section.get("checksums") == "repair" and not at_end and (left := _not_repaired(flow)):
        deed += f", but not {left}"
    who = _WHO[str(section.get("attacker", "in-path"))]
    return f"{deed[0].upper()}{deed[1:]}. {who}{', before a message is sealed' if at_end else ''}."


def _not_repaired(flow: Mapping[str, Any]) -> str:
    """A protocol's own codes, which the node leaves as they are and who wants to computes anew."""
    params = flow.get("stack_params", {})
    if flow["stack"] == "rasta" and params.get("safety_code") != "none":
        return "the safety code of RaSTA"
    in_clear = params.get("protection") != "protected" and params.get("crc") is not False
    return "the CRCs of ResTP" if flow["stack"] == "restp" and in_clear else ""


def _early(section: Mapping[str, Any], flow: Mapping[str, Any]) -> bool:
    """Whether the message goes as early data (0-RTT)."""
    resumes = flow["app_params"].get("warm_up_s") is not None
    sends_early = resumes and bool(flow["stack_params"].get("early_data"))
    return sends_early and section.get("message") in ("first", 1)


def _meant(section: Mapping[str, Any]) -> str:
    """The message that is meant."""
    if "at" in section:
        return f"the first message at {spaced(section['at'])} or later"
    message = section["message"]
    if message == "drawn":
        return "a message that is drawn for each trial"
    return f"the {message} message" if isinstance(message, str) else f"message {message}"


def _repetition(section: Mapping[str, Any], meant: str, **_: bool) -> str:
    return f"{meant} comes again {spaced(section.get('by', format_time(COPY_AFTER_S)))} later"


def _deletion(_: Mapping[str, Any], meant: str, **__: bool) -> str:
    return f"{meant} is taken away"


def _re_sequencing(_: Mapping[str, Any], meant: str, **__: bool) -> str:
    return f"{meant} comes behind the next one"


def _delay(section: Mapping[str, Any], meant: str, *, blind: bool) -> str:
    more = ", and so does every later packet that is as long as that of a message" if blind else ""
    return f"{meant} comes {spaced(section['by'])} late{more}"


def _corruption(section: Mapping[str, Any], meant: str, *, blind: bool) -> str:
    bits = section.get("bits", 1)
    within = f" within {section['burst']} in a row" if "burst" in section else ""
    where = f"the packet of {meant}" if blind else meant
    turned = f"{'one bit turns' if bits == 1 else f'{bits} bits turn'} over{within} in {where}"
    repaired = section.get("checksums") == "repair"
    return f"{turned}{', and the checksum of the transport is made to fit' if repaired else ''}"


def _insertion(section: Mapping[str, Any], meant: str, *, blind: bool) -> str:
    return _forged(section, meant, "that names a stranger as its sender", blind=blind)


def _masquerade(section: Mapping[str, Any], meant: str, *, blind: bool) -> str:
    return _forged(section, meant, "that the sender never sent, in its name", blind=blind)


def _forged(section: Mapping[str, Any], meant: str, made: str, *, blind: bool) -> str:
    if section.get("attacker") == "off-path":
        return f"a message {made} comes at {spaced(section['at'])}"
    if blind:
        return (
            f"behind the packet of {meant} comes a noisy copy of it: eight of its bytes are others, since "
            "nobody without keys can make a packet that means something"
        )
    return f"behind {meant} comes one {made}, as the next"


_DEEDS = {
    "repetition": _repetition,
    "deletion": _deletion,
    "insertion": _insertion,
    "re-sequencing": _re_sequencing,
    "corruption": _corruption,
    "delay": _delay,
    "masquerade": _masquerade,
}
