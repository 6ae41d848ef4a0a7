"""Why attacks on visits find what they find: what windows of packets have in common, and how far single
traits of a visit name its site. Looks at the visits that the bench `traffic-sites` keeps.

    gauntlet reproduce attack --full --only sites --out results/attack
    python benchmarks/what_packets_tell.py results/attack/sites/raw
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.ensemble import RandomForestClassifier

from gauntlet.traffic import splits
from gauntlet.traffic.attacks import forest, knn
from gauntlet.traffic.sequences import Floats, Ints, Sequences, paired
from gauntlet.traffic.trials import FOLDS, WINDOW

_SEED = 1
_SMALL_BYTES = 100
"""At most so long are acknowledgements alone."""

Naming = Callable[[Floats, Ints, Floats], Ints]


def windows(visits: Sequences) -> dict[str, float]:
    """Windows as an attack has them: shares of them, in percent."""
    cut, owners = visits.windows(WINDOW)
    matrix = cut.matrix(WINDOW)
    patterns, pattern = np.unique(matrix, axis=0, return_inverse=True)
    pattern = pattern.ravel()
    sites, site = np.unique(cut.site, return_inverse=True)
    counts = np.zeros((len(patterns), len(sites)), int)
    np.add.at(counts, (pattern, site), 1)
    full = (matrix == matrix.min()) | ((matrix > 0) & (matrix <= _SMALL_BYTES))
    folds = splits.by_session(visits, FOLDS, _SEED)[owners]
    by_heart = 0
    for fold in range(FOLDS):
        own = folds == fold
        learnt = np.zeros_like(counts)
        np.add.at(learnt, (pattern[~own], site[~own]), 1)
        known = learnt[pattern[own]]
        # Of one that never came nothing is known but which site has most.
        known[known.sum(axis=1) == 0] = learnt.sum(axis=0)
        by_heart += int((known.argmax(axis=1) == site[own]).sum())
    return {
        "windows that another site has, too": 100 * counts[(counts > 0).sum(axis=1) > 1].sum() / len(cut),
        "windows that come once": 100 * (counts.sum(axis=1) == 1).sum() / len(cut),
        "windows of full packets and acknowledgements": 100 * full.all(axis=1).mean(),
        "windows named by who knows those of other sessions by heart": 100 * by_heart / len(cut),
        "windows named by who says the most frequent site": 100 * counts.sum(axis=0).max() / len(cut),
    }


def sizes(visits: Sequences) -> Floats:
    """How many packets a visit has of each size and direction, whatever their order."""
    known, size = np.unique(visits.signed_bytes, return_inverse=True)
    found = np.zeros((len(visits), len(known)))
    np.add.at(found, (visits.owner, size), 1)
    return found


def each_way(visits: Sequences) -> Floats:
    """How many packets go out and come in."""
    out = visits.signed_bytes > 0
    counts = [np.bincount(visits.owner[it], minlength=len(visits)) for it in (out, ~out)]
    return np.stack(counts, axis=1).astype(float)


def bytes_in(visits: Sequences) -> Floats:
    """How many bytes come in."""
    weights = np.where(visits.signed_bytes < 0, -visits.signed_bytes, 0)
    return np.bincount(visits.owner, weights, len(visits)).astype(float)[:, None]


def nearest(learnt: Floats, answers: Ints, tried: Floats) -> Ints:
    """What the nearest visits say, as those of the bench vote."""
    names, places = np.unique(answers, return_inverse=True)
    found: Ints = names[knn.votes(learnt, places, len(names), tried).argmax(axis=1)]
    return found


def random_forest(learnt: Floats, answers: Ints, tried: Floats) -> Ints:
    """What a random forest of as many trees as the bench's says."""
    trees = RandomForestClassifier(n_estimators=forest.TREES, random_state=_SEED, n_jobs=1)
    found: Ints = trees.fit(learnt, answers).predict(tried)
    return found


def right(attack: Naming, learnt: Floats, tried: Floats, visits: Sequences) -> float:
    """The share in percent that is named rightly, split by session; rows of both are the same visits."""
    folds = splits.by_session(visits, FOLDS, _SEED)
    said = np.empty(len(visits), np.int64)
    for fold in np.unique(folds):
        own = folds == fold
        said[own] = attack(learnt[~own], visits.site[~own], tried[own])
    return float(100 * (said == visits.site).mean())


def looks(h2: Sequences, h3: Sequences, padded: Sequences) -> Iterator[tuple[str, float]]:
    """What is looked at in one set of sites."""
    for over, visits in (("HTTP/2", h2), ("HTTP/3", h3)):
        yield from ((f"{over}, {what}", share) for what, share in windows(visits).items())
        for much, some in ((f"first {knn.PACKETS}", visits.first(knn.PACKETS)), ("all packets", visits)):
            in_order, counts = some.matrix(int(some.lengths.max())), sizes(some)
            yield f"{over}, nearest by sizes in order, {much}", right(nearest, in_order, in_order, visits)
            yield f"{over}, nearest by counts of sizes, {much}", right(nearest, counts, counts, visits)
    for name, learnt, tried in (("HTTP/2, tried HTTP/3", h2, h3), ("HTTP/3, tried HTTP/2", h3, h2)):
        lessons, met = paired(learnt, tried)
        share = right(random_forest, bytes_in(lessons), bytes_in(met), met)
        yield f"learnt {name}, forest by bytes that come in", share
    counts, packets = sizes(padded), each_way(padded)
    yield "padded, nearest by counts of sizes, all packets", right(nearest, counts, counts, padded)
    yield "padded, forest by counts of sizes, all packets", right(random_forest, counts, counts, padded)
    yield "padded, forest by packets each way", right(random_forest, packets, packets, padded)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("raw", type=Path, help="folder with monitored-h2-1.parquet and so on")
    parser.add_argument("--json", type=Path, help="keeps the means here, too")
    options = parser.parse_args()
    found: dict[str, list[float]] = {}
    for file in sorted(options.raw.glob("monitored-h2-*.parquet")):
        number = file.stem.rsplit("-", 1)[1]
        names = (f"monitored-{version}-{number}.parquet" for version in ("h2", "h3", "h3-padded"))
        for what, share in looks(*(Sequences.from_table(pq.read_table(options.raw / it)) for it in names)):
            found.setdefault(what, []).append(share)
    if not found:
        parser.error(
            f"{options.raw} has no monitored-h2-1.parquet; the bench traffic-sites leaves such files"
        )
    width = max(map(len, found))
    for what, shares in found.items():
        print(f"{what:<{width}}  {np.mean(shares):5.1f} %  ({min(shares):.1f} to {max(shares):.1f})")
    if options.json:
        means = {what: round(float(np.mean(shares)), 2) for what, shares in found.items()}
        options.json.write_text(json.dumps(means, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
