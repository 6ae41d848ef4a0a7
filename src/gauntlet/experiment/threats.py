"""[[threat]]: the threats of EN 50159, each against one message, as rules of an in-path node.

A threat says what is to happen to which message and who does it. Which packets carry that message depends on
the protocol: where its bytes can be read on the way, by the number in them; where they are encrypted, by
count of the packets of that flow whose length is that of a message. So one threat means the same for all.
An attacker who has the keys of what is encrypted acts in the sender's place, before a message is encrypted.
"""

import random
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from gauntlet.errors import UserError
from gauntlet.experiment import player
from gauntlet.experiment.networks import NETWORKS
from gauntlet.experiment.protocols import Protocol, protocol
from gauntlet.experiment.quantities import Duration, Time
from gauntlet.experiment.runspec import FlowSpec, LinkConditions
from gauntlet.experiment.strict import Strict

NONE = "none"
"""What the axis `threat` calls a run in which nothing happens."""
APP = "safety"
NODE = "threat"
"""What the record calls the node that does it."""
TRAIN, TRACKSIDE, STRANGER = 100, 1, 77
"""Identities in messages: the application's own (docs/formats/plan.md), and one that is neither."""
MESSAGE_BYTES = 160
"""The application's usual size."""
FIRST_PORT, FIRST_SOURCE_PORT = 5000, 40_000
"""Of flow 0 (docs/formats/plan.md, "Flow")."""
OVERHEAD_BYTES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"tls": (62, 82), "rasta-tls": (108, 136), "dtls": (50, 65)}
)
"""What a packet with one message has beside it, at least and at most, by stack: of TLS 1.3 a record (22
bytes, RFC 8446, section 5.2) and the headers of IPv4 and TCP (40, and 12 for time stamps) or SCTP (48, and up
to 3); of DTLS a record of 1.3 (22 bytes, RFC 9147, section 4) or 1.2 (37) and the headers of IPv4 and UDP
(28). ClientHello is longer where messages have the usual size, the client's Finished shorter."""
OTHER_OVERHEAD_BYTES = (28, 150)
"""Of other stacks: at least the headers of IPv4 and UDP, at most theirs with those of a packet of QUIC or
ResTP and acknowledgements. Handshakes are shorter or longer where messages have the usual size."""
_TOLD_BY: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "rasta-tls": {"bytes": [{"within": "payload", "offset": 0, "hex": "17"}]},
        "dtls": {"bytes": [{"within": "payload", "offset": 0, "hex": "01", "mask": "01"}]},
    }
)
"""What else tells a packet with a message from others, by stack: the type application_data of a record (RFC
8446, section 5.1), where ClientHello is as long as the record of a message of the usual size. Of DTLS the
first octet: application_data of 1.2 and the epoch of data of 1.3 are odd, handshakes are even (RFC 9147,
sections 4 and 4.1)."""
_LONG = {"initial": "80", "0-rtt": "90"}
"""The first bits of these packets (RFC 9000, sections 17.2.2 and 17.2.3)."""
_FLIGHT: Mapping[str, Any] = MappingProxyType(
    {name: {"within": "payload", "offset": 0, "hex": kind, "mask": "b0"} for name, kind in _LONG.items()}
)
"""What tells a packet of a first flight of QUIC: a long header and its type. The bit between them may be
either (RFC 9287, section 3), and those behind are hidden (RFC 9001, section 5.4.1)."""
COPY_AFTER_S = 0.5
_FEWEST_TO_DRAW = 5
_LAST_PACKET = 1_000_000
_FORGED_PLACE_MM = 250_000_000
"""What a forged message says: a place far from all that the application sends."""
_ADDRESSES = {"client": "10.0.1.1", "server": "10.0.2.1"}
"""Of the hosts of the preset wire (docs/formats/plan.md)."""

Threat = Literal["repetition", "deletion", "insertion", "re-sequencing", "corruption", "delay", "masquerade"]
"""As EN 50159 names them."""
Attacker = Literal["random-fault", "off-path", "on-path", "in-path", "in-path-with-keys"]

