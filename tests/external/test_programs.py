"""Programs for the guest: what they check of what arrives, and what they do without."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gauntlet
from gauntlet.external.contract import TILE_BYTES, Content, Failed, check_intact, payload

SIZE_BYTES = 2 * TILE_BYTES + 1000


def taken(content: bytes, block_bytes: int) -> Content:
    """A file that has arrived in blocks of this size."""
    arrived = Content(7, "file")
    for start in range(0, len(content), block_bytes):
        arrived.take(content[start : start + block_bytes])
    return arrived


@pytest.mark.parametrize("block_bytes", [1, 1448, 8192, TILE_BYTES])
def test_what_was_sent_is_recognised_however_it_is_cut(block_bytes: int) -> None:
    taken(payload(7, "file", SIZE_BYTES), block_bytes).check(SIZE_BYTES)


@pytest.mark.parametrize("at", [0, 1447, TILE_BYTES - 1, TILE_BYTES, SIZE_BYTES - 1])
def test_a_byte_that_differs_is_found_where_it_is(at: int) -> None:
    content = bytearray(payload(7, "file", SIZE_BYTES))
    content[at] ^= 1
    with pytest.raises(Failed, match=f"from byte {at} on"):
        taken(bytes(content), 1448).check(SIZE_BYTES)
    with pytest.raises(Failed, match=f"from byte {at} on"):
        check_intact(bytes(content), 7, "file", SIZE_BYTES)


@pytest.mark.parametrize("change", [-1, 1])
def test_another_size_is_told(change: int) -> None:
    content = payload(7, "file", SIZE_BYTES + change)
    with pytest.raises(Failed, match=f"^{SIZE_BYTES + change} of the {SIZE_BYTES} bytes of file arrived"):
        check_intact(content, 7, "file", SIZE_BYTES)


def test_blocks_in_another_order_are_noticed() -> None:
    content = payload(7, "file", SIZE_BYTES)
    swapped = content[1448:2896] + content[:1448] + content[2896:]
    with pytest.raises(Failed, match="other content"):
        taken(swapped, 1448).check(SIZE_BYTES)


def test_contents_differ_by_seed_and_name() -> None:
    assert len({payload(1, "a", 100), payload(2, "a", 100), payload(1, "b", 100)}) == 3


@pytest.mark.parametrize(
    ("module", "dear"),
    [
        ("contract", {"dataclasses", "pathlib", "hashlib", "typing", "inspect"}),
        ("ftp_client", {"dataclasses", "pathlib", "ssl"}),
        ("ftp_server", {"dataclasses", "pathlib", "OpenSSL", "cryptography", "multiprocessing"}),
        ("ftps_client", {"dataclasses", "OpenSSL", "cryptography"}),
    ],
)
def test_what_costs_a_guest_dearly_is_not_imported(module: str, dear: set[str]) -> None:
    out = _python(f"import gauntlet.external.{module}; print(*(it for it in sys.modules if sys.modules[it]))")
    assert not dear & set(out.split())


def test_programs_are_compiled_before_a_guest_starts_them(tmp_path: Path) -> None:
    """In a copy of the package: other tests play with the compiled files of the real one meanwhile."""
    real, without = Path(gauntlet.__file__).parent, shutil.ignore_patterns("__pycache__", "kernel")
    copy = shutil.copytree(real, tmp_path / "gauntlet", ignore=without)
    _python(
        "from gauntlet.experiment.external import FTP, started;started(FTP.to_json({}, receiver_opens=True))",
        before=tmp_path,
    )
    folder = copy / "external"
    pattern = f"__pycache__/*.{sys.implementation.cache_tag}.pyc"
    found = {it.name.partition(".")[0] for it in folder.glob(pattern)}
    assert found == {it.stem for it in folder.glob("*.py")}


def _python(program: str, before: Path | None = None) -> str:
    """What a program prints that is run apart, with modules of the folder `before` before all others.

    -S keeps what .pth files import out of the count; -B leaves no compiled file.
    """
    found = [str(before)] * (before is not None) + sys.path
    paths = f"import sys; sys.path[:] = {found!r}; "
    command = [sys.executable, "-S", "-B", "-c", paths + program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
