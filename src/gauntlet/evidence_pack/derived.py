"""What a pack says, made anew from its logs and held against it: experiment by experiment, claim by claim."""

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.errors import GauntletError
from gauntlet.evidence_pack import archive, layout, page
from gauntlet.evidence_pack.archive import Archive
from gauntlet.evidence_pack.contents import (
    Gathered,
    left_out,
    made_with,
    pack_manifest,
    results_manifest,
)
from gauntlet.evidence_pack.planned import held
from gauntlet.evidence_pack.shapes import check_run, plain
from gauntlet.metrics.numbers import counted, listed
from gauntlet.results import layout as of_results
from gauntlet.results.files import json_bytes
from gauntlet.results.reader import Results, Run

_FACTS = ("cell", "finding", "trials")
"""Parts of a claim that follow from the logs, whatever version of the package reads them."""
_WORDS = frozenset({"bound_words", "again"})
"""What is said in them in words."""
_ODD_SHOWN = 5
_UNFORESEEN = (
    ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError,
    pa.ArrowException,
)  # fmt: skip
"""What reading files can raise whose shape is right and whose content is not."""


@dataclass
class Derived:
    """What the logs of a pack give, and where the pack says something else."""

    differences: list[str] = field(default_factory=list)
    """Sentences: what does not follow from the logs."""
    unverified: list[str] = field(default_factory=list)
    """Sentences: what this version can neither confirm nor refute."""
    notes: list[str] = field(default_factory=list)
    abouts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By experiment: its entry in the manifest, but for what was left out."""
    claims: list[dict[str, Any]] = field(default_factory=list)
    """As the page has them (`page.short`)."""
    trials: int = 0
    """How many are in the claims."""
    claims_wrong: dict[str, Sequence[str]] = field(default_factory=dict)
    """By file of a claim: sentences, where it says something else than the logs give."""
    claims_unverified: dict[str, Sequence[str]] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """Files of the pack that nothing has given so far."""
    lacking: list[str] = field(default_factory=list)
    """Files that the logs give, and that are not in the pack."""
    unread: set[str] = field(default_factory=set)
    """Experiments that cannot be derived."""

    def page(self, manifest: Mapping[str, Any]) -> str:
        """The page that this version makes of the logs."""
        return page.html({**self._manifest(manifest), "made_with": made_with()}, self.claims)

    def _manifest(self, packed: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest that the pack ought to have; what made it and what was left out only it can say."""
        experiments = {
            name: {
                **about,
                "left_out": [
                    left_out(it["file"], it["files"], it["bytes"])
                    for it in packed["experiments"][name]["left_out"]
                ],
            }
            for name, about in self.abouts.items()
        }
        return {**pack_manifest(experiments, len(self.claims)), "made_with": packed["made_with"]}

    def compare(self, opened: Archive, manifest: Mapping[str, Any], *, same: bool) -> None:
        """Hold claims, manifest, page and names of a pack against what was derived."""
        for name in (layout.MANIFEST, layout.PAGE, layout.SUMS):
            self.give(name)
        self._names()
        for name in sorted(self.claims_wrong):
            self.differences += self.claims_wrong[name]
        for name in sorted(self.claims_unverified):
            self.unverified += self.claims_unverified[name]
        if self.unread:
            return
        differ = self.differences if same else self.unverified
        if manifest["claims"] != len(self.claims):
            said = counted(manifest["claims"], "claim")
            self.differences.append(f"The manifest says {said}, and the logs give {len(self.claims)}.")
        ours = self._manifest(manifest)
        for name in self.abouts:
            self._about(name, manifest["experiments"][name], plain(ours["experiments"][name]), same=same)
        if not self.differences and opened.read(layout.MANIFEST) != json_bytes(ours):
            differ.append(f"{layout.MANIFEST} says something that its results do not give, or otherwise.")
        if not self.differences and opened.read(layout.PAGE) != page.html(ours, self.claims).encode():
            differ.append(f"{layout.PAGE} does not say what manifest and claims say.")

    def give(self, name: str) -> bool:
        """Note a file that the logs give; whether it is in the pack."""
        if name in self.others:
            self.others.discard(name)
            return True
        self.lacking.append(name)
        return False

    def _names(self) -> None:
        """Files that are missing, and files that no pack of these logs has, however they are spelt."""
        homes = tuple(f"{layout.experiment_folder(name)}/" for name in self.unread)
        odd = [
            name
            for name in sorted(self.others)
            if not name.startswith((*homes, *((f"{layout.CLAIMS}/",) if homes else ())))
        ]
        self.differences += [f"{name} is missing: the logs give it." for name in sorted(self.lacking)]
        self.differences += [
            f"{name} is no file of this pack: nothing gives it." for name in odd[:_ODD_SHOWN]
        ]
        if more := odd[_ODD_SHOWN:]:
            self.differences.append(f"Nor are {counted(len(more), 'file')} more, first {more[0]}.")

    def _about(self, name: str, said: Mapping[str, Any], ours: Mapping[str, Any], *, same: bool) -> None:
        """Where the manifest says something else of an experiment than its results."""
        for key in sorted(ours.keys() | said.keys()):
            if key in ours and key in said and said[key] != ours[key]:
                to = self.differences if same or key != "left_out" else self.unverified
                to.append(
                    f"The manifest's '{key}' of '{name}' is {said[key]!r}, and its results say {ours[key]!r}."
                )
            elif key not in ours or key not in said:
                differ = self.differences if same else self.unverified
                differ.append(f"The manifest's '{key}' of '{name}' stands on one side only.")