ABLE: Mapping[str, frozenset[str]] = {
    "random-fault": frozenset(
        {"repetition", "deletion", "re-sequencing", "corruption", "delay", "insertion"}
    ),
    "off-path": frozenset({"insertion", "masquerade"}),
    "on-path": frozenset({"repetition", "insertion", "masquerade"}),
    "in-path": frozenset(
        {"repetition", "deletion", "insertion", "re-sequencing", "corruption", "delay", "masquerade"}
    ),
    "in-path-with-keys": frozenset(
        {"repetition", "deletion", "insertion", "re-sequencing", "corruption", "delay", "masquerade"}
    ),
}
"""What each kind of attacker can do: a fault forges nothing on purpose, who is off the path sees nothing, who
is on it can add but take nothing away."""
_BUILDS_ON = {
    "udp": "udp",
    "tcp": "tcp",
    "tls": "tcp",
    "quic-quinn": "udp",
    "quic-noq": "udp",
    "quic-s2n": "udp",
    "quic-quiche": "udp",
    "dtls": "udp",
    "restp": "udp",
    "rasta-tls": "tcp",
}
"""By stack: what its packets are, but for TLS over SCTP and ResTP in clear. The node forges the next message
where it can write its number. Of what is sealed, where it makes noise without keys, the number may be that of
the true one if that gets as far as the keys: a copy of a chunk of SCTP, with its TSN, does not."""
_FORGED_OVER = "UDP, TCP, TLS over TCP, DTLS, QUIC, protected ResTP and RaSTA over TLS"
"""For people: over what the node can do an insertion and a masquerade, elsewhere only a sender's end."""
_TLS13_RECORD_BYTES = 5 + 1 + 16
"""Header, content type and tag of a record (RFC 8446, section 5.2; AES-GCM)."""
_RASTA_BYTES = 8 + 28 + 2
"""What a frame of RaSTA with one message has beside it and its codes: header of the redundancy layer, header
of the message, length of the data (docs/guide/rasta.md)."""
_CHECK_CODE_BYTES = {"a": 0, "b": 4, "c": 4, "d": 2, "e": 2}


def _not_none(name: str) -> str:
    if name == NONE:
        raise ValueError("'none' is what a run without a threat has; choose another name.")
    return name


class ThreatSection(Strict):
    """[[threat]]: what happens to which message, and who does it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$"), AfterValidator(_not_none)]
    """What the axis `threat` calls it."""
    kind: Threat
    attacker: Attacker = "in-path"
    place: Literal["train", "trackside"] = "trackside"
    """Beside whose hosts it happens."""
    flow: str | None = None
    """Name of the flow whose message is meant; None: the only one of the application safety."""
    message: int | Literal["first", "last", "drawn"] | None = None
    """Its number, counted from 1; drawn: in each repetition and session, neither first nor among the last
    two."""
    at: Time | None = None
    """Instead: the first message that comes at this instant or later."""
    by: Duration | None = None
    """Of a delay, how late the message gets; of a repetition, after what time the copy follows (half a
    second)."""
    bits: int | None = Field(default=None, ge=1, le=64)
    """Of a corruption: how many bits turn over (1)."""
    burst: int | None = Field(default=None, ge=2, le=1024)
    """Of a corruption: within how many bits in a row; None: anywhere in the message."""
    checksums: Literal["leave", "repair"] | None = None
    """Of a corruption: whether the transport's checksum is made right again (leave)."""

    @model_validator(mode="after")
    def _fits(self) -> "ThreatSection":
        if self.kind not in ABLE[self.attacker]:
            able = ", ".join(sorted(ABLE[self.attacker]))
            raise ValueError(f"the attacker '{self.attacker}' cannot do '{self.kind}'; it can: {able}.")
        if (self.message is None) == (self.at is None):
            raise ValueError("it needs either the key 'message' or the key 'at'.")
        if isinstance(self.message, int) and self.message < 1:
            raise ValueError("messages are counted from 1.")
        if self.kind == "delay" and self.by is None:
            raise ValueError("a delay needs the key 'by', how late the message gets.")
        if self.by is not None and self.kind not in ("delay", "repetition"):
            raise ValueError(f"the key 'by' means nothing to '{self.kind}'; leave it out.")
        given = [key for key in ("bits", "burst", "checksums") if getattr(self, key) is not None]
        if given and self.kind != "corruption":
            raise ValueError(f"the key '{given[0]}' means nothing to '{self.kind}'; leave it out.")
        if self.checksums == "repair" and self.attacker == "random-fault":
            raise ValueError("a fault repairs no checksum; leave the key out or choose another attacker.")
        if self.attacker == "off-path" and self.at is None:
            raise ValueError("who is off the path sees no message; say 'at' what instant it sends its own.")
        return self


