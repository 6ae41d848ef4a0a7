"""The page of a pack, for an assessor: every claim with what it is held against, how it was tried and where
its logs lie; what is assumed, what was not checked and what was left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gauntlet import units
from gauntlet.evidence import A_TRIAL, FEWEST
from gauntlet.evidence_pack import layout
from gauntlet.evidence_pack.overview import grid
from gauntlet.metrics.numbers import counted, listed, number
from gauntlet.report.document import render_still
from gauntlet.results.files import json_bytes

TRIALS_SHOWN = 10
"""Trials of a claim that the page lists; its file lists all."""

ASSUMED = (
    "Both ends have the same clock, and the identities in messages are checked whatever the freshness check.",
    "The attacker does what the rules of the threat say, and nothing else.",
    f"{A_TRIAL} Trials with draws of their own are independent; those in which nothing was drawn and that "
    "are alike to the nanosecond are copies, and count once for the bound.",
    "Where no bits are drawn, trials of a cell differ in when a session begins and in which of a few "
    "messages is meant. Of an act that does the same each time (a copy, a loss, an exchange, a delay) 3/N "
    "then bounds little more than what hangs on the instant.",
    "The bound 3/N is the rule of three: where none of N independent trials went unnoticed, the chance of "
    "one lies with at most 5 % above 3/N. It holds for trials as they were drawn here (this link, these "
    "messages, these instants), not for a day of operation.",
    "Kernels and transport stacks are real; the network between them is emulated, in virtual time unless "
    "the versions below say otherwise.",
    "Kernel and libraries are those named under Versions; other versions may behave otherwise.",
)
NOT_CHECKED = (
    "Which safety integrity level anything has: none is claimed, and nothing here is a safety case.",
    "Hardware, the memory of hosts, and software other than the transports that were played.",
    "Secrets: how keys are made, kept and exchanged.",
    "Somebody else as the client of a session of their own: a masquerade here comes into the session of "
    "others.",
    "Threats that are not among the claims, and other instants, links and loads.",
    "Whose defence counts: a transport that is no part of the safety-related equipment may prevent a threat "
    "here and still be no defence against it in a safety case.",
    "Whether other seeds were played and left out: the pack tells which one was. The command of a claim "
    "plays its experiment with a seed of yours (--seed).",
    "Conformity to EN 50159: its threats and defences are cited as AB4Rail D3.5 reproduces them.",
    "The certificates: packets are not in the pack, so whether a run is trusted is taken from the "
    "certificate that was made while it was played. Playing the run again makes it again.",
    "Whether the logs are genuine: hashes tell a change only when the tree hash came to you by another way; "
    "logs that were made up are found by playing runs again.",
)
WITH_KEYS = (
    "What an attacker with keys did, by packets: they cannot confirm it, for nobody without keys sees it. "
    "That it acted, and when, is what the sender's end wrote down."
)
"""Of an attacker who acts before a message is sealed."""
_STANDS = {
    "agrees": "the specification agrees",
    "faults only": "by the specification that holds against faults, not against an attacker",
    "differs": "the specification says otherwise",
}
"""How a cell of D3.5 stands to the specifications (`defences.compare.Verdict`)."""


def short(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim as the page needs it: with the trials that it lists, and how many there are."""
    trials = claim["trials"]
    return {**claim, "trials": trials[:TRIALS_SHOWN], "trials_in_all": len(trials)}


