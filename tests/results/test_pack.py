"""What a packed record depends on besides the record itself."""

import inspect
import shutil
from pathlib import Path

import pytest

from gauntlet.certificate import certify
from gauntlet.results import pack


def test_a_change_of_the_code_that_judges_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack.made_with.cache_clear()
    before = dict(pack.made_with())
    pack.made_with.cache_clear()
    copy = tmp_path / "certificate"
    shutil.copytree(Path(inspect.getfile(certify)).parent, copy)
    real = inspect.getfile
    monkeypatch.setattr(
        inspect, "getfile", lambda it: str(copy / "certify.py") if it is certify else real(it)
    )
    assert pack.made_with() == before
    with (copy / "chance.py").open("a") as file:
        file.write("# stricter\n")
    pack.made_with.cache_clear()
    assert pack.made_with()["code"] != before["code"]
    pack.made_with.cache_clear()
