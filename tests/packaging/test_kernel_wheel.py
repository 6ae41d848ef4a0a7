"""Which kernel guests boot: the one that is named, else the one built here, else that of the wheel."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from gauntlet.engine import kernel
from gauntlet.errors import RunError

PACKAGE = Path(__file__).parents[2] / "packaging/gauntlet-net-kernel/src/gauntlet_kernel"


@pytest.fixture(autouse=True)
def _bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an empty cache and no wheel."""
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GAUNTLET_KERNEL", raising=False)
    monkeypatch.setitem(sys.modules, "gauntlet_kernel", None)


def install(place: Path, monkeypatch: pytest.MonkeyPatch, recipe: str) -> Path:
    """Lay the wheel's package out as installed, with an image; return the image."""
    package = place / "site" / "gauntlet_kernel"
    shutil.copytree(PACKAGE, package)
    (package / "linux").write_bytes(b"of the wheel")
    facts = {"version": "6.12.1", "wheel": "0.1.0", "recipe_hash": recipe, "source_hash": "s" * 16}
    (package / "kernel.json").write_text(json.dumps(facts))
    monkeypatch.delitem(sys.modules, "gauntlet_kernel", raising=False)
    monkeypatch.syspath_prepend(str(place / "site"))
    return package / "linux"


def build(place: Path, recipe: str) -> Path:
    """Put an image into the cache, as a build by `recipe` does."""
    home = place / "cache" / "kernel" / f"{recipe}-{'c' * 16}"
    home.mkdir(parents=True)
    (home / "linux").write_bytes(b"built here")
    (home / "kernel.json").write_text(json.dumps({"version": "6.12.2", "source_hash": "c" * 16}))
    return home / "linux"


def test_without_any_the_sentence_names_both_ways() -> None:
    with pytest.raises(RunError, match=r"`pip install gauntlet-net-kernel`.*`gauntlet kernel build`"):
        kernel.describe()


def test_the_wheels_is_used_and_says_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = install(tmp_path, monkeypatch, kernel.recipe_hash("6.12"))
    found = kernel.describe()
    assert (found.path, found.version) == (image, "6.12.1")
    assert found.origin == "of the wheel gauntlet-net-kernel 0.1.0"


def test_one_built_here_comes_before_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, kernel.recipe_hash("6.12"))
    image = build(tmp_path, kernel.recipe_hash("6.12"))
    found = kernel.describe()
    assert (found.path, found.version, found.origin) == (image, "6.12.2", "built on this machine")
    assert kernel.built() == found


def test_one_built_here_by_another_recipe_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = install(tmp_path, monkeypatch, kernel.recipe_hash("6.12"))
    build(tmp_path, "0" * 16)
    assert kernel.image() == image
    with pytest.raises(RunError, match="gauntlet kernel build"):
        kernel.built()


def test_a_wheel_of_another_recipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "0" * 16)
    with pytest.raises(
        RunError, match=r"gauntlet-net-kernel 0\.1\.0 .*another recipe.*pip install --upgrade"
    ):
        kernel.describe()


def test_the_one_that_is_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, kernel.recipe_hash("6.12"))
    build(tmp_path, kernel.recipe_hash("6.12"))
    own = tmp_path / "own"
    own.write_bytes(b"own")
    monkeypatch.setenv("GAUNTLET_KERNEL", str(own))
    assert (kernel.describe().path, kernel.describe().origin) == (own, "given by GAUNTLET_KERNEL")
    assert kernel.describe().version == "unknown"
    own.write_bytes(b"\0Linux version 7.3.0-rc1+ (gauntlet@gauntlet) (gcc) #1\0")
    assert kernel.describe().version == "7.3.0-rc1+"
