"""The run key: it changes if and only if something that reaches the run does."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.engine.contract import Engine
from gauntlet.engine.guest import Machine
from gauntlet.engine.virtual import Virtual
from gauntlet.errors import RunError
from gauntlet.executor import attachments
from gauntlet.executor.plan import RunPlan, canonical, run_key
from gauntlet.executor.planning import plans
from gauntlet.executor.play import Job, Packed, Player
from gauntlet.experiment import expand, parse_experiment, plan_run
from tests.experiment import factory as experiments

ENGINE = {"ground": "virtual", "kernel_sha256": "0" * 64}

TEXT = experiments.text(
    "tried",
    protocols=("tcp-cubic", "udp"),
    workload=experiments.paced("1min"),
    about={"title": "A title", "repetitions": 2, "seed": 7},
    scenario={"rate": "5.2Mbit/s"},
)
PAGE = TEXT.partition("[workload]")[0].replace('"udp"', '"sctp"') + (
    '[workload]\napp = "page"\npage = "own.csv"\nhttp = "1.1"\n'
)
OWN = TEXT.replace('"udp"', '"mine"') + (
    '[stack.mine]\nclient = ["{python}", "client.py"]\nserver = ["{python}", "client.py", "table.txt"]\n'
)


def keys(text: str, folder: Path = Path(), **changes: Any) -> dict[str, str]:
    """The key of each run of an experiment by its id."""
    specs = expand(parse_experiment(text, "own.toml", folder, **changes))
    made = [plan.key(ENGINE) for plan in plans(specs)]
    return {spec.id: key for spec, key in zip(specs, made, strict=True)}


def test_a_plan_is_that_of_its_run_but_for_the_id() -> None:
    specs = expand(parse_experiment(TEXT, "own.toml", Path()))
    for spec, plan in zip(specs, plans(specs), strict=True):
        assert plan.run(spec.id) == json.loads(json.dumps(plan_run(spec)))


MOVING = experiments.text(
    "moving",
    protocols=("udp", "tcp-cubic"),
    workload={"app": "cbr", "rate": "1Mbit/s", "packet": "1000B"},
    about={"repetitions": 2, "seed": 7},
    scenario={"name": "hsr", "chunk": "1min"},
    factors={"duration": ["10s", "40s"], "channel_delay": ["25ms", "50ms"]},
)


def test_what_plans_share_is_equal_in_them() -> None:
    """Stretches of a line, links, durations and flows, several of each: every plan is as if made alone."""
    specs = expand(parse_experiment(MOVING, "own.toml", Path()))
    assert len({spec.start_s for spec in specs}) > 1
    assert len({spec.limit_s for spec in specs}) > 1
    for spec, plan in zip(specs, plans(specs), strict=True):
        assert plan.run(spec.id) == json.loads(json.dumps(plan_run(spec)))
    assert len({plan.key(ENGINE) for plan in plans(specs)}) == len(specs)


def test_two_programs_of_one_experiment_count_with_their_own_files(own_stack: Path) -> None:
    (own_stack / "other.py").write_text("")
    other = OWN.replace('"mine"', '"mine", "other"') + (
        '[stack.other]\nclient = ["{python}", "other.py"]\nserver = ["{python}", "other.py"]\n'
    )
    specs = expand(parse_experiment(other, "own.toml", own_stack))
    named = {
        spec.factors["protocol"]: {Path(file).name for file in plan.files}
        for spec, plan in zip(specs, plans(specs), strict=True)
    }
    assert {"client.py", "helper.py"} <= named["mine"]
    assert "other.py" in named["other"]
    assert not {"client.py", "helper.py"} & named["other"]
    assert named["tcp-cubic"] == set()


@pytest.mark.parametrize("part", ["kernel", "program"])
def test_an_engine_is_another_one_with_another_kernel_or_player(tmp_path: Path, part: str) -> None:
    machine = Machine(tmp_path / "kernel", tmp_path / "program")
    for file in (machine.kernel, machine.program):
        file.write_bytes(b"1")
    before = Virtual(machine).identity()
    (tmp_path / part).write_bytes(b"22")
    after = Virtual(machine).identity()
    assert RunPlan({}).key(before) != RunPlan({}).key(after)
    assert Virtual(replace(machine, memory="7M")).identity() != after


def test_the_key_can_be_computed_from_the_plan_with_any_tool() -> None:
    """As docs/formats/plan.md describes it, without the code that is tested."""
    spec = expand(parse_experiment(TEXT, "own.toml", Path()))[0]
    (plan,) = plans([spec])
    run = {name: value for name, value in plan_run(spec).items() if name != "id"}
    around = {
        "format": "gauntlet-run-key",
        "version": 1,
        "plan": {"format": "gauntlet-plan", "version": 1},
        "engine": ENGINE,
        "files": {},
        "libraries": {},
    }
    text = json.dumps({"around": around, "run": run}, sort_keys=True, separators=(",", ":"))
    assert plan.key(ENGINE) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[experiment]", "# A comment.\n[experiment]"),
        ('title = "A title"', 'title = "Another"'),
        ('name = "tried"', 'name = "renamed"'),
        ('["tcp-cubic", "udp"]', '["udp", "tcp-cubic"]'),
        ('["0%", "1%"]', '["1%", "0%"]'),
        ('["0%", "1%"]', '["0ppm", "10000ppm"]'),
        ('app = "cbr"', 'name = "telemetry"\napp = "cbr"'),
    ],
)
def test_what_only_people_see_changes_no_key(old: str, new: str) -> None:
    assert old in TEXT
    assert sorted(keys(TEXT.replace(old, new)).values()) == sorted(keys(TEXT).values())


def test_more_of_anything_keeps_the_keys_of_what_was_there() -> None:
    before = keys(TEXT)
    assert len(set(before.values())) == len(before) == 8
    for text in (
        TEXT.replace("repetitions = 2", "repetitions = 3"),
        TEXT.replace('"udp"]', '"udp", "tcp-bbr"]'),
        TEXT.replace('"1%"]', '"1%", "2%"]'),
    ):
        after = keys(text)
        assert len(after) > len(before)
        assert {run: after[run] for run in before} == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 7", "seed = 8"),
        ('rate = "5.2Mbit/s"', 'rate = "5.3Mbit/s"'),
        ("[matrix]", '[link]\nqueue = "64kB"\n[matrix]'),
        ('duration = "1min"', 'duration = "2min"'),
        ('rate = "1Mbit/s"', 'rate = "2Mbit/s"'),
        ("[matrix]", '[sysctl]\n"net.ipv4.tcp_ecn" = 1\n[matrix]'),
        ("[matrix]", '[record]\npackets = "full"\n[matrix]'),
        ("[matrix]", "[record]\nkeys = true\n[matrix]"),
    ],
)
def test_what_reaches_the_runs_changes_every_key(old: str, new: str) -> None:
    assert old in TEXT
    assert not set(keys(TEXT.replace(old, new, 1)).values()) & set(keys(TEXT).values())


def test_a_page_counts_with_its_content(tmp_path: Path) -> None:
    page = tmp_path / "own.csv"
    page.write_text("name,size_bytes\nindex.htm,1000\na.png,5000\n")
    before = keys(PAGE, tmp_path)
    page.write_text("name,size_bytes\nindex.htm,1000\na.png,5001\n")
    assert not set(keys(PAGE, tmp_path).values()) & set(before.values())
    page.rename(tmp_path / "moved.csv")
    (tmp_path / "moved.csv").write_text("name,size_bytes\nindex.htm,1000\na.png,5000\n")
    assert keys(PAGE.replace("own.csv", "moved.csv"), tmp_path) == before


def test_a_trace_counts_as_far_as_it_reaches_the_run(tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes,cell"
    text = TEXT.replace('"constant"\nrate = "5.2Mbit/s"', '"own.csv"')
    trace = tmp_path / "own.csv"
    trace.write_text(f"{header}\n0,1e6,4e6,0.02,0.02,0,0,64000,a\n")
    before = keys(text, tmp_path)
    trace.write_text(f"{header}\n0,1e6,4e6,0.02,0.02,0,0,64000,b\n")
    from gauntlet.experiment import links

    links._load.cache_clear()
    assert keys(text, tmp_path) == before, "the name of a cell is for people"
    trace.write_text(f"{header}\n0,1e6,4e6,0.021,0.02,0,0,64000,a\n")
    links._load.cache_clear()
    assert not set(keys(text, tmp_path).values()) & set(before.values())


@pytest.fixture
def own_stack(tmp_path: Path) -> Path:
    """Programs of the user: a client that imports a module beside it, and a table that a command names."""
    (tmp_path / "client.py").write_text("import helper\nfrom package import part\n")
    (tmp_path / "helper.py").write_text("X = 1\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "part.py").write_text("Y = 1\n")
    (tmp_path / "table.txt").write_text("1\n")
    (tmp_path / "notes.txt").write_text("nobody reads this\n")
    return tmp_path


@pytest.mark.parametrize("name", ["client.py", "helper.py", "package/part.py", "table.txt"])
def test_programs_count_with_their_files(own_stack: Path, name: str) -> None:
    before = keys(OWN, own_stack)
    (own_stack / "notes.txt").write_text("changed\n")
    assert keys(OWN, own_stack) == before
    with (own_stack / name).open("a") as file:
        file.write("# more\n")
    after = keys(OWN, own_stack)
    changed = {run for run in before if after[run] != before[run]}
    assert changed == {run for run in before if run.startswith("mine")}


@pytest.mark.parametrize(
    ("client", "files", "more"),
    [
        (["{python}", "-m", "package.part"], {"package/__init__.py", "package/part.py"}, {}),
        (["{python}", "other.py"], {"other.py", "parts/one.py", "parts/two.py", "deep.py"}, {}),
        (["{python}", "client.py", "--table=table.txt"], {"table.txt"}, {}),
        (["{python}", "reads.py"], {"library/kept.py"}, {"PYTHONPATH": "library"}),
        (["./tool"], {"tool", "helper.py"}, {}),
    ],
)
def test_programs_count_however_they_are_started(
    own_stack: Path, client: list[str], files: set[str], more: dict[str, str]
) -> None:
    """By name, by their first line, with options, with folders of modules and packages without a file."""
    (own_stack / "parts").mkdir()
    (own_stack / "parts" / "one.py").write_text("import deep\n")
    (own_stack / "parts" / "two.py").write_text("")
    (own_stack / "other.py").write_text("import parts.one\n")
    (own_stack / "deep.py").write_text("")
    (own_stack / "library").mkdir()
    (own_stack / "library" / "kept.py").write_text("")
    (own_stack / "reads.py").write_text("import kept\n")
    (own_stack / "tool").write_text("#!/usr/bin/env python3\nimport helper\n")
    (own_stack / "start").write_text("#!/bin/sh -e\n")
    for name in ("tool", "start"):
        (own_stack / name).chmod(0o755)
    stack = {
        "client": [str(own_stack / word) if word.startswith("./") else word for word in client],
        "server": [str(own_stack / "start")],
        "environment": more,
        "working_directory": str(own_stack),
    }
    found, _ = attachments.attached([stack])
    named = {*(own_stack / name for name in files), own_stack / "start", Path("/bin/sh").resolve()}
    assert {str(path) for path in named} <= set(found)


def test_libraries_of_flows_count(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXT.replace('"udp"', '"quic-aioquic-cubic"').replace('"cbr"\nrate = "1Mbit/s"', '"bulk"')
    text = text.replace('duration = "1min"\npacket = "1000B"', 'size = "1MB"')
    before = keys(text)
    specs = expand(parse_experiment(text, "own.toml", Path()))
    libraries = plans(specs)[-1].libraries
    assert {"aioquic", "cryptography", "python"} <= set(libraries)
    assert "gauntlet-net" not in libraries
    other = {**libraries, "aioquic": "0.0.1"}
    monkeypatch.setattr(attachments, "_versions", lambda _modules: dict(other))
    after = keys(text)
    assert {run for run in before if after[run] != before[run]} == {
        run for run in before if run.startswith("quic-aioquic")
    }


def test_a_file_that_changed_since_is_named(own_stack: Path) -> None:
    specs = expand(parse_experiment(OWN, "own.toml", own_stack))
    files = plans(specs)[-1].files
    attachments.check(files)
    (own_stack / "helper.py").write_text("X = 2\n")
    with pytest.raises(RunError, match=r"helper\.py is not what it was when the runs were planned"):
        attachments.check(files)


class Counting:
    """An engine that counts what it is asked to play."""

    played = 0

    def play(self, *_given: Any, **_wishes: Any) -> Path:
        """Be asked."""
        self.played += 1
        raise RunError("played")


def test_a_worker_plays_nothing_whose_files_have_changed(own_stack: Path) -> None:
    specs = expand(parse_experiment(OWN, "own.toml", own_stack))
    engine = Counting()
    player = Player(cast(Engine, engine), lambda *_given, **_wishes: Packed({}, {}))
    job = Job(plans(specs)[-1], "0" * 64, own_stack / "bundle")
    with pytest.raises(RunError, match="played"):
        player(job, 0, lambda _event: None)
    (own_stack / "helper.py").write_text("X = 2\n")
    with pytest.raises(RunError, match=r"helper\.py is not what it was"):
        player(job, 0, lambda _event: None)
    assert engine.played == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
NAMED = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2)
RUNS = st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=3)


def _key(run: Mapping[str, Any], files: Any, libraries: Any, engine: Any) -> str:
    return run_key({name: canonical(value) for name, value in run.items()}, files, libraries, engine)


@given(st.tuples(RUNS, NAMED, NAMED, NAMED), st.tuples(RUNS, NAMED, NAMED, NAMED))
def test_keys_are_equal_exactly_when_all_that_counts_is(one: Any, other: Any) -> None:
    same = [canonical(part) for part in one] == [canonical(part) for part in other]
    assert (_key(*one) == _key(*other)) == same


@given(st.tuples(RUNS, NAMED, NAMED, NAMED), st.integers(0, 3), st.text(max_size=4), st.text(max_size=4))
def test_any_one_change_changes_the_key(one: Any, place: int, name: str, value: str) -> None:
    changed = [dict(part) for part in one]
    changed[place][name] = value
    assert (_key(*changed) == _key(*one)) == (canonical(changed) == canonical(list(one)))


@given(RUNS)
def test_order_and_id_do_not_count(run: dict[str, Any]) -> None:
    parts = {name: canonical(value) for name, value in run.items()}
    turned = dict(reversed(parts.items()))
    assert RunPlan(parts).key(ENGINE) == RunPlan(turned).key(ENGINE)
    assert RunPlan(parts).run("a") == {"id": "a"} | run | ({"id": run["id"]} if "id" in run else {})
