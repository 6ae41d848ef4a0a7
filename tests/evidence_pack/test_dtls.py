"""What is known of DTLS on paper goes with a claim about it."""

import pytest

from gauntlet.evidence_pack.requirement import row_of


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_the_row_is_about_whether_both_ends_prove_who_they_are(version: str) -> None:
    assert row_of("dtls", {"version": version}) == "dtls"
    assert row_of("dtls", {"version": version, "client_auth": True}) == "dtls-mutual"
