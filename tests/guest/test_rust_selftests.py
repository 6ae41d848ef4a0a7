"""The checks that the Rust crates make inside a guest: each is a first process of its own."""

from pathlib import Path

import pytest

from gauntlet.engine import guest
from tests.guest.selftests import run_selftest


@pytest.mark.parametrize("crate", ["netlab", "workload"])
def test_selftest_in_the_guest(machine: guest.Machine, crate: str, tmp_path: Path) -> None:
    checked = run_selftest(machine, crate, tmp_path)
    assert len(checked.passed) > 5
    assert checked.failed == ()
