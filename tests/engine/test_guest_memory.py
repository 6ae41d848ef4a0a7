"""Where the memory of guests lies."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from gauntlet.engine import guest_memory
from gauntlet.engine.doctor.apart import apart
from gauntlet.engine.guest_memory import Place
from gauntlet.errors import RunError

MIB = 1 << 20


def test_folders_that_the_user_names_are_tried_first() -> None:
    named = {"TMP": "/b", "TMPDIR": "/a", "TEMP": ""}
    assert guest_memory.candidates(named) == [
        Path("/a"),
        Path("/b"),
        Path("/dev/shm"),
        Path("/tmp"),
        Path("/var/tmp"),
    ]
    assert guest_memory.candidates({"TMPDIR": "/tmp"})[:2] == [Path("/tmp"), Path("/dev/shm")]


def test_a_tmpfs_with_room_for_all_guests_is_best_and_ends_the_search() -> None:
    def places() -> Iterator[Place]:
        yield Place(Path("/disk"), False, 10_000 * MIB)
        yield Place(Path("/small"), True, 400 * MIB)
        yield Place(Path("/shm"), True, 600 * MIB)
        raise AssertionError("no folder is tried in vain")

    assert guest_memory.best_of(places(), 256 * MIB, 2).folder == Path("/shm")


def test_else_any_folder_with_room_for_all_then_the_one_with_most() -> None:
    disk, small = Place(Path("/disk"), False, 600 * MIB), Place(Path("/shm"), True, 400 * MIB)
    assert guest_memory.best_of([small, disk], 256 * MIB, 2) is disk
    assert guest_memory.best_of([small, disk], 256 * MIB, 3) is disk
    assert guest_memory.best_of([small], 256 * MIB, 3) is small


def test_nowhere_names_the_fault_of_every_folder_and_the_mend() -> None:
    places = [
        Place(Path("/a"), False, 0, "mounted noexec"),
        Place(Path("/b"), False, 0, "mounted noexec"),
        Place(Path("/c"), False, 0, "not there"),
    ]
    with pytest.raises(RunError) as caught:
        guest_memory.best_of(places, 256 * MIB, 1)
    assert "/a and /b: mounted noexec, /c: not there" in str(caught.value)
    assert "set TMPDIR" in str(caught.value)


def test_a_good_folder_is_left_as_it_was(tmp_path: Path) -> None:
    place = guest_memory.tried(tmp_path, 16 * MIB)
    assert place.refusal == ""
    assert place.free_bytes >= 16 * MIB
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_folder_or_has_no_room_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert guest_memory.tried(tmp_path / "none", MIB).refusal == "not there"
    assert guest_memory.tried(tmp_path / "file", MIB).refusal == "not there"
    assert guest_memory.tried(Path("/proc"), MIB).refusal != ""
    assert "MiB free" in guest_memory.tried(tmp_path, 1 << 42).refusal


def test_a_limit_of_file_sizes_is_mended_at_the_limit(tmp_path: Path) -> None:
    def limited() -> Place:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, resource.RLIM_INFINITY))
        return guest_memory.tried(tmp_path, 2 * MIB)

    place = apart(limited).result
    assert place is not None
    assert place.refusal == "closed to files of that size"
    with pytest.raises(RunError, match="ulimit -f"):
        guest_memory.best_of([place], 2 * MIB, 1)
