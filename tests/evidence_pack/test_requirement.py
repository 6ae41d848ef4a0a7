"""A stack with its parameters belongs to the row of the assessment that is about just that, or to none."""

from typing import Any

import pytest

from gauntlet.defences.data import default
from gauntlet.evidence_pack.requirement import requirement, row_of


@pytest.mark.parametrize(
    ("stack", "params", "row"),
    [
        ("udp", {}, "udp"),
        ("tcp", {"congestion_control": "cubic"}, "tcp"),
        ("tcp", {"fast_open": True}, None),
        ("mptcp", {}, None),
        ("sctp", {}, "sctp"),
        ("tls", {"congestion_control": "cubic"}, "tcp-tls"),
        ("tls", {"client_auth": True}, "tcp-mtls"),
        ("tls", {"early_data": True}, None),
        ("tls", {"transport": "sctp"}, "sctp-tls"),
        ("tls", {"transport": "sctp", "client_auth": True}, None),
        ("quic-quinn", {}, "quic"),
        ("quic-s2n", {"early_data": True}, "quic-0rtt"),
        ("quic-quinn", {"client_auth": True}, "quic-mutual"),
        ("quic-quinn", {"datagrams": True}, None),
        ("restp", {"profile": "file_arq"}, "restp"),
        ("restp", {"profile": "file_arq", "crc": False}, "restp-no-crc"),
        ("restp", {"profile": "file_arq", "protection": "protected"}, "restp-protected"),
        ("restp", {"profile": "voice"}, None),
    ],
)
def test_rows(stack: str, params: dict[str, Any], row: str | None) -> None:
    assert row_of(stack, params) == row
    if row:
        assert default().protocol(row).id == row


def test_a_protocol_without_a_row_has_the_threat_s_defences_alone() -> None:
    needed = requirement("masquerade", {"stack": "mptcp", "stack_params": {}})
    assert needed["on_paper"] is None
    assert needed["table_4"]["defences"]
