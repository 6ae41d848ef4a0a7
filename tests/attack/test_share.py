"""A server's share of a core: a control group with a quota, of both versions, and in force."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gauntlet.attack import share
from gauntlet.attack.share import Throttled
from gauntlet.errors import UserError
from tests.engine import host

BUSY = """
import time
end = time.monotonic() + 0.6
while time.monotonic() < end:
    pass
print(time.process_time())
"""


def group_can_be_made() -> bool:
    """Whether this machine lets this process make one."""
    try:
        share.check()
    except UserError:
        return False
    return True


def quota(made: share.Share) -> tuple[str, ...]:
    """What is written of the quota."""
    names = ("cpu.max",) if made.version == 2 else ("cpu.cfs_period_us", "cpu.cfs_quota_us")
    return tuple((made.folder / name).read_text() for name in names)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of files, unlike control groups, never let go."""
    monkeypatch.setattr(share, "_PATIENCE_S", 0.0)


@pytest.mark.usefixtures("impatient")
def test_version_1_has_period_and_quota_in_microseconds(tmp_path: Path) -> None:
    root = host.write(tmp_path, host.version_1("/a", {"cpu,cpuacct/a/cpu.cfs_quota_us": "-1"}))
    with share.share(0.2, root) as made:
        assert made.folder.parent == root / "sys/fs/cgroup/cpu,cpuacct/a"
        assert quota(made) == ("5000", "1000")


@pytest.mark.usefixtures("impatient")
def test_version_2_asks_for_the_controller_where_it_is_not_on(tmp_path: Path) -> None:
    files = {"a/cgroup.controllers": "cpu memory\n", "a/cgroup.subtree_control": "memory\n"}
    root = host.write(tmp_path, host.version_2("/a", files))
    with share.share(0.5, root) as made:
        assert quota(made) == ("2500 5000",)
        assert (root / "sys/fs/cgroup/a/cgroup.subtree_control").read_text() == "+cpu"


@pytest.mark.usefixtures("impatient")
def test_a_level_without_the_controller_is_passed_over(tmp_path: Path) -> None:
    files = {
        "a/cgroup.controllers": "memory\n",
        "cgroup.controllers": "cpu\n",
        "cgroup.subtree_control": "cpu\n",
    }
    with share.share(0.2, host.write(tmp_path, host.version_2("/a", files))) as made:
        assert made.folder.parent == tmp_path / "sys/fs/cgroup"


def test_without_control_groups_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be held to a share of a core: no control group"):
        share.check(root=tmp_path)


@pytest.mark.parametrize("of_a_core", [0.0, 0.1, 0.19, 1.01, 1.5])
def test_what_the_kernel_does_not_count_is_refused(tmp_path: Path, of_a_core: float) -> None:
    with pytest.raises(UserError, match="from 20% to 100% of a core"), share.share(of_a_core, tmp_path):
        pass


def test_what_was_throttled_is_read_of_both_versions(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("nr_periods 200\nnr_throttled 150\nthrottled_time 12345\n")
    assert share.Share(tmp_path, 1, 0.2).throttled() == Throttled(200, 150)


@pytest.mark.skipif(not group_can_be_made(), reason="this process may not make a control group")
def test_a_real_group_holds_a_process_to_its_share_and_goes_away() -> None:
    with share.share(0.2) as made:
        folder = made.folder
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", BUSY], capture_output=True, text=True, check=True, preexec_fn=made.enter
        )
        took_s = time.monotonic() - began
        assert float(done.stdout) < 0.5 * took_s
        assert made.throttled().throttled > 10
    assert not folder.exists()
