"""The results folder, written: a run is there whole or not at all, tables are byte-identical for equal runs.

    create(results, experiment, manifest)          once a campaign; continues a folder of the same experiment
    place_run(results, spec, plan, packed, ...)    once a run, from any process
    tables(results)                                a folder for what `gauntlet.metrics.tables` makes of runs
    done(results)                                  what need not be run again

Reading is in `gauntlet.results.reader`.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.certificate.answers import nothing_checked
from gauntlet.errors import RunError, UserError
from gauntlet.results import layout, parquet
from gauntlet.results.files import (
    failures_named,
    fsync_file,
    fsync_folder,
    is_part,
    json_bytes,
    read_json,
    write_whole,
)
from gauntlet.results.manifest import Manifest
from gauntlet.results.reader import Results, Run

__all__ = [
    "Results",
    "Run",
    "create",
    "done",
    "exclusive",
    "place_run",
    "tables",
    "write_failure",
    "write_trace",
]

_EARLY = {layout.LOCK, layout.EXPERIMENT, layout.SCENARIO, layout.MAP, "runs"}
"""What a folder holds before its manifest: a campaign that a kill or a full disk ended may begin again."""

_FAILED_RECORD = {
    "format": "gauntlet-record",
    "version": 1,
    "flows": [],
    "links": [],
    "taps": [],
    "paths": [],
}


def create(
    results: Path,
    experiment: str,
    manifest: Manifest,
    scenario: Mapping[str, Any] | None = None,
    map_: Mapping[str, Any] | None = None,
) -> None:
    """Make a results folder, or take up one that holds the same experiment with the same seed.

    `experiment` is the text of the experiment file, `scenario` plain JSON data of the whole line for the
    report's strip (`gauntlet.scenario.line_figure_data`), `map_` the map of the paths
    (`gauntlet.experiment.own_links.told_maps`). Hidden folders and half-written files, the
    unfinished work of a killed campaign, are removed: call it inside `exclusive`.

    Raises UserError when the folder holds something else; nothing in it is touched then.
    """
    path = results / layout.MANIFEST
    if path.exists():
        manifest = Manifest.read(results).continued_by(manifest, results)
    elif results.exists() and not (results.is_dir() and all(_early(e.name) for e in results.iterdir())):
        raise UserError(
            f"{results} is there but is not a results folder of gauntlet; choose another folder or an empty "
            "one"
        )
    with failures_named(f"make the results folder {results}"):
        layout.runs_folder(results).mkdir(parents=True, exist_ok=True)
        for entry in [*results.iterdir(), *layout.runs_folder(results).iterdir()]:
            if layout.is_hidden(entry.name) and entry.is_dir():
                shutil.rmtree(entry)
            elif is_part(entry.name):
                entry.unlink()
        write_whole(results / layout.EXPERIMENT, experiment.encode())
        if scenario is not None:
            write_whole(results / layout.SCENARIO, json_bytes(dict(scenario)))
        if map_ is not None:
            write_whole(results / layout.MAP, json_bytes(dict(map_)))
        manifest.write(results)


def _early(name: str) -> bool:
    return name in _EARLY or is_part(name)


@contextmanager
def exclusive(results: Path) -> Iterator[None]:
    """Hold a results folder for one campaign; the kernel lets go of it when the process ends in any way.

    Raises UserError when another process holds it or it is no folder.
    """
    if results.exists() and not results.is_dir():
        raise UserError(f"{results} is a file; results need a folder of their own, so choose another name")
    with failures_named(f"open the results folder {results}"):
        results.mkdir(parents=True, exist_ok=True)
        lock = (results / layout.LOCK).open("wb")
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"another gauntlet is writing into {results}; wait for it to end or choose another folder"
            ) from error
        yield
    finally:
        lock.close()


def place_run(
    results: Path,
    spec: Mapping[str, Any],
    plan_run: Mapping[str, Any],
    packed: Path,
    trace_tables: Mapping[str, pa.Table],
    *,
    key: Mapping[str, Any],
    capture: bool = False,
) -> Path:
    """Put one run into the results folder and return its place.

    `spec` is the RunSpec as JSON, `plan_run` its run object of the plan, `packed` the folder of its packed
    files (`gauntlet.results.pack`), whatever the run was called when it was played; they are copied and left
    as they are, captures only with `capture`. `trace_tables` is the stretch of trace of each bearer (bearer
    -> table of docs/formats/trace.md), `key` the content of `key.json`. A run of the same id that is there
    already (a failed one, or one run again) is replaced in one step.

    Raises RunError when the folder cannot be written (a full disk); nothing that was measured before is
    touched.
    """
    with _placing(results, str(spec["id"])) as part:
        for entry in packed.iterdir():
            if entry.name == layout.QLOG:
                shutil.copytree(entry, part / layout.QLOG)
            elif entry.name in layout.PACKED or (capture and entry.name == layout.CAPTURE):
                shutil.copyfile(entry, part / entry.name)
        _give_name(part, spec, plan_run, trace_tables, key)
    return layout.run_folder(results, str(spec["id"]))


def write_trace(results: Path, run_id: str, trace_tables: Mapping[str, pa.Table]) -> None:
    """Write the link that a run rode anew, as `place_run` does."""
    part = results / f".{run_id}.trace.part-{os.getpid()}"
    with failures_named(f"store the run {run_id}"):
        parquet.write(_joined(trace_tables, "bearer"), part)
        part.replace(layout.run_folder(results, run_id) / layout.TRACE)


def write_failure(results: Path, spec: Mapping[str, Any], plan_run: Mapping[str, Any], reason: str) -> Path:
    """Keep a run that left no record (its guest hung or died) with the sentence that says why.

    The same command runs it again.
    """
    record = _FAILED_RECORD | {
        "run": spec["id"],
        "seed": plan_run.get("seed"),
        "outcome": "failed",
        "reason": reason,
    }
    certificate = nothing_checked(str(spec["id"]), reason)
    with _placing(results, str(spec["id"])) as part:
        _write_json(
            part,
            {
                layout.SPEC: spec,
                layout.PLAN: plan_run,
                layout.RECORD: record,
                layout.CERTIFICATE: certificate,
            },
        )
    return layout.run_folder(results, str(spec["id"]))


def done(results: Path) -> set[str]:
    """Ids of the runs that are there and did not fail; an absent folder has none."""
    found = set()
    for run_id, folder in layout.run_folders(results):
        if (folder / layout.KEY).exists():  # only runs that came to their end have one
            found.add(run_id)
            continue
        try:
            record = read_json(folder / layout.RECORD, "the record")
        except RunError:
            continue
        if record.get("outcome") == "ok":
            found.add(run_id)
    return found


@contextmanager
def tables(results: Path) -> Iterator[Path]:
    """A folder that becomes `tables/`, whole or not at all, when the block ends well."""
    part = results / f".tables.part-{os.getpid()}"
    with failures_named(f"write the tables of {results}"):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        try:
            yield part
            for file in sorted(part.iterdir()):
                fsync_file(file)
            _replace_folder(part, layout.tables_folder(results))
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _placing(results: Path, run_id: str) -> Iterator[Path]:
    """A hidden folder that takes the run's place, synced, when the block ends well; else it is removed."""
    place = layout.run_folder(results, run_id)
    part = place.with_name(f".{run_id}.part-{os.getpid()}")
    with failures_named(f"store the run {run_id}"):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            yield part
            for path in part.rglob("*"):
                fsync_file(path)
            _replace_folder(part, place)
        except pa.ArrowException as error:
            raise RunError(
                f"could not store the run {run_id}: its record cannot be read ({error})"
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _replace_folder(part: Path, place: Path) -> None:
    """Give `part` the name `place`. A kill in between can lose a replaced folder, never mix two."""
    fsync_folder(part)
    if place.exists():
        old = place.with_name(f".{place.name}.old-{os.getpid()}")
        shutil.rmtree(old, ignore_errors=True)
        place.rename(old)
        part.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    else:
        part.rename(place)
    fsync_folder(place.parent)


def _give_name(
    part: Path,
    spec: Mapping[str, Any],
    plan_run: Mapping[str, Any],
    trace_tables: Mapping[str, pa.Table],
    key: Mapping[str, Any] | None = None,
) -> None:
    """Add to packed files what an experiment knows of their run: its name, its place, the link it rode."""
    for name, what in ((layout.RECORD, "the record"), (layout.CERTIFICATE, "the certificate")):
        content = read_json(part / name, f"{what} of run {spec['id']}")
        (part / name).write_bytes(json_bytes({**content, "run": spec["id"]}))
    _write_json(part, {layout.SPEC: spec, layout.PLAN: plan_run, **({layout.KEY: key} if key else {})})
    if trace_tables:
        parquet.write(_joined(trace_tables, "bearer"), part / layout.TRACE)


def _write_json(part: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    for name, value in files.items():
        (part / name).write_bytes(json_bytes(dict(value)))


def _joined(tables: Mapping[str, pa.Table], key: str) -> pa.Table:
    """The tables under each other, in the order of their names, with the name as first column."""
    parts = [
        table.add_column(
            0, pa.field(key, pa.string()), pa.repeat(pa.scalar(name, pa.string()), table.num_rows)
        )
        for name, table in sorted(tables.items())
    ]
    return pa.concat_tables(parts, promote_options="default")
