"""`forest`: a random forest on features of a visit, as k-fingerprinting has it (Hayes and Danezis, USENIX
Security 2016). Its votes decide; the paper's search among fingerprints for an open world is left out, since a
class of unmonitored sites does its work here.
"""

from functools import partial
from typing import Any

import numpy as np

from gauntlet.traffic import features
from gauntlet.traffic.attacks.contract import Attack, Classifier
from gauntlet.traffic.sequences import Floats, Ints, Sequences

TREES = 300
"""The paper has 1,000; beyond some hundreds the votes change little."""


def _learn(visits: Sequences, classes: Ints, count: int, seed: int) -> Classifier:
    from sklearn.ensemble import RandomForestClassifier

    # scikit-learn takes seeds of 32 bits.
    forest = RandomForestClassifier(n_estimators=TREES, random_state=seed % 2**32, n_jobs=1)
    forest.fit(features.table(visits)[1], classes)
    return partial(_scores, forest, count)


def _scores(forest: Any, count: int, visits: Sequences) -> Floats:
    found = np.zeros((len(visits), count))
    found[:, forest.classes_] = forest.predict_proba(features.table(visits)[1])
    return found


FOREST = Attack(
    "forest",
    "random forest on the features of k-fingerprinting",
    _learn,
    {"sklearn": "scikit-learn"},
)
