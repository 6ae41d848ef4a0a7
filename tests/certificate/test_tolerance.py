"""Tolerances belong to the ground on which a run was played."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate import tolerance
from gauntlet.certificate.certify import certify
from gauntlet.errors import RunError


def test_real_time_is_allowed_more_than_virtual_time() -> None:
    virtual, host = tolerance.VIRTUAL, tolerance.HOST
    assert (virtual.time_ns, virtual.waking_ns, virtual.timeline_ns) == (5_000, 1_000_000, 1_000_000)
    assert (virtual.leaving_ns, virtual.late_ns) == (20_000, 5_000)
    assert all(vars(host)[name] > value for name, value in vars(virtual).items() if name.endswith("_ns"))


def test_beside_programs_packets_may_be_later_and_no_earlier() -> None:
    with tolerance.of_ground("virtual", programs=True):
        assert tolerance.current().late_ns == 50_000
        assert tolerance.current().time_ns == tolerance.VIRTUAL.time_ns
        assert tolerance.current().expected == {"tolerance_s": 5e-6, "late_tolerance_s": 5e-5}
    with tolerance.of_ground("host", programs=True):
        assert tolerance.current() is tolerance.HOST
    assert tolerance.VIRTUAL.expected == {"tolerance_s": 5e-6}


def test_it_holds_for_one_run_and_a_ground_that_is_not_known_is_held_to_the_strictest() -> None:
    assert tolerance.current() is tolerance.VIRTUAL
    with tolerance.of_ground("host"):
        assert tolerance.current() is tolerance.HOST
        with tolerance.of_ground("virtual"):
            assert tolerance.current() is tolerance.VIRTUAL
        assert tolerance.current() is tolerance.HOST
    with tolerance.of_ground("elsewhere"):
        assert tolerance.current() is tolerance.VIRTUAL
    with pytest.raises(RuntimeError), tolerance.of_ground("host"):
        raise RuntimeError
    assert tolerance.current() is tolerance.VIRTUAL


@pytest.mark.parametrize(("guest", "expected"), [({"ground": "host"}, "HOST"), ({}, "VIRTUAL")])
def test_the_record_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guest: dict[str, Any], expected: str
) -> None:
    seen: list[tolerance.Tolerance] = []

    def look(*_: object) -> None:
        seen.append(tolerance.current())
        raise KeyError("enough")

    # The package has a function of the module's name.
    monkeypatch.setattr(sys.modules[certify.__module__], "_check_identity", look)
    record = {"format": "gauntlet-record", "version": 1, "guest": guest}
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises((KeyError, RunError)):
        certify({"id": "run"}, tmp_path)
    assert seen == [getattr(tolerance, expected)]
