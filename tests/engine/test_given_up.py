"""A guest that gives up is told in its words; a full disk by what mends it, and once."""

import shlex
from pathlib import Path

import pytest

from gauntlet.engine import guest
from gauntlet.errors import RunError


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            "record.json: No space left on device (os error 28)",
            "The disk is full: record.json: No space left on device (os error 28); free some space, the same "
            "command continues.",
        ),
        ("the plan has no runs", "The guest gave up: the plan has no runs"),
    ],
)
def test_why_a_guest_gave_up(tmp_path: Path, reason: str, told: str) -> None:
    """Instead of a kernel a shell says it."""
    kernel = tmp_path / "kernel"
    event = f'{{"event":"refused","reason":"{reason}"}}'
    kernel.write_text(f"#!/bin/sh\necho {shlex.quote(event)}\n")
    kernel.chmod(0o755)
    machine = guest.Machine(kernel, tmp_path / "player", memory_folder=tmp_path)
    with pytest.raises(RunError) as caught:
        guest.boot([{"id": "a"}], tmp_path / "out", seed=1, machine=machine)
    assert str(caught.value) == told