def html(manifest: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> str:
    """The page, made from manifest and claims alone, whole or `short`, so that it can be made again from a
    pack.
    """
    # What was read from a file and what was just made have to give one page.
    manifest, claims = json.loads(json_bytes(dict(manifest))), json.loads(json_bytes(list(claims)))
    tried = [it for it in claims if not it["finding"]["control"]]
    return render_still(
        "evidence.html.j2",
        more_css=("evidence.css",),
        title="Evidence on threats to safety messages",
        subtitle=_subtitle(manifest, claims),
        lead=_lead(tried),
        parts=[
            (_heading(name, manifest), grid(mine), [_shown(it) for it in mine])
            for name in manifest["experiments"]
            if (mine := [it for it in claims if it["experiment"] == name])
        ],
        left_out=[
            (
                name,
                it["file"],
                counted(it["files"], "file"),
                _size(it["bytes"]),
                it["why"],
            )
            for name, about in manifest["experiments"].items()
            for it in about["left_out"]
        ],
        versions=_versions(manifest),
        certificates=_certificates(manifest),
        assumed=ASSUMED,
        not_checked=[*NOT_CHECKED, *([WITH_KEYS] if any(it["test"]["with_keys"] for it in claims) else [])],
        fewest=FEWEST,
        sums=layout.SUMS,
        manifest_file=layout.MANIFEST,
    )


def _subtitle(manifest: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> str:
    runs = sum(it["runs"] for it in manifest["experiments"].values())
    experiments = counted(len(manifest["experiments"]), "experiment")
    return f"{counted(len(claims), 'claim')} from {counted(runs, 'run')} of {experiments}"


def _heading(name: str, manifest: Mapping[str, Any]) -> str:
    """What an experiment is called: its title, and where there are several its name, since two may have one
    title.
    """
    title = manifest["experiments"][name]["title"]
    several = len(manifest["experiments"]) > 1
    return f"{name}: {title}" if title and several else title or name


def _lead(tried: Sequence[Mapping[str, Any]]) -> str:
    """What the claims come to together."""
    unnoticed = sum(it["finding"]["not_noticed"] > 0 for it in tried)
    bounded = [it["finding"]["bound"] for it in tried if it["finding"]["bound"] not in (None, 1.0)]
    claims = counted(len(tried), "claim")
    words = f"Of {claims} on a threat, {_have(unnoticed)} trials in which nobody noticed it."
    if bounded:
        words += f" {_have(len(bounded))} a bound 3/N; the largest is {number(max(bounded))}."
    else:
        words += " None has a bound 3/N that says something."
    return words


def _have(count: int) -> str:
    return f"{count} {'has' if count == 1 else 'have'}"


def _shown(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim with what the page makes of it."""
    finding, of = claim["finding"], claim["requirement"]
    return {
        **claim,
        "file": layout.claim_file(claim["id"]),
        "stands": _stands(of),
        "defences": listed([it.lower() for it in of["table_4"]["defences"]]) if of else "",
        "told": listed([f"{who} {n}" for who, n in finding["told_first_by"].items()]),
        "listed": claim["trials"][:TRIALS_SHOWN],
        "unlisted": max(0, claim.get("trials_in_all", len(claim["trials"])) - TRIALS_SHOWN),
        "detection": number(finding["median_delay_s"]) if finding["median_delay_s"] is not None else None,
    }


def _stands(requirement: Mapping[str, Any] | None) -> str:
    """How D3.5's cell stands to the specification, in words; empty where there is nothing to say."""
    d35 = requirement and requirement["on_paper"] and requirement["on_paper"]["d35"]
    return _STANDS[d35["stands"]] if d35 and d35["stands"] else ""


def _size(count_bytes: int) -> str:
    """A size with three significant digits."""
    return units.spaced(units.format_size(float(f"{count_bytes:.3g}")))


def _certificates(manifest: Mapping[str, Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """By experiment: how many runs have which certificate, and what certificates of how many could not
    tell.
    """
    return [
        (
            name,
            _counts(about["certificates"]),
            [(what.removesuffix("."), counted(n, "run")) for what, n in about["undecided"].items()],
        )
        for name, about in manifest["experiments"].items()
    ]


def _counts(of: Mapping[str, int]) -> str:
    return ", ".join(f"{what}: {n}" for what, n in of.items())


def _versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was played, and what judged it."""
    rows = [("Judged and packed by", f"gauntlet {manifest['made_with']['gauntlet']}")]
    for name, about in manifest["experiments"].items():
        rows += [
            (f"{name}: player", ", ".join(about["player"])),
            (f"{name}: engine", _pairs(about["engine"])),
            (f"{name}: libraries of the player", _pairs(about["player_libraries"])),
            (f"{name}: packages", _pairs(about["versions"])),
            (f"{name}: experiment file (SHA-256)", about["experiment_sha256"]),
        ]
    return [(what, words) for what, words in rows if words]


def _pairs(of: Mapping[str, Any] | Iterable[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in of.items()) if isinstance(of, Mapping) else str(of)
