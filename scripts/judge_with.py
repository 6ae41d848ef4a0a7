"""Which claims of a study come out otherwise when one experiment stands in the place of another.

    python scripts/judge_with.py d34 cbr-hsr=queue-128-hsr coexist-hsr=queue-128-coexist-hsr

Every rule is kept, only the experiment that it asks is another, so what changes is the doing of what the two
differ in. It reads the committed summary and writes nothing. Verdicts found this way were not registered:
they settle what a disagreement comes from, and count nowhere.
"""

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.metrics.numbers import counted
from gauntlet.studies import judging, ledger, study
from gauntlet.studies.ledger import Claim
from gauntlet.studies.summary import Summary


def instead(text: str, swaps: Mapping[str, str]) -> str:
    """The ledger with each experiment's name put in the place of another's."""
    for name, other in swaps.items():
        text = text.replace(f'"{name}"', f'"{other}"')
    return text


def changed(path: Path, swaps: Mapping[str, str]) -> list[tuple[Claim, Claim]]:
    """The claims that ask these experiments and no others, which would compare what differs in more:
    as they are, and of the other experiments.
    """
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / path.name
        other.write_text(instead(path.read_text(), swaps))
        pairs = zip(ledger.load(path), ledger.load(other), strict=True)
        return [(one, swapped) for one, swapped in pairs if asked(one) and asked(one) <= swaps.keys()]


def asked(claim: Claim) -> set[str]:
    """The experiments that a claim's rules name."""
    return set(re.findall(r'"experiment": ?"([^"]+)"', claim.canonical))


def main(arguments: Sequence[str]) -> int:
    """Print a table of the claims whose verdict changes, and how many keep theirs."""
    if len(arguments) < 2 or not all("=" in it for it in arguments[1:]):
        print(
            "Name a study and what stands in whose place: judge_with.py d34 cbr-hsr=queue-128-hsr",
            file=sys.stderr,
        )
        return 2
    judged_study = study(arguments[0])
    swaps = dict(it.split("=", 1) for it in arguments[1:])
    summary = Summary.load(judged_study.summary, judged_study.home)
    kept, left_out = 0, []
    print("| claim | as registered | with the other | measured, with the other |\n|---|---|---|---|")
    for one, swapped in changed(judged_study.ledger, swaps):
        try:
            (was,) = judging.judge(judged_study, summary, [one])
            (now,) = judging.judge(judged_study, summary, [swapped])
        except UserError:
            left_out.append(one.id)  # what it asks the other experiment does not have
            continue
        if was.decision.verdict == now.decision.verdict:
            kept += 1
            continue
        told, number = now.decision.to_json(), was.decision.to_json()
        print(
            f"| `{one.id}` | {was.decision.verdict}, {number['measured']} | {now.decision.verdict} "
            f"| {told['what']}: {told['measured']} |"
        )
    print(f"\n{counted(kept, 'claim keeps its verdict', 'claims keep their verdict')}.")
    if left_out:
        print(f"Not asked, since the other experiment lacks what they need: {', '.join(left_out)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
