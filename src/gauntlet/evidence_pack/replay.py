"""Play runs of a pack again, and compare what they leave with what was packed, byte by byte."""

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet import campaign
from gauntlet.errors import GauntletError, RunError, UserError
from gauntlet.evidence_pack import layout
from gauntlet.evidence_pack.planned import planned
from gauntlet.executor import engines
from gauntlet.results import layout as of_results
from gauntlet.results import parquet
from gauntlet.results.reader import Results

_OF_ENGINE = ("kernel", "kernel_sha256", "guest_sha256")
"""What of an engine decides how a run comes out."""


@dataclass(frozen=True)
class Replayed:
    """A run that was played again."""

    run: str
    same: bool
    words: str
    """What came out, a sentence."""


def drawn(runs: Sequence[str], again: int, seed: int) -> list[str]:
    """So many of the runs, drawn by a seed: the same ones everywhere."""
    return sorted(random.Random(f"replay {seed}").sample(sorted(runs), min(again, len(runs))))


def replay(
    folder: Path,
    abouts: Mapping[str, Mapping[str, Any]],
    *,
    again: int,
    seed: int,
    runs: Sequence[str] = (),
) -> list[Replayed]:
    """Play runs of the experiments in `folder`; `abouts`: what is known of each by its name.

    Raises UserError for a run that is not there, RunError when it cannot be played here.
    """
    known = [f"{name}/{run_id}" for name in abouts for run_id, _ in of_results.run_folders(folder / name)]
    odd = next((run for run in runs if run not in known), None)
    if odd is not None:
        raise UserError(f"The pack has no run '{odd}'; a run is named EXPERIMENT/RUN, such as {known[0]}.")
    chosen = dict.fromkeys([*runs, *drawn(known, again, seed)])
    found = []
    for name in abouts:
        mine = [run.partition("/")[2] for run in chosen if run.partition("/")[0] == name]
        if mine:
            found += _of_experiment(folder / name, name, abouts[name], mine)
    return found


def _of_experiment(home: Path, name: str, about: Mapping[str, Any], runs: Sequence[str]) -> list[Replayed]:
    if about["in_real_time"]:
        raise UserError(
            f"The runs of '{name}' were played in real time, where none comes out the same twice; leave "
            "--replay and --run out."
        )
    try:
        ours = planned(Results.open(home))
    except GauntletError as error:
        raise RunError(f"The experiment '{name}' cannot be read for playing it again: {error}") from error
    chosen = {spec.id: spec for spec in ours.specs() if spec.id in runs}
    odd = next((run for run in runs if run not in chosen), None)
    if odd is not None:
        raise RunError(f"The experiment '{name}' has no run {odd} for this version of gauntlet.")
    engine = engines.installed()
    here = engine.describe()
    other = [key for key in _OF_ENGINE if here.get(key) != about["engine"].get(key)]
    with tempfile.TemporaryDirectory(prefix="gauntlet-replay-") as scratch:
        out = Path(scratch) / "results"
        specs = [chosen[run] for run in runs]
        campaign.play(ours.experiment, out, specs=specs, cached=False, engine=engine)
        return [
            _compared((of_results.run_folder(home, run), of_results.run_folder(out, run)), name, other)
            for run in runs
        ]


def _compared(folders: tuple[Path, Path], name: str, other: Sequence[str]) -> Replayed:
    """Every log of a run but its key, which names the engine, against the one that was packed."""
    packed, played = folders
    run = f"{name}/{packed.name}"
    files = [file for file in layout.RUN_FILES if file != of_results.KEY]
    wrong = [file for file in files if _bytes(packed / file) != _bytes(played / file)]
    if not wrong:
        count = sum((packed / file).exists() for file in files)
        return Replayed(run, True, f"Run {run} was played again: {count} files, the same bytes.")
    if all(_same_table(packed / file, played / file) for file in wrong):
        return Replayed(
            run,
            True,
            f"Run {run} was played again: the same values; another version of the Parquet writer encodes "
            f"{', '.join(wrong)} in other bytes.",
        )
    why = f" What plays here is another one than in the pack ({', '.join(other)})." if other else ""
    return Replayed(run, False, f"Run {run} came out differently: {', '.join(wrong)}.{why}")


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _same_table(one: Path, other: Path) -> bool:
    if one.suffix != ".parquet" or not (one.exists() and other.exists()):
        return False
    return bool(parquet.read(one, str(one)).equals(parquet.read(other, str(other))))
