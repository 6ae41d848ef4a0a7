"""The bench of a command link: its folder, and what goes on after a stop."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from gauntlet.cli import main
from gauntlet.errors import RunError, UserError
from gauntlet.space import bench, footprint, programs

from .samples import blocks, handshake, memory, table

EXAMPLE = Path(__file__).parent / "example-bench"

ABOUT = {"rustls": "0.23.46", "clock_ns": 20, "blocks": 3, "blocks_quick": 2}


class Programs:
    """In the place of the programs: what they print, and how often they were asked for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.fails_at = ""
        self.about = dict(ABOUT)
        monkeypatch.setattr(bench, "program", Path)
        monkeypatch.setattr(bench, "about", lambda: self.about)
        monkeypatch.setattr(bench, "rows", self.rows)
        first = table([handshake(mutual=False)])
        monkeypatch.setattr(bench, "first_handshakes", lambda cells, each, seed: first)
        monkeypatch.setattr(footprint, "memory", lambda quick, tell, pairs: table([memory()]))
        counted = table([{"instructions": 7}])
        monkeypatch.setattr(footprint, "instructions", lambda quick, tell, pairs: counted)
        monkeypatch.setattr(footprint, "sizes", lambda: table([{"back_end": "sdls", "code_octets": 5}]))

    def rows(self, name: str, arguments: list[str]) -> pa.Table:
        what = " ".join(arguments)
        self.asked.append(what)
        if what == self.fails_at:
            raise RunError("stopped")
        match arguments[0]:
            case "handshakes":
                return table([handshake(block=block) for block in range(2)])
            case "messages":
                block = int(arguments[-1])
                return table([row for row in blocks([[1000]] * 3) if row["block"] == block])
        return table([{"attack": "read", "security": "none", "outcome": "succeeds"}])


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(monkeypatch)


def quiet(_: str) -> None:
    pass


def test_a_folder_has_samples_manifest_and_summary(there: Programs, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "bench"
    found = bench.bench(folder, True, 5, quiet)
    assert bench.load(folder) == found
    assert sorted(file.name for file in (folder / "samples").iterdir()) == [
        "attacks.parquet", "first-handshakes.parquet", "handshakes.parquet", "instructions.parquet",
        "memory.parquet", "messages-0.parquet", "messages-1.parquet", "sizes.parquet",
    ]  # fmt: skip
    assert there.asked == [
        "attacks",
        "handshakes --seed 5 --quick",
        "messages --seed 5 --quick --block 0",
        "messages --seed 5 --quick --block 1",
    ]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert found == {**manifest, "tables": found["tables"]}
    assert (found["kind"], found["format"], found["quick"], found["seed"]) == ("space-bench", 1, True, 5)
    assert found["about"] == ABOUT
    assert set(found["load_before"]) == {file.stem for file in (folder / "samples").iterdir()}
    assert found["tables"]["messages"][0]["n"] == 2
    assert found["tables"]["sizes"] == [{"back_end": "sdls", "code_octets": 5}]


def test_what_was_stopped_goes_on_with_what_is_missing(there: Programs, tmp_path: Path) -> None:
    there.fails_at = "messages --seed 1 --block 1"
    with pytest.raises(RunError):
        bench.bench(tmp_path, False, 1, quiet)
    with pytest.raises(UserError, match=r"has no summary\.json"):
        bench.load(tmp_path)
    there.asked, there.fails_at = [], ""
    found = bench.bench(tmp_path, False, 1, quiet)
    assert there.asked == ["messages --seed 1 --block 1", "messages --seed 1 --block 2"]
    there.asked = []
    assert bench.bench(tmp_path, False, 1, quiet) == found
    assert there.asked == []


def test_a_folder_of_something_else_is_refused(there: Programs, tmp_path: Path) -> None:
    bench.bench(tmp_path / "one", True, 1, quiet)
    with pytest.raises(UserError, match=r"begun with other quick and seed: name another folder with --out"):
        bench.bench(tmp_path / "one", False, 2, quiet)
    # The clock may read a little faster; another library is another measurement.
    there.about = {**ABOUT, "clock_ns": 19}
    bench.bench(tmp_path / "one", True, 1, quiet)
    there.about = {**ABOUT, "rustls": "0.24.0"}
    with pytest.raises(UserError, match="begun with other libraries"):
        bench.bench(tmp_path / "one", True, 1, quiet)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").touch()
    with pytest.raises(UserError, match="holds something else"):
        bench.bench(tmp_path / "own", True, 1, quiet)


def test_the_command_prints_both_tables_or_all_as_json(there: Programs, tmp_path: Path) -> None:
    def say(*words: str) -> str:
        done = CliRunner().invoke(main, ["space", "bench", "--quick", "--out", str(tmp_path / "b"), *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    told = say()
    assert told.startswith("security ") and "in the place of table-4.3/x25519" in told
    assert json.loads(say("--json")) == bench.load(tmp_path / "b")


def test_a_program_that_is_not_built_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_FLIGHT_PROGRAMS", str(tmp_path))
    with pytest.raises(UserError, match=r"flight-bench .*`cargo build --profile measure -p flight-links"):
        programs.program(programs.BENCH)


def test_what_a_program_prints_is_read_with_its_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_FLIGHT_PROGRAMS", str(tmp_path))
    file = tmp_path / programs.BENCH
    file.write_text("#!/bin/sh\necho name,value; echo rustls,0.23.46; echo clock_ns,20; exit $1\n")
    file.chmod(0o755)
    assert programs.rows(programs.BENCH, ["0"]).to_pylist()[1] == {"name": "clock_ns", "value": "20"}
    with pytest.raises(RunError, match="flight-bench 3 ended with exit code 3"):
        programs.rows(programs.BENCH, ["3"])
    file.write_text("#!/bin/sh\necho name,value; echo rustls,0.23.46; echo clock_ns,20\n")
    assert programs.about() == {"rustls": "0.23.46", "clock_ns": 20}


def test_the_example_of_the_format_has_all_that_its_page_names() -> None:
    found = bench.load(EXAMPLE)
    page = (Path(__file__).parents[2] / "docs" / "formats" / "space-bench.md").read_text()
    for name, rows in found["tables"].items():
        assert f"### `{name}`" in page
        assert rows, name
        missing = {column for row in rows for column in row if f"`{column}`" not in page}
        assert missing == set(), name


@pytest.mark.parametrize("content", [{}, {"kind": "space-bench", "format": 2}])
def test_what_is_no_summary_is_refused(tmp_path: Path, content: dict[str, Any]) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="not of kind space-bench, format 1"):
        bench.load(tmp_path)
