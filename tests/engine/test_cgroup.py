"""What the control groups of a process allow it, of both versions, seen from the host and from containers."""

from pathlib import Path

import pytest

from gauntlet.engine import cgroup
from tests.engine import host


def test_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert cgroup.limits(tmp_path) == cgroup.Limits()


def test_version_2_takes_the_tightest_limit_on_the_way_to_the_root(tmp_path: Path) -> None:
    files = {
        "a/b/cpu.max": "max 100000",
        "a/cpu.max": "150000 100000",
        "a/b/memory.max": "max",
        "a/memory.max": str(4 * host.GIB),
        "a/memory.current": str(3 * host.GIB),
        "a/memory.stat": f"anon 1\ninactive_file {host.GIB}\n",
        "a/b/pids.max": "100",
        "a/b/pids.current": "40",
    }
    limits = cgroup.limits(host.write(tmp_path, host.version_2("/a/b", files)))
    assert limits.cores == 1.5
    assert limits.memory_bytes == 4 * host.GIB
    assert limits.memory_free_bytes == 2 * host.GIB, "cached files can be dropped"
    assert limits.processes_free == 60
    assert limits.versions == (2,)


def test_version_1_has_a_hierarchy_for_each_controller(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/a/cpu.cfs_quota_us": "50000",
        "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/a/memory.limit_in_bytes": str(host.GIB),
        "memory/a/memory.usage_in_bytes": str(host.GIB // 4),
        "pids/a/pids.max": "max",
    }
    limits = cgroup.limits(host.write(tmp_path, host.version_1("/a", files)))
    assert limits.cores == 0.5
    assert limits.memory_bytes == host.GIB
    assert limits.memory_free_bytes == host.GIB * 3 // 4
    assert limits.processes_free is None
    assert limits.versions == (1,)


def test_no_quota_of_version_1_is_written_as_minus_one(tmp_path: Path) -> None:
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}
    assert cgroup.limits(host.write(tmp_path, host.version_1("/", files))).cores is None


@pytest.mark.parametrize(
    ("path", "mount_root"),
    [
        ("/docker/1234", "/docker/1234"),  # the mount begins at the group, the path is the host's
        ("/", "/"),  # a name space of control groups
        ("/../../elsewhere", "/"),  # a name space that was entered from outside of it
    ],
)
def test_in_a_container_the_mount_itself_is_the_group(tmp_path: Path, path: str, mount_root: str) -> None:
    files = host.version_2(path, {"cpu.max": "200000 100000"}, mount_root=mount_root)
    assert cgroup.limits(host.write(tmp_path, files)).cores == 2


@pytest.mark.parametrize(
    ("quota", "allowed", "guests"), [(None, 8, 8), (2.0, 8, 2), (1.5, 8, 2), (0.1, 8, 1), (64.0, 8, 8)]
)
def test_a_quota_feeds_so_many_guests(quota: float | None, allowed: int, guests: int) -> None:
    assert cgroup.whole_cores(quota, allowed) == guests
