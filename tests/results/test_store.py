"""The store: runs whole or not at all, equal runs give equal bytes, sentences for what goes wrong."""

import errno
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gauntlet.errors import RunError, UserError
from gauntlet.metrics.tables import finalize
from gauntlet.results import differences, layout, parquet, resume, store
from gauntlet.results.files import is_part
from tests.report import factory
from tests.report.factory import Campaign, Place

SMALL = Campaign(
    protocols=("tcp-bbr", "udp"), delays_s=(0.025,), losses=(0.0, 0.01), repetitions=2, duration_s=5
)


def table_bytes(results: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in layout.tables_folder(results).iterdir()}


def test_tables_do_not_depend_on_order_or_worker(tmp_path: Path) -> None:
    forward, backward = tmp_path / "a", tmp_path / "b"
    for results, places in ((forward, factory.places(SMALL)), (backward, factory.places(SMALL)[::-1])):
        store.create(results, factory.EXPERIMENT, factory.manifest(SMALL))
        for place in places:
            factory.write(results, tmp_path / results.name, SMALL, place)
        finalize(results)
    assert table_bytes(forward) == table_bytes(backward)
    names = ("runs", "flows", "windows", "delays", "links", "certificates")
    assert set(table_bytes(forward)) == {layout.MADE_WITH, *(f"{name}.parquet" for name in names)}


def test_finalize_twice_gives_the_same_bytes_and_another_run_other_bytes(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    before = table_bytes(results)
    finalize(results)
    assert table_bytes(results) == before
    factory.write(results, tmp_path / "s", SMALL, Place("udp", 0.15, 0.0, 1))
    finalize(results)
    assert table_bytes(results)["runs.parquet"] != before["runs.parquet"]


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    run = next(run for run in store.Results.open(results).runs() if run.factors["protocol"] == "udp")
    messages, sockets, trace = run.messages(), run.sockets(), run.trace()
    assert messages is not None
    assert trace is not None
    assert sockets is None
    assert messages.num_rows == run.record["flows"][0]["sent_messages"]
    assert (
        messages["received_ns"].null_count == messages.num_rows - run.record["flows"][0]["received_messages"]
    )
    assert trace["bearer"].unique().to_pylist() == ["lte"]
    assert run.trusted


def test_secrets_and_events_are_kept_beside_the_record(tmp_path: Path) -> None:
    results, record = tmp_path / "r", tmp_path / "record"
    store.create(results, factory.EXPERIMENT, factory.manifest(SMALL))
    (record / layout.QLOG).mkdir(parents=True)
    (record / "record.json").write_text('{"run": "r"}')
    (record / layout.KEYS).write_text("secrets")
    (record / layout.QLOG / "f0-0-client.sqlog").write_text("events")
    run = factory.put(results, {"id": "r"}, {"id": "r"}, record, {}, certificate={})
    assert (run / layout.KEYS).read_text() == "secrets"
    assert (run / layout.QLOG / "f0-0-client.sqlog").read_text() == "events"


def test_a_killed_writer_leaves_nothing_half(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    before = {run.id for run in store.Results.open(results).runs()}
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from gauntlet.results import store\n"
        "from tests.report import factory\n"
        "calls = 0\n"
        "real = store.parquet.write\n"
        "def write(table, path):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    if calls == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    real(table, path)\n"
        "store.parquet.write = write\n"
        "place = factory.Place('tcp-bbr', 0.15, 0.0, 9)\n"
        "factory.write(Path(sys.argv[1]), Path(sys.argv[2]), factory.Campaign(duration_s=5), place)\n"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", program, str(results), str(tmp_path / "k")],
        env=os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}"},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    leftovers = [entry.name for entry in layout.runs_folder(results).iterdir() if entry.name.startswith(".")]
    assert leftovers, "the kill should have come in the middle of writing"
    assert {run.id for run in store.Results.open(results).runs()} == before == store.done(results)
    store.create(results, factory.EXPERIMENT, factory.manifest(SMALL))
    assert not [entry for entry in layout.runs_folder(results).iterdir() if entry.name.startswith(".")]
    assert {run.id for run in store.Results.open(results).runs()} == before


def test_a_campaign_killed_before_its_manifest_begins_again(tmp_path: Path) -> None:
    results = tmp_path / "r"
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from gauntlet.results import files, store\n"
        "from tests.report import factory\n"
        "files.fsync_file = lambda path: os.kill(os.getpid(), signal.SIGKILL)\n"
        "store.create(Path(sys.argv[1]), factory.EXPERIMENT, factory.manifest(factory.Campaign()))\n"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", program, str(results)],
        env=os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}"},
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert any(is_part(entry.name) for entry in results.iterdir()), "the kill should leave half a file"
    assert not (results / layout.MANIFEST).exists()
    store.create(results, factory.EXPERIMENT, factory.manifest(SMALL))
    assert (results / layout.MANIFEST).exists()
    assert not any(is_part(entry.name) for entry in results.iterdir())


def test_full_disk_is_one_sentence_and_costs_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "messages.parquet")

    monkeypatch.setattr(parquet, "write", full)
    with pytest.raises(RunError, match=r"the disk is full; free some space and run the same command again"):
        factory.write(results, tmp_path / "k", SMALL, Place("udp", 0.15, 0.0, 9))
    assert len(store.done(results)) == SMALL.runs
    assert not [entry for entry in layout.runs_folder(results).iterdir() if entry.name.startswith(".")]


