"""The pack that lies here was built once, elsewhere, and holds for whatever version reads it."""

import re
from collections import Counter

from gauntlet.evidence_pack import verify
from tests.evidence_pack.forged import LOGS, content

TREE = "efa6183b2739873717cbb4c1dbde49afd0dcf08afa8894e5cc7c2d33c685da1d"
"""Its tree hash, told by another way than the pack: `gauntlet evidence verify` prints it."""
MOST_BYTES = 20e6
ALLOWED = [
    # Facts are held apart from words: a verdict, a number or a hash that differs is a difference.
    r"claims/[a-z]+-\d{3}\.json: its .+ (is|are) not what the logs give with this version\.",
    r"claims/[a-z]+-\d{3}\.json: it is written otherwise than this version writes it\.",
    # The page and the manifests are made from these facts, with more or other words around them.
    r"index\.html does not say what manifest and claims say\.",
    r"manifest\.json says something that its results do not give, or otherwise\.",
    r"experiments/[a-z]+/manifest\.json is not written as this version packs it\.",
    r"The manifest's '[a-z_0-9]+' of '[a-z]+' stands on one side only\.",
    # A later version may plan with further keys; what is judged is the plan that was played, which is in the
    # pack. But the node's rules, the seed and the run's name are the experiment's, and so is its threat.
    r"(spec|plan|key)\.json of \d+ runs? of '[a-z]+' is not what the experiment file gives, first of [^:]+: "
    r"(?!.*\b(in_path|seed|id|run)\b).+\.",
]
"""What a later version may be unable to verify."""


def odd(unverified: list[str]) -> list[str]:
    """What no later version may say of it: which runs there are cannot be told, say."""
    return [it for it in unverified if not any(re.fullmatch(allowed, it) for allowed in ALLOWED)]


def test_the_pack_of_another_day_holds_but_for_words() -> None:
    found = verify(LOGS, tree=TREE)
    assert found.differences == []
    assert (found.claims, found.trials) == (10, 112)
    assert odd(found.unverified) == []
    assert found.holds or "built by another version of the package" in found.notes[0]


def test_what_is_no_word_is_not_allowed() -> None:
    assert len(odd([
        "The experiment 'small' cannot be expanded from the pack alone (its scenario is a file of its own): "
        "which runs it has and what each of them is was taken from the pack.",
        "plan.json of 12 runs of 'small' is not what the experiment file gives, first of a: flows, in_path.",
        "The manifest's 'left_out' of 'small' is [], and its results say [1].",
        "index.html does not say what manifest and claims say.",
    ])) == 3  # fmt: skip


def test_it_has_what_packs_of_the_study_have_and_is_as_small_as_one_may_be() -> None:
    """One of the study may have 20 MB; who wants all of its runs builds it by command."""
    assert LOGS.stat().st_size < MOST_BYTES
    runs = Counter(name.split("/")[1] for name in content(LOGS) if name.endswith("/plan.json"))
    assert runs == {"small": 12, "sessions": 4}
