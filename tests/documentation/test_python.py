"""The Python of the first experiment's page, executed over results in its folder, and of that on paths."""

from pathlib import Path

import pytest

from tests.report import factory

from .snippets import blocks

SNIPPETS = [block for block in blocks("python") if block.document.name == "first-experiment.md"]

OF_PATHS = [block for block in blocks("python") if block.document.name == "geography.md"]


def test_the_python_of_challenges_says_when_each_path_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = OF_PATHS
    exec(compile(block.text, block.name, "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line[0] for line in lines] == ["1", "2", "1", "2"]
    assert [line.endswith(" ()") for line in lines] == [False, True, False, True], (
        "the first path is taken twice"
    )
    assert all("40)" in line or "120)" in line for line in lines if not line.endswith(" ()"))


def test_the_python_of_the_first_experiment_prints_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    factory.doubtful(tmp_path / "results" / "first", tmp_path / "scratch")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in SNIPPETS:
        exec(compile(block.text, block.name, "exec"), names)
    means, in_time = capsys.readouterr().out.split("shape: ")[1:]
    assert means.startswith("(5, 3)"), "two protocols, two losses, and the run that failed"
    assert "throughput_bps" in means
    assert "in_time" in in_time
