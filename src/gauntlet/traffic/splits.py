"""Which visits an attack learns from and which it is tried on: folds, each of which is the tried one once."""

import numpy as np

from gauntlet.traffic.sequences import Ints, Sequences


def by_visit(visits: Sequences, folds: int, seed: int) -> Ints:
    """The fold of each visit, stratified: the visits of a site are dealt out evenly.

    Visits of one session come into several folds, so what they share is known to the attack.
    """
    dice = np.random.default_rng(seed)
    found = np.empty(len(visits), np.int64)
    for site in np.unique(visits.site):
        own = np.flatnonzero(visits.site == site)
        found[dice.permutation(own)] = (np.arange(len(own)) + dice.integers(folds)) % folds
    return found


def by_session(visits: Sequences, folds: int, seed: int) -> Ints:
    """The fold of each visit with sessions kept whole: an attack never knows the session it is tried on."""
    names, members = np.unique(visits.session, return_inverse=True)
    return (np.random.default_rng(seed).permutation(len(names)) % folds)[members]


def at_random(count: int, folds: int, seed: int) -> Ints:
    """Folds without regard to anything: neighbours in one visit come into several."""
    return np.random.default_rng(seed).permutation(count) % folds
