"""What is known of RaSTA on paper goes with a claim about just that RaSTA."""

from typing import Any

import pytest

from gauntlet.evidence_pack.requirement import requirement, row_of


@pytest.mark.parametrize(
    ("stack", "params", "row"),
    [
        ("rasta", {}, "rasta"),
        ("rasta", {"safety_code": "md4-full"}, "rasta"),
        ("rasta", {"safety_code": "siphash-half"}, None),
        ("rasta", {"safety_code": "none"}, None),
        ("rasta-tls", {"client_auth": True}, "rasta-tls"),
        ("rasta-tls", {}, None),
        ("rasta-tls", {"client_auth": True, "safety_code": "blake2b-half"}, None),
    ],
)
def test_the_row_is_about_the_code_and_the_certificates_that_were_played(
    stack: str, params: dict[str, Any], row: str | None
) -> None:
    assert row_of(stack, params) == row


def test_rasta_has_time_stamps_on_paper_and_no_column_of_d35() -> None:
    paper = requirement("delay", {"stack": "rasta", "stack_params": {}})["on_paper"]
    assert paper["row"] == "rasta"
    assert "Time stamp" in paper["defences"]
    assert paper["d35"] is None
