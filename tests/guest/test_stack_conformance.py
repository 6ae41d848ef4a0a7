"""What every transport of the registry must do, the same for all of them, checked inside one guest.

The checks and the list of transports are those of the crate `workload` (examples/conformance): a transport
that is added there is checked here too.
"""

import pytest

from gauntlet.engine import guest
from tests.guest.selftests import Checked, run_selftest

CHECKS = (
    "a million bytes arrive intact, and the sender sees the end after the last byte",
    "everything arrives at 5 % loss and 300 ms one way",
    "two flows at once do not mix",
    "nobody listens",
    "the receiver is killed half-way",
)


@pytest.fixture(scope="module")
def checked(machine: guest.Machine, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """All transports through all checks in one boot."""
    return run_selftest(machine, "workload", tmp_path_factory.mktemp("conformance"), "conformance")


def test_every_transport_of_the_guest_is_checked(checked: Checked) -> None:
    transports = {line.split(":")[0].split()[0] for line in checked.passed + checked.failed}
    known = {"tcp", "sctp", "udp", "mptcp", "tls", "quic-quinn", "quic-s2n", "sdls", "sdls-cop1", "dtls"}
    assert transports >= known | {"rasta", "rasta-tls"}


@pytest.mark.parametrize("check", CHECKS)
def test_every_transport_passes(checked: Checked, check: str) -> None:
    assert [line for line in checked.failed if check in line] == []
    of_check = [name for name in checked.passed if name.endswith(check)]
    assert len(of_check) * len(CHECKS) == len(checked.passed) + len(checked.failed)