def threatened(
    sections: Iterable[ThreatSection],
    link: LinkConditions,
    flows: Sequence[FlowSpec],
    nodes: Sequence[Mapping[str, Any]] = (),
    seed: int = 0,
) -> tuple[tuple[FlowSpec, ...], tuple[dict[str, Any], ...]]:
    """The flows under the threat that the link has, and the plan's in-path node that acts on them, beside
    other `nodes`; `seed` is what messages are drawn by. Without a threat, the flows as they are and no node.

    Over what is sealed an attacker with the sender's keys is the sender to everybody, and acts on a message
    before it is sealed: the flow then has the threat, and the node no rule for it.

    Raises UserError.
    """
    section = _section(sections, link)
    if section is None:
        return tuple(flows), ()
    between = NETWORKS[link.network].in_path.get(section.place)
    if between is None:
        raise UserError(
            f"{_here(section)}: the network '{link.network}' has no link beside the {section.place}."
        )
    if any(set(node["between"]) == set(between) for node in nodes):
        raise UserError(
            f"{_here(section)}: another node stands beside the {section.place}; choose the other place."
        )
    armed, named = list(flows), []
    for aim in _aimed(section, flows, link.network, between, seed):
        if aim.acts_at_end:
            armed[aim.index] = replace(aim.flow, threat=_at_sender(section, aim))
            continue
        rules = _RULES[section.kind](section, aim, _here(section))
        of = section.kind if aim.flow.session is None else f"{section.kind}-f{aim.index}"
        ids = f"{of}-{{}}" if len(rules) > 1 else of
        named += [{"id": ids.format(number), **rule} for number, rule in enumerate(rules, 1)]
    node = {"node": NODE, "between": list(between), "rules": named}
    return tuple(armed), (node,) if named else ()