def test_failed_runs_are_kept_but_not_done(tmp_path: Path) -> None:
    bad = factory.places(SMALL)[0].run
    results = factory.build(
        tmp_path / "r", tmp_path / "s", Campaign(**vars(SMALL) | {"failed": frozenset({bad})})
    )
    assert bad not in store.done(results)
    row = next(row for row in store.Results.open(results).table("runs").to_pylist() if row["run"] == bad)
    assert row["outcome"] == "failed"
    assert "no sign of life" in row["reason"]
    assert row["trusted"] is False
    factory.write(results, tmp_path / "again", SMALL, factory.places(SMALL)[0])
    assert bad in store.done(results)


def test_a_damaged_record_leaves_no_run(tmp_path: Path) -> None:
    record = tmp_path / "record"
    record.mkdir()
    (record / "record.json").write_text('{"run": "mi')
    with pytest.raises(RunError, match="damaged"):
        factory.put(tmp_path / "r", {"id": "mine"}, {"id": "mine"}, record, {}, certificate={})
    assert store.done(tmp_path / "r") == set()


@pytest.mark.parametrize("run_id", ["../out", "a/b", ".hidden", "", "-x"])
def test_run_ids_stay_inside_the_folder(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(RunError, match="cannot name a folder"):
        store.write_failure(tmp_path / "r", {"id": run_id}, {}, "reason")


def test_results_of_another_engine_are_refused(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    other = factory.manifest(SMALL)
    other.engine["kernel_sha256"] = "5" * 64
    with pytest.raises(UserError, match=r"results of another kernel image \(0+; now 5+\)"):
        store.create(results, factory.EXPERIMENT, other)
    assert len(store.done(results)) == SMALL.runs


def test_a_changed_experiment_is_named_by_what_differs(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    for number, run in enumerate(store.Results.open(results).runs()):
        (run.folder / layout.KEY).write_text(f'{{"key": "{number}"}}')
    engine = store.Results.open(results).manifest.engine
    flows = "".join(f'[[flow]]\nsize = "{size}"\n' for size in ("1MB", "2MB"))
    file = f'[experiment]\nname = "a"\n[scenario]\nchunk = "10min"\n{flows}'
    now = file.replace('"a"', '"b"').replace("10min", "5min").replace("2MB", "3MB")
    changed = differences.of_files(file, now)
    assert changed == ["scenario.chunk: 10min → 5min", "flow 2.size: 2MB → 3MB"]
    for told, words in (
        (list(changed), "scenario.chunk: 10min → 5min; flow 2.size: 2MB → 3MB; so"),
        ([f"key {it}" for it in range(5)], "key 0; key 1; key 2; and 2 more; so"),
        ([], "files or programs that it names have changed; so"),
    ):
        with pytest.raises(UserError) as error:
            resume.runs_there(results, {"other": "k"}, engine, partial(list, told))
        assert str(error.value).startswith(words)


def test_runs_without_packets_are_missing_where_packets_are_wanted(tmp_path: Path) -> None:
    """Also those that are called otherwise now."""
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    engine = store.Results.open(results).manifest.engine
    wanted = {run: str(number) for number, (run, _) in enumerate(layout.run_folders(results))}
    for run, number in wanted.items():
        (layout.run_folder(results, run) / layout.KEY).write_text(f'{{"key": "{number}"}}')
    first, *others = wanted
    wanted = {"new-name": wanted.pop(first), **wanted}
    assert resume.runs_there(results, wanted, engine).missing(wanted) == []
    for run in others[1:]:
        (layout.run_folder(results, run) / layout.CAPTURE).write_bytes(b"")
    there = resume.runs_there(results, wanted, engine, capture=True)
    assert there.renamed == {"new-name": first}
    assert there.missing(wanted) == ["new-name", others[0]]


def test_results_without_run_keys_are_read_and_not_continued(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    store.Results.open(results).manifest.model_copy(update={"version": 1}).write(results)
    with pytest.raises(UserError, match=r"older version of gauntlet, which cannot be continued; choose"):
        store.create(results, factory.EXPERIMENT, factory.manifest(SMALL))
    assert len(list(store.Results.open(results).runs())) == SMALL.runs


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(UserError, match="is not a results folder"):
        store.create(tmp_path, factory.EXPERIMENT, factory.manifest(SMALL))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex"]
    with pytest.raises(UserError, match="is not a results folder"):
        store.Results.open(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    run = next(store.Results.open(results).runs())
    (run.folder / layout.MESSAGES).write_bytes(b"not parquet")
    with pytest.raises(
        RunError, match=r"the messages of run .*messages.parquet is damaged; remove the folder"
    ):
        run.messages()
    (results / layout.MANIFEST).write_text("{}")
    with pytest.raises(RunError, match=r"manifest.json is damaged: seed"):
        store.Results.open(results)


def test_one_campaign_at_a_time(tmp_path: Path) -> None:
    with (
        store.exclusive(tmp_path / "r"),
        pytest.raises(UserError, match="another gauntlet is writing"),
        store.exclusive(tmp_path / "r"),
    ):
        pass
    with store.exclusive(tmp_path / "r"):
        pass


def test_sessions_add_up(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    store.Results.open(results).manifest.with_progress(runs=4, cached=2, wall_s=1.5).write(results)
    store.create(results, factory.EXPERIMENT, factory.manifest(SMALL))
    sessions = store.Results.open(results).manifest.sessions
    assert [(session.runs, session.cached) for session in sessions] == [(4, 2), (0, 0)]
    assert sessions[0].wall_s == 1.5
    assert sessions[1].wall_s is None


def test_no_instant_in_a_table(tmp_path: Path) -> None:
    results = factory.build(tmp_path / "r", tmp_path / "s", SMALL)
    for path in layout.tables_folder(results).glob("*.parquet"):
        metadata = pq.read_metadata(path)
        assert metadata.metadata is None, "key-value metadata could drift between equal campaigns"
