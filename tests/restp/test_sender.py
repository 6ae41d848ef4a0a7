"""What a receiver takes but no sender may send is named; the golden vectors are well sent but for three."""

from dataclasses import replace

import pytest

from restp_decoder import Packet, decode, sender_faults
from restp_decoder.extensions import Arq, Fec, Sack, Snack
from restp_decoder.header import Error, Flags, Flow, Order
from restp_decoder.paths import CapableFlags, Dss, MpCapable
from tests.restp.document import DROPS, PSEUDO_HEADERS, VECTORS

# The first shows bits that receivers ignore; the second adds a word of zeros to its vector; the third has
# length 2 and C.
FAULTY = {"datagram_reserved_hints": 4, "snack_offset": 1, "mp_stub_borne": 2}


@pytest.mark.parametrize(
    "name", sorted(VECTORS.keys() - DROPS.keys() - FAULTY.keys() - PSEUDO_HEADERS.keys())
)
def test_golden_vectors_are_well_sent(name: str) -> None:
    assert sender_faults(decode(VECTORS[name])) == []


@pytest.mark.parametrize(("name", "count"), FAULTY.items())
def test_vectors_that_show_what_receivers_bear(name: str, count: int) -> None:
    assert len(sender_faults(decode(VECTORS[name]))) == count


def vector(name: str) -> Packet:
    return decode(VECTORS[name])


ACK, SYN, ENCODED, DATA = (
    vector("f4_snack_after_17"),
    vector("syn"),
    vector("quasi_encoded"),
    vector("mp_data"),
)


@pytest.mark.parametrize(
    ("packet", "requirement"),
    [
        (replace(ACK, header=replace(ACK.header, k=2)), "R-HDR-7"),
        (replace(ACK, header=replace(ACK.header, flags=Flags.ACK | Flags.URG)), "R-HDR-7"),
        (replace(ACK, header=replace(ACK.header, flow=Flow.CON | Flow.CXF)), "R-HDR-7"),
        (replace(vector("size_probe"), payload=b"data"), "R-SIZE-1"),
        (replace(vector("rst_code"), payload=b"odd"), "R-CM-11"),
        (replace(vector("part"), payload=b"\0\x04\0\x06abc"), "R-SIZE-4"),
        (replace(vector("part"), payload=b"\0\0\0\x06"), "R-SIZE-4"),
        (
            replace(ACK, header=replace(ACK.header, order=Order.PAR, error=ACK.header.error | Error.DEL)),
            "R-ACK-3",
        ),
        (replace(vector("datagram"), header=replace(vector("datagram").header, flags=Flags.PSH)), "R-CM-1"),
        (replace(vector("datagram"), header=replace(vector("datagram").header, win=True)), "R-CM-1"),
        (replace(vector("datagram"), header=replace(vector("datagram").header, version=1)), "R-PROT-1"),
        (replace(SYN, payload=b"early"), "R-CM-2"),
        (replace(vector("cookie_request"), payload=b"early"), "R-OPT-1"),
        (replace(vector("cookie_grant"), numbers=Arq(1, 0)), "R-OPT-1"),
        (replace(SYN, numbers=Arq(1, 2)), "R-ARQ-2"),
        (replace(SYN, path_message=MpCapable(CapableFlags.A, bytes(8))), "R-MPC-2"),
        (replace(ENCODED, fec=Fec(1, 17)), "R-FEC-2"),
        (replace(ENCODED, fec=Fec(2, 9)), "R-FEC-2"),
        (replace(ENCODED, fec=Fec(2, 0)), "R-FEC-2"),
        (replace(ENCODED, fec=Fec(3, 1)), "R-FEC-2"),
        (replace(vector("harq_syn"), fec=Fec(2, 1)), "R-FEC-2"),
        (replace(DATA, dss=None), "R-DSS-3"),
        (replace(DATA, dss=Dss(data_ack=7000)), "R-DSS-3"),
        (replace(DATA, dss=replace(vector("mp_data_fin").dss or Dss(), length=1)), "R-DSS-2"),
        (replace(vector("mp_data_fin"), dss=DATA.dss and replace(DATA.dss, data_fin=True)), "R-DSS-2"),
        (replace(DATA, numbers=Arq(551, 950)), "R-DSS-2"),
        (replace(vector("mp_stub"), numbers=Arq(78, 31)), "R-DSS-2"),
        (replace(vector("mp_stub"), dss=DATA.dss and replace(DATA.dss, checked=True)), "R-MP-15"),
        (replace(ACK, report=Sack(((15, 14),))), "R-SACK-1"),
        (replace(ACK, report=Snack(0, 4, (0xD0000000, 0))), "R-SNACK-2"),
        (replace(ACK, report=Snack(0, 4, (0xFF000000,))), "R-SNACK-2"),
    ],
)
def test_each_fault_names_its_requirement(packet: Packet, requirement: str) -> None:
    assert any(requirement in sentence for sentence in sender_faults(packet))


def test_blocks_are_compared_in_serial_arithmetic() -> None:
    assert sender_faults(replace(ACK, report=Sack(((0xFFFFFFFE, 1),)))) == []