def derive(opened: Archive, names: Iterable[str], *, same: bool) -> Derived:
    """Make what a pack says of its experiments anew, and hold its claims against it; `same`: this version
    packed it. Each run is read once, and of one that was read nothing is kept but what its claims say.
    """
    found = Derived(others=set(opened.names))
    for name in names:
        home = layout.experiment_folder(name)
        with tempfile.TemporaryDirectory(prefix="gauntlet-evidence-") as scratch:
            try:
                opened.unpack(home, Path(scratch))
                _Experiment(name, Path(scratch), found, same=same).derive(opened)
            except GauntletError as error:
                said = str(error).replace(scratch, home)
            except _UNFORESEEN:
                said = "its files do not fit together in the form that this version reads."
            else:
                continue
        found.unread.add(name)
        found.differences.append(f"The verdicts of '{name}' cannot be derived: {said}")
    return found


class _Experiment:
    """The results of one experiment of a pack, as they are gone through run by run."""

    def __init__(self, name: str, folder: Path, found: Derived, *, same: bool) -> None:
        self._name, self._folder, self._found, self._same = name, folder, found, same
        self._gathered = Gathered(name)
        self._wrong: list[tuple[str, str]] = []
        """By run: sentences."""
        self._unshaped: Exception | None = None
        self._underivable: Exception | None = None

    def derive(self, opened: Archive) -> None:
        """Go through all of it. Raises what the first run raises that cannot be read."""
        name, found = self._name, self._found
        results = Results.open(self._folder)
        home = layout.experiment_folder(name)
        if archive.sha256(results.experiment.encode()) != results.manifest.experiment_sha256:
            found.differences.append(f"The experiment file of '{name}' is not the one that was played.")
        if (self._folder / of_results.MANIFEST).read_bytes() != results_manifest(results):
            (found.differences if self._same else found.unverified).append(
                f"{home}/{of_results.MANIFEST} is not written as this version packs it."
            )
        runs = held(results, name, self._take, same=self._same)
        found.differences += runs.wrong
        found.unverified += runs.unverified
        found.notes += runs.notes
        for file in (of_results.MANIFEST, of_results.EXPERIMENT):
            found.give(f"{home}/{file}")
        found.differences += [sentence for _, sentence in sorted(self._wrong)]
        if failed := self._unshaped or self._underivable:
            raise failed
        about = self._gathered.about(results, runs.count)
        for claim in self._gathered.claims(results):
            self._hold(claim, opened)
        found.abouts[name] = about

    def _take(self, run: Run) -> None:
        """Look at a run. What it raises waits until all others were held against the experiment file."""
        if self._unshaped is not None:
            return
        try:
            self._wrong += [(run.id, sentence) for sentence in _run_wrong(run, self._name)]
            for file in layout.RUN_FILES:
                if (run.folder / file).exists():
                    self._found.give(layout.run_file(self._name, run.id, file))
        except (GauntletError, *_UNFORESEEN) as error:
            self._unshaped = error
            return
        if self._underivable is None:
            try:
                self._gathered.add(run)
            except (GauntletError, *_UNFORESEEN) as error:
                self._underivable = error

    def _hold(self, claim: dict[str, Any], opened: Archive) -> None:
        """Hold a claim of the pack against what the logs give, and keep what the page needs."""
        found, file = self._found, layout.claim_file(claim["id"])
        if found.give(file):
            wrong, unverified = _claim_differs(opened.read(file), claim, file, same=self._same)
            found.claims_wrong[file], found.claims_unverified[file] = wrong, unverified
        found.claims.append(page.short(claim))
        found.trials += len(claim["trials"])


