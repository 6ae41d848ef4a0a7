"""Which extensions stand in a header follows from its bits alone: cases counted by hand from chapter 3."""

import pytest

from restp_decoder import decode
from restp_decoder.extensions import Arq, Cookie, Fec, Seq
from restp_decoder.packet import Extension
from restp_decoder.paths import Dss, JoinSynAck, Role

PORTS = "9c401f90"


@pytest.mark.parametrize(
    ("text", "extensions"),
    [
        # Data of a connection without services, and with one that needs numbers: FEC, order, Cong, D.
        ("03001000 00010000" + PORTS + "61", ()),
        ("04001010 00010000" + PORTS + "00000005 61", (Seq(5),)),
        ("04005000 00010000" + PORTS + "00000005 61", (Seq(5),)),
        ("04009000 00010000" + PORTS + "00000005 61", (Seq(5),)),
        ("04001000 03010000" + PORTS + "00000005 61", (Seq(5),)),
        ("05001000 80010020" + PORTS + "00000000 00000005 61", (Dss(), Seq(5))),
        # The same without payload has no number.
        ("03005000 03010000" + PORTS, ()),
        # Two numbers with ARQ, ACK, FIN and RST.
        ("05001040 00010000" + PORTS + "00000005 00000000 61", (Arq(5),)),
        ("05101000 00010000" + PORTS + "00000005 00000006", (Arq(5, 6),)),
        ("05011000 00010000" + PORTS + "00000005 00000000", (Arq(5),)),
        ("05041000 00010000" + PORTS + "00000005 00000000", (Arq(5),)),
        # The FEC word: with ARQ and ACK but not without either, and not on data.
        ("06101050 00010000" + PORTS + "01000002 00000005 00000006", (Fec(1, 2), Arq(5, 6))),
        ("05001050 00010000" + PORTS + "00000005 00000000", (Arq(5),)),
        ("05101010 00010000" + PORTS + "00000005 00000006", (Arq(5, 6),)),
        ("05101050 00010000" + PORTS + "00000005 00000006 61", (Arq(5, 6),)),
        ("06021010 00010000" + PORTS + "01000000 00000005 00000000", (Fec(1, 0), Arq(5))),
        # A cookie beside a join, whose SYN-ACK has a word more than its SYN.
        (
            "0a122800 80010080" + PORTS + "c0c1c2c3 00030000 a0a1a2a3 a4a5a6a7 00000009 00000005 00000006",
            (
                Cookie(bytes.fromhex("c0c1c2c3")),
                JoinSynAck(Role(False, 3), bytes.fromhex("a0a1a2a3a4a5a6a7"), 9),
                Arq(5, 6),
            ),
        ),
        # What NAK and SAK offer on a SYN-ACK brings no words.
        ("0512104c 00010000" + PORTS + "00000005 00000006", (Arq(5, 6),)),
    ],
)
def test_the_bits_announce_the_extensions(text: str, extensions: tuple[Extension, ...]) -> None:
    assert decode(bytes.fromhex(text)).extensions == extensions