def at_sender(flow: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What an attacker in the place of the sender does to a flow of a plan; None: there is none."""
    found: Mapping[str, Any] | None = flow["app_params"].get("threat")
    return found


def sealed(stack: str) -> bool:
    """Whether nobody on the way can read what a stack carries."""
    return stack not in player.stacks_with("in-clear")


def _at_sender(section: ThreatSection, aim: "_Aim") -> dict[str, Any]:
    """What the plan tells the sender's application. Raises UserError."""
    if section.checksums == "leave":
        raise UserError(
            f"{_here(section)}: what an attacker with keys changes is sealed anew, and its checksums fit; "
            "leave the key 'checksums' out."
        )
    number = aim.due(aim.at_s or 0.0) + 1 if aim.number is None else aim.number
    most = count(aim.flow) - (section.kind == "re-sequencing")
    if number > most:
        raise UserError(f"{_here(section)}: no message comes after the last one; name an earlier one.")
    about = {"by_s": section.by, "bits": section.bits, "burst_bits": section.burst}
    threat: dict[str, Any] = {"kind": section.kind, "message": number}
    return threat | {key: value for key, value in about.items() if value is not None}


def _section(sections: Iterable[ThreatSection], link: LinkConditions) -> ThreatSection | None:
    """The threat that the link has."""
    if link.threat == NONE:
        return None
    known: dict[str, ThreatSection] = {}
    for section in sections:
        if section.name in known:
            raise UserError(f"[[threat]]: two are called '{section.name}'; give each its own name.")
        known[section.name] = section
    if link.threat not in known:
        names = ", ".join([NONE, *known])
        raise UserError(f"[link] threat: there is no [[threat]] '{link.threat}'; the names are {names}.")
    return known[link.threat]


def _here(section: ThreatSection) -> str:
    return f"[[threat]] {section.name}"


@dataclass(frozen=True)
class _Aim:
    """The message that is meant, in one flow of one run."""

    index: int
    flow: FlowSpec
    stack: str
    below: str | None
    """What its packets are, where the node can make one that a receiver would look at: udp or tcp."""
    network: str
    towards: str
    number: int | None
    """Counted from 1; None: the first at `at_s`."""
    at_s: float | None
    acts_at_end: bool
    """Whether an attacker with keys does it who can only do so in the sender's place."""

    @property
    def readable(self) -> bool:
        """Whether messages can be read on the way."""
        return not sealed(self.stack)

    @property
    def message_bytes(self) -> int:
        return self.flow.size_bytes or MESSAGE_BYTES

    @property
    def since_s(self) -> float | None:
        """From when on packets count: of a session that another one came before, from its beginning."""
        return self.at_s if self.flow.warm_up_s is None else max(self.flow.start_s, self.at_s or 0.0)

    @property
    def early(self) -> bool:
        """Whether the message goes with the first flight of its session."""
        sends_early = self.flow.warm_up_s is not None and bool(self.flow.options.get("early_data"))
        return sends_early and self.number == 1 and not self.acts_at_end

    def flight(self, kind: str) -> dict[str, Any]:
        """Conditions for the first packet of a kind, initial or 0-rtt, of a session that sends early."""
        packet = self.packets(first_only=True)
        told = {"bytes": [_FLIGHT[kind]]}
        return told | {key: it for key, it in packet.items() if kind == "0-rtt" or key != "length_bytes"}

    def due(self, at_s: float) -> int:
        """The number, from 0, of the first message that is due at an instant or later."""
        return max(0, ceil(round((at_s - self.flow.start_s) / (self.flow.interval_s or 1.0), 9)))

    def packets(self, *, first_only: bool, later: int = 0, on: bool = False) -> dict[str, Any]:
        """Conditions for the packets of the message, or of the one so many `later`; with `on` of all from it
        on, where only counting tells them; with `first_only` not for what the transport sends again."""
        number = None if self.number is None else self.number + later
        since = {} if self.since_s is None else {"from_s": self.since_s}
        nth = 1 + later if number is None else number
        if self.readable:
            named: dict[str, Any] = {"flow": f"f{self.index}"}
            named |= {} if number is None else {"number": number}
            # UDP sends nothing again, and the certificate then knows the packet by itself.
            again = self.stack == "udp" or not (first_only or number is None)
            named |= {} if again else {"repetitions": False}
            counted = {"nth": nth} if number is None else {}
            return {"towards": self.towards, **since, "message": named, **counted}
        ports = {"source_port": FIRST_SOURCE_PORT + self.index, "destination_port": FIRST_PORT + self.index}
        least, most = OVERHEAD_BYTES.get(self.stack, OTHER_OVERHEAD_BYTES)
        length = [self.message_bytes + least, self.message_bytes + most]
        span = [nth, _LAST_PACKET] if on else nth
        told = _TOLD_BY.get(self.stack, {})
        return {"towards": self.towards, **ports, "length_bytes": length, **told, **since, "nth": span}


def count(flow: FlowSpec) -> int:
    """How many messages a flow of the application sends."""
    return ceil(round((flow.duration_s or 0.0) / (flow.interval_s or 1.0), 9))


def _aimed(
    section: ThreatSection,
    flows: Sequence[FlowSpec],
    network: str,
    between: tuple[str, str],
    seed: int,
) -> list[_Aim]:
    """The message that is meant, of the one flow or of each of its sessions."""
    here = _here(section)
    able = [n for n, flow in enumerate(flows) if flow.app == APP and section.flow in (None, flow.name)]
    if not able:
        whom = f"called '{section.flow}'" if section.flow else "there"
        raise UserError(
            f"{here}: no flow of the application '{APP}' is {whom}; its messages are what it is about."
        )
    if sum(not flows[index].session for index in able) > 1:
        raise UserError(
            f"{here}: there are {len(able)} flows of '{APP}'; name one of them by the key 'flow'."
        )
    return [_aim(section, flows[index], index, network, between, seed=seed) for index in able]


def _aim(
    section: ThreatSection,
    flow: FlowSpec,
    index: int,
    network: str,
    between: tuple[str, str],
    *,
    seed: int,
) -> _Aim:
    here = _here(section)
    if flow.external is not None:
        raise UserError(
            f"{here}: programs carry '{APP}' over {flow.protocol}; choose a protocol of the guest's own."
        )
    chosen = protocol(flow.protocol)
    stack = chosen.stack
    below = _below(chosen, flow)
    forges = section.kind in ("insertion", "masquerade")
    acts_at_end = section.attacker == "in-path-with-keys" and (sealed(stack) or (forges and below is None))
    if flow.options.get("encapsulation") == "ip" and not acts_at_end:
        raise UserError(
            f"{here}: packets of ResTP over IP have no ports to know them by; leave encapsulation out."
        )
    last = count(flow)
    named = {"first": 1, "last": last}
    if section.message == "drawn":
        if last < _FEWEST_TO_DRAW:
            raise UserError(
                f"{here}: the flow sends {last} messages, and drawn is neither the first nor one of the last "
                f"two; have it send at least {_FEWEST_TO_DRAW}."
            )
        named["drawn"] = random.Random(f"threat {seed} {index}").randint(2, last - 2)
    number = named.get(str(section.message), section.message)
    if isinstance(number, int) and number > last:
        raise UserError(f"{here}: message {number} is meant, and the flow sends {last}.")
    towards = between[flow.direction == "up"]
    number = number if isinstance(number, int) else None
    return _Aim(index, flow, stack, below, network, towards, number, section.at, acts_at_end)


def _below(chosen: Protocol, flow: FlowSpec) -> str | None:
    """What the packets are that the node can forge, udp or tcp; None: it can forge none."""
    params = {**chosen.stack_params, **flow.options}
    in_clear = chosen.stack == "restp" and params.get("protection") != "protected"
    return None if in_clear or params.get("transport") == "sctp" else _BUILDS_ON.get(chosen.stack)


def _record_bytes(aim: _Aim) -> int:
    """What the record of a message over TCP has beside it."""
    if aim.readable:
        return 0
    if aim.stack != "rasta-tls":
        return _TLS13_RECORD_BYTES
    named = str(aim.flow.options.get("safety_code", "md4-half"))
    safety_bytes = 0 if named == "none" else 16 if named.endswith("full") else 8
    check_bytes = _CHECK_CODE_BYTES[str(aim.flow.options.get("check_code", "a"))]
    return _TLS13_RECORD_BYTES + _RASTA_BYTES + safety_bytes + check_bytes


Rule = dict[str, Any]


def _rule(match: Mapping[str, Any], action: str, **parameters: Any) -> Rule:
    return {"match": dict(match), "do": {"action": action, **parameters}}


def _repetition(section: ThreatSection, aim: _Aim, _: str) -> list[Rule]:
    """Of a message that goes early all of the first flight comes again: alone, nobody could open it."""
    after_s = section.by if section.by is not None else COPY_AFTER_S
    copied = [aim.flight("initial"), aim.flight("0-rtt")] if aim.early else [aim.packets(first_only=True)]
    return [_rule(match, "duplicate", after_s=after_s) for match in copied]


def _deletion(_: ThreatSection, aim: _Aim, __: str) -> list[Rule]:
    return [_rule(aim.packets(first_only=True), "drop")]


def _delay(section: ThreatSection, aim: _Aim, _: str) -> list[Rule]:
    """Also what the transport sends again is late; where only counting tells, all that follows too."""
    return [_rule(aim.packets(first_only=False, on=True), "delay", delay_s=section.by)]


def _re_sequencing(_: ThreatSection, aim: _Aim, here: str) -> list[Rule]:
    """The message waits for the next one. That rule stands first, so that it counts both."""
    if aim.number == count(aim.flow):
        raise UserError(f"{here}: no message comes after the last one; name an earlier one.")
    held = "held" if aim.flow.session is None else f"held-f{aim.index}"
    return [
        _rule(aim.packets(first_only=True, later=1), "release", **{"from": held}),
        _rule(aim.packets(first_only=True), "hold", **{"as": held}),
    ]


def _corruption(section: ThreatSection, aim: _Aim, _: str) -> list[Rule]:
    burst = {} if section.burst is None else {"burst_bits": section.burst}
    parameters = {"bits": section.bits or 1, **burst, "checksums": section.checksums or "leave"}
    within = "message" if aim.readable else "payload"
    return [_rule(aim.packets(first_only=True), "alter", within=within, **parameters)]


def _insertion(section: ThreatSection, aim: _Aim, here: str) -> list[Rule]:
    """A message of somebody else comes: the next number, another sender."""
    return _forged(section, aim, here, sender=STRANGER)


def _masquerade(section: ThreatSection, aim: _Aim, here: str) -> list[Rule]:
    """A message that nobody sent comes in the sender's name: the next number, another place."""
    return _forged(section, aim, here, sender=_ends(aim)[0])


def _ends(aim: _Aim) -> tuple[int, int]:
    return (TRAIN, TRACKSIDE) if aim.flow.kind == "position-report" else (TRACKSIDE, TRAIN)


def _forged(section: ThreatSection, aim: _Aim, here: str, *, sender: int) -> list[Rule]:
    if aim.below is None:
        raise UserError(
            f"{here}: the node cannot make a packet of {aim.flow.protocol} that its receiver would take for "
            "the next one; set attacker = 'in-path-with-keys', who does it in the sender's place, or choose "
            f"a protocol over which others forge too: {_FORGED_OVER}."
        )
    if section.attacker == "off-path":
        return [_unseen(section, aim, here, sender)]
    # The message behind the one that is meant: its number is that of this one, counted from 1.
    number = aim.due(aim.at_s or 0.0) + 1 if aim.number is None else aim.number
    made = [
        {"within": "message", "offset": 0, "hex": struct.pack("<I", number).hex()},
        {"within": "message", "offset": 8, "hex": struct.pack("<I", sender).hex()},
        {"within": "message", "offset": 24, "hex": struct.pack("<Q", _FORGED_PLACE_MM).hex()},
    ]
    if not aim.readable:
        # Without keys nobody can make more than noise of a record: eight of its last bytes before the tag.
        made = [
            {
                "within": "payload",
                "offset": aim.message_bytes // 2,
                "hex": struct.pack("<Q", _FORGED_PLACE_MM).hex(),
            }
        ]
    behind = {"tcp_sequence_plus": aim.message_bytes + _record_bytes(aim)} if aim.below == "tcp" else {}
    return [_rule(aim.packets(first_only=True), "insert", packet="matched", set={**behind, "bytes": made})]


def _unseen(section: ThreatSection, aim: _Aim, here: str, sender: int) -> Rule:
    """A packet of who sees nothing and knows addresses, ports, the clock and when messages are due."""
    if aim.network != "wire":
        raise UserError(
            f"{here}: who is off the path sends to hosts of the network 'wire' alone; set [link] network "
            "to it."
        )
    at_s = section.at or 0.0
    source, destination = ("client", "server") if aim.flow.direction == "up" else ("server", "client")
    fields = struct.pack(
        "<IBBHIIqQ",
        aim.due(at_s),
        136 if aim.flow.kind == "position-report" else 3,
        1,
        aim.message_bytes,
        sender,
        _ends(aim)[1],
        round(at_s * 1e9),
        _FORGED_PLACE_MM,
    )
    made = {
        "source": _ADDRESSES[source],
        "destination": _ADDRESSES[destination],
        "source_port": FIRST_SOURCE_PORT + aim.index,
        "destination_port": FIRST_PORT + aim.index,
        "payload": fields.ljust(aim.message_bytes, b"\0").hex(),
    }
    return _rule({"at_s": at_s}, "insert", packet={"made": aim.below}, set=made, towards=aim.towards)


_RULES = {
    "repetition": _repetition,
    "deletion": _deletion,
    "insertion": _insertion,
    "re-sequencing": _re_sequencing,
    "corruption": _corruption,
    "delay": _delay,
    "masquerade": _masquerade,
}