def _run_wrong(run: Run, name: str) -> list[str]:
    """What is missing of a run, and files that do not belong to it. Raises as `check_run`."""
    for file in layout.NEEDED:
        if not (run.folder / file).exists():
            return [f"Run {name}/{run.id} has no {file}."]
    if run.ok:
        nodes = (of_results.IN_PATH,) if run.plan.get("in_path") else ()
        lacking = [it for it in (*layout.NEEDED_OF_ENDED, *nodes) if not (run.folder / it).exists()]
        if lacking:
            return [f"Run {name}/{run.id} has no {lacking[0]}."]
    check_run(run)
    said = {of_results.SPEC: run.spec["id"], of_results.PLAN: run.plan["id"]}
    seeds = {run.spec["seed"], run.plan["seed"]}
    if run.ok:
        said |= {of_results.RECORD: run.record["run"], of_results.CERTIFICATE: run.certificate["run"]}
        seeds.add(run.record["seed"])
    wrong = [
        f"{file} of run {name}/{run.id} belongs to run '{other}'."
        for file, other in said.items()
        if other != run.id
    ]
    if len(seeds) > 1:
        wrong.append(f"Specification, plan and record of run {name}/{run.id} have different seeds.")
    return wrong


def _claim_differs(
    packed: bytes, made: Mapping[str, Any], name: str, *, same: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """Where a claim says something else than its logs give, and where this version cannot tell."""
    anew = plain(made)
    try:
        said = json.loads(packed)
        wrong = _verdicts_differ(said["trials"], anew["trials"], name)
        if not wrong:
            parts = anew.keys() if same else _FACTS
            wrong = [
                f"{name}: its {part} is not what the logs give."
                for part in parts
                if not (said[part] == anew[part] if same else _facts_equal(said[part], anew[part]))
            ]
        other = sorted(key for key in said.keys() | anew.keys() if said.get(key) != anew.get(key))
    except (ValueError, KeyError, TypeError, AttributeError):
        return [f"{name} is not of the form of a claim."], []
    if wrong or packed == json_bytes(dict(made)):
        return wrong, []
    words = (
        f"its {listed(other)} {'is' if len(other) == 1 else 'are'} not what the logs give with this version"
        if other
        else "it is written otherwise than this version writes it"
    )
    return ([f"{name}: {words}."], []) if same else ([], [f"{name}: {words}."])


def _verdicts_differ(
    said: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]], name: str
) -> list[str]:
    trials = {(it["run"], it["flow"]): it["verdict"]["verdict"] for it in said}
    mine = {(it["run"], it["flow"]): it["verdict"]["verdict"] for it in ours}
    return [
        f"{name} has the verdict '{trials[key]}' for run {key[0]}; its logs give '{verdict}'."
        for key, verdict in mine.items()
        if key in trials and trials[key] != verdict
    ]


def _facts_equal(said: Any, ours: Any) -> bool:
    """Whether two versions say the same, but for words and for what only one of them says."""
    if isinstance(said, dict) and isinstance(ours, dict):
        return all(_facts_equal(said[key], ours[key]) for key in said.keys() & ours.keys() - _WORDS)
    if isinstance(said, list) and isinstance(ours, list):
        return len(said) == len(ours) and all(map(_facts_equal, said, ours))
    return bool(said == ours)
