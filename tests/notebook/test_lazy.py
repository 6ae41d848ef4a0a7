"""`import gauntlet` imports nothing but itself, and every name of its API is there."""

import subprocess
import sys

import pytest

import gauntlet

HEAVY = ("typing", "importlib.metadata", "click", "numpy", "pyarrow", "pydantic", "rich", "altair", "tomli_w")


def loaded(code: str) -> set[str]:
    """The modules that are there after `code`, in an interpreter without what sites add."""
    listing = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_only_the_package_itself() -> None:
    more = loaded("import gauntlet") - loaded("")
    assert {name for name in more if name.partition(".")[0] == "gauntlet"} == {"gauntlet"}
    assert more.isdisjoint(HEAVY)


@pytest.mark.parametrize("name", gauntlet.__all__)
def test_every_name_is_there_and_loads_what_it_needs(name: str) -> None:
    assert getattr(gauntlet, name).__doc__
    assert name in dir(gauntlet)
    assert "pyarrow" in loaded(f"import gauntlet; gauntlet.{name}")


@pytest.mark.parametrize("other", ["polars", "altair", "duckdb", "vl_convert"])
def test_loading_results_needs_none_of_the_libraries_that_may_take_them(other: str) -> None:
    assert other not in loaded("import gauntlet; gauntlet.load, gauntlet.run, gauntlet.scenario")


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = gauntlet.lode
