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
    Content,
    content,
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
    names: set[str] = field(default_factory=lambda: {layout.MANIFEST, layout.PAGE, layout.SUMS})
    """Files that a pack of these logs has."""
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
        made = {layout.claim_file(it["id"]): it for it in self.claims}
        self.names |= made.keys()
        self._names(opened.names)
        for name in sorted(made.keys() & set(opened.names)):
            wrong, unverified = _claim_differs(opened.read(name), made[name], name, same=same)
            self.differences += wrong
            self.unverified += unverified
        if self.unread:
            return
        differ = self.differences if same else self.unverified
        if manifest["claims"] != len(made):
            said = counted(manifest["claims"], "claim")
            self.differences.append(f"The manifest says {said}, and the logs give {len(made)}.")
        ours = self._manifest(manifest)
        for name in self.abouts:
            self._about(name, manifest["experiments"][name], plain(ours["experiments"][name]), same=same)
        if not self.differences and opened.read(layout.MANIFEST) != json_bytes(ours):
            differ.append(f"{layout.MANIFEST} says something that its results do not give, or otherwise.")
        if not self.differences and opened.read(layout.PAGE) != page.html(ours, self.claims).encode():
            differ.append(f"{layout.PAGE} does not say what manifest and claims say.")

    def _names(self, there: Iterable[str]) -> None:
        """Files that are missing, and files that no pack of these logs has, however they are spelt."""
        homes = tuple(f"{layout.experiment_folder(name)}/" for name in self.unread)
        odd = [
            name
            for name in sorted(set(there) - self.names)
            if not name.startswith((*homes, *((f"{layout.CLAIMS}/",) if homes else ())))
        ]
        self.differences += [
            f"{name} is missing: the logs give it." for name in sorted(self.names - set(there))
        ]
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
    """Make what a pack says of its experiments anew; `same`: this version packed it."""
    found = Derived()
    for name in names:
        home = layout.experiment_folder(name)
        with tempfile.TemporaryDirectory(prefix="gauntlet-evidence-") as scratch:
            try:
                opened.unpack(home, Path(scratch))
                made = _of_experiment(Path(scratch), name, found, same=same)
            except GauntletError as error:
                said = str(error).replace(scratch, home)
            except _UNFORESEEN:
                said = "its files do not fit together in the form that this version reads."
            else:
                found.abouts[name] = made.about
                found.claims += made.claims
                continue
        found.unread.add(name)
        found.differences.append(f"The verdicts of '{name}' cannot be derived: {said}")
    return found


def _of_experiment(folder: Path, name: str, found: Derived, *, same: bool) -> Content:
    results = Results.open(folder)
    if archive.sha256(results.experiment.encode()) != results.manifest.experiment_sha256:
        found.differences.append(f"The experiment file of '{name}' is not the one that was played.")
    if (folder / of_results.MANIFEST).read_bytes() != results_manifest(results):
        (found.differences if same else found.unverified).append(
            f"{layout.experiment_folder(name)}/{of_results.MANIFEST} is not written as this version packs it."
        )
    runs = held(results, name, same=same)
    found.differences += runs.wrong
    found.unverified += runs.unverified
    found.notes += runs.notes
    home = layout.experiment_folder(name)
    found.names |= {f"{home}/{of_results.MANIFEST}", f"{home}/{of_results.EXPERIMENT}"}
    for run in results.runs():
        found.differences += _run_wrong(run, name)
        there = [file for file in layout.RUN_FILES if (run.folder / file).exists()]
        found.names |= {layout.run_file(name, run.id, file) for file in there}
    return content(results, name, planned=runs.count)


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
