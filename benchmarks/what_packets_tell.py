"""Why attacks on visits find what they find: what windows of packets have in common, and how far single
traits of a visit name its site. Looks at the visits that the bench `traffic-sites` keeps.

    gauntlet reproduce attack --full --only sites --out results/attack
    python benchmarks/what_packets_tell.py results/attack/sites/raw
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier

from gauntlet.traffic import splits
from gauntlet.traffic.sequences import Floats, Ints, Sequences, paired
from gauntlet.traffic.trials import FOLDS, WINDOW

_SECOND_NS = 1e9
_SEED = 1


def windows(visits: Sequences) -> dict[str, float]:
    """Windows as an attack has them: shares of them, in percent."""
    cut, _ = visits.windows(WINDOW)
    patterns, pattern = np.unique(cut.matrix(WINDOW), axis=0, return_inverse=True)
    sites, site = np.unique(cut.site, return_inverse=True)
    counts = np.zeros((len(patterns), len(sites)), int)
    np.add.at(counts, (pattern.ravel(), site), 1)
    several = (counts > 0).sum(axis=1) > 1
    return {
        "windows that another site has, too": 100 * counts[several].sum() / len(cut),
        "named by who knows each by heart": 100 * counts.max(axis=1).sum() / len(cut),
        "named by who says the most frequent site": 100 * counts.sum(axis=0).max() / len(cut),
    }


def sizes(visits: Sequences) -> Floats:
    """How many packets a visit has of each size and direction, whatever their order."""
    known, size = np.unique(visits.signed_bytes, return_inverse=True)
    found = np.zeros((len(visits), len(known)))
    np.add.at(found, (visits.owner, size), 1)
    return found


def totals(visits: Sequences) -> Floats:
    """Packets and bytes each way."""
    out = visits.signed_bytes > 0
    signed = np.abs(visits.signed_bytes).astype(float)
    sides = [side for mask in (out, ~out) for side in (mask.astype(float), mask * signed)]
    return np.stack([np.bincount(visits.owner, side, len(visits)) for side in sides], axis=1)


def numbers_and_time(visits: Sequences) -> Floats:
    """Packets each way, and how long the visit takes."""
    packets = totals(visits)[:, [0, 2]]
    return np.column_stack([packets, visits.time_ns[visits.starts[1:] - 1] / _SECOND_NS])


def nearest(learnt: Floats, answers: Ints, tried: Floats) -> Ints:
    """The site of the nearest visit."""
    found: Ints = answers[cdist(tried, learnt, "cityblock").argmin(axis=1)]
    return found


def forest(learnt: Floats, answers: Ints, tried: Floats) -> Ints:
    """What a random forest says."""
    trees = RandomForestClassifier(n_estimators=300, random_state=_SEED, n_jobs=1).fit(learnt, answers)
    found: Ints = trees.predict(tried)
    return found


def right(
    attack: Callable[[Floats, Ints, Floats], Ints], learnt: Floats, tried: Floats, visits: Sequences
) -> float:
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
        counts, amounts = sizes(visits), totals(visits)
        yield f"{over}, nearest by counts of sizes", right(nearest, counts, counts, visits)
        yield f"{over}, forest by packets and bytes each way", right(forest, amounts, amounts, visits)
    for name, learnt, tried in (("HTTP/2, tried HTTP/3", h2, h3), ("HTTP/3, tried HTTP/2", h3, h2)):
        lessons, met = paired(learnt, tried)
        share = right(forest, totals(lessons), totals(met), met)
        yield f"learnt {name}, forest by packets and bytes each way", share
    left = numbers_and_time(padded)
    yield "padded, forest by packets each way and time", right(forest, left, left, padded)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("raw", type=Path, help="folder with monitored-h2-1.parquet and so on")
    folder = parser.parse_args().raw
    found: dict[str, list[float]] = {}
    for file in sorted(folder.glob("monitored-h2-*.parquet")):
        number = file.stem.rsplit("-", 1)[1]
        names = (f"monitored-{version}-{number}.parquet" for version in ("h2", "h3", "h3-padded"))
        for what, share in looks(*(Sequences.from_table(pq.read_table(folder / name)) for name in names)):
            found.setdefault(what, []).append(share)
    if not found:
        parser.error(f"{folder} has no monitored-h2-1.parquet; the bench traffic-sites leaves such files")
    width = max(map(len, found))
    for what, shares in found.items():
        print(f"{what:<{width}}  {np.mean(shares):5.1f} %  ({min(shares):.1f} to {max(shares):.1f})")


if __name__ == "__main__":
    main()
