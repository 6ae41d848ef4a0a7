"""A stack of the player can be named in an experiment before anybody has a line for it in Python."""

from gauntlet.experiment import PROTOCOLS, player
from gauntlet.experiment.protocols import without_words


def test_a_new_stack_is_a_protocol_of_its_own_name() -> None:
    found = without_words(PROTOCOLS.values(), ["tcp", "udp-lite", "new"], {"tcp", "new"})
    assert [(it.key, it.label, it.stack, it.reliable) for it in found] == [
        ("udp-lite", "udp-lite", "udp-lite", False),
        ("new", "new", "new", True),
    ]


def test_the_stacks_of_the_player_have_lines_of_their_own() -> None:
    assert without_words(PROTOCOLS.values(), player.STACKS, ()) == []


def test_what_the_player_calls_reliable_is_what_the_lines_say() -> None:
    """With the right parameters: only UDP never is."""
    reliable = {protocol.stack for protocol in PROTOCOLS.values() if protocol.reliable}
    assert player.stacks_with("reliable") == reliable & set(player.STACKS)
