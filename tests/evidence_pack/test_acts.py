"""What is done to a message is told in words, as it acts over the protocol at hand."""

from typing import Any

import pytest

from gauntlet.evidence_pack.acts import act

CLEAR, SEALED = {"stack": "tcp", "app_params": {}}, {"stack": "quic-quinn", "app_params": {}}
KEYS = {"stack": "tls", "app_params": {"threat": {"kind": "delay"}}}
EARLY = {
    "stack": "quic-quinn",
    "stack_params": {"resumption": True, "early_data": True},
    "app_params": {"warm_up_s": 1.0},
}
NOISE = (
    "Behind the packet of message 3 comes a noisy copy of it: eight of its bytes are others, since nobody "
    "without keys can make a packet that means something. Somebody on the path does it, who sees packets and "
    "can add some."
)


@pytest.mark.parametrize(
    ("flow", "section", "said"),
    [
        (
            CLEAR,
            {"kind": "delay", "message": 3, "by": "4s"},
            "Message 3 comes 4 s late. Somebody in the path does it, without keys.",
        ),
        (
            SEALED,
            {"kind": "delay", "message": 3, "by": "4s"},
            "Message 3 comes 4 s late, and so does every later packet that is as long as that of a message. "
            "Somebody in the path does it, without keys.",
        ),
        (
            KEYS,
            {"kind": "delay", "message": "last", "by": "4s", "attacker": "in-path-with-keys"},
            "The last message comes 4 s late. Somebody in the path does it, with the sender's keys, before a "
            "message is sealed.",
        ),
        (SEALED, {"kind": "masquerade", "message": 3, "attacker": "on-path"}, NOISE),
        (SEALED, {"kind": "insertion", "message": 3, "attacker": "on-path"}, NOISE),
        (
            CLEAR,
            {"kind": "masquerade", "message": 3},
            "Behind message 3 comes one that the sender never sent, in its name, as the next. Somebody in "
            "the path does it, without keys.",
        ),
        (
            CLEAR,
            {"kind": "insertion", "at": "2s", "attacker": "off-path"},
            "A message that names a stranger as its sender comes at 2 s. Somebody off the path does it, who "
            "sees nothing.",
        ),
        (
            CLEAR,
            {"kind": "corruption", "message": "drawn", "bits": 2, "burst": 8, "checksums": "repair"},
            "2 bits turn over within 8 in a row in a message that is drawn for each trial, and the checksum "
            "of the transport is made to fit. Somebody in the path does it, without keys.",
        ),
        (
            {"stack": "rasta", "app_params": {}},
            {"kind": "corruption", "message": 3, "checksums": "repair"},
            "One bit turns over in message 3, and the checksum of the transport is made to fit, but not the "
            "safety code of RaSTA. Somebody in the path does it, without keys.",
        ),
        (
            {"stack": "restp", "stack_params": {"crc": True}, "app_params": {}},
            {"kind": "corruption", "message": 3, "checksums": "repair"},
            "One bit turns over in the packet of message 3, and the checksum of the transport is made to "
            "fit, but not the CRCs of ResTP. Somebody in the path does it, without keys.",
        ),
        *(
            (
                {"stack": "restp", "stack_params": params, "app_params": {}},
                {"kind": "corruption", "message": 3, "checksums": "repair"},
                "One bit turns over in the packet of message 3, and the checksum of the transport is made to "
                "fit. Somebody in the path does it, without keys.",
            )
            for params in ({"crc": False}, {"protection": "protected"})
        ),
        (
            SEALED,
            {"kind": "corruption", "message": 3, "attacker": "random-fault"},
            "One bit turns over in the packet of message 3. A fault does it.",
        ),
        (
            CLEAR,
            {"kind": "repetition", "message": "first", "attacker": "random-fault"},
            "The first message comes again 500 ms later. A fault does it.",
        ),
        (
            EARLY,
            {"kind": "repetition", "message": "first", "by": "10s"},
            "The first flight of the session, with the first message in it, comes again 10 s later. Somebody "
            "in the path does it, without keys.",
        ),
        (
            EARLY,
            {"kind": "repetition", "message": 2, "by": "10s"},
            "Message 2 comes again 10 s later. Somebody in the path does it, without keys.",
        ),
        (
            CLEAR,
            {"kind": "deletion", "at": "3s", "attacker": "random-fault"},
            "The first message at 3 s or later is taken away. A fault does it.",
        ),
        (
            CLEAR,
            {"kind": "re-sequencing", "message": 2, "attacker": "random-fault"},
            "Message 2 comes behind the next one. A fault does it.",
        ),
    ],
)
def test_an_act_in_words(flow: dict[str, Any], section: dict[str, Any], said: str) -> None:
    assert act(section, flow) == said
