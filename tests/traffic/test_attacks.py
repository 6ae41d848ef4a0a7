"""Attacks: they name what can be told apart, cannot name what cannot, and repeat themselves."""

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.traffic import features, splits
from gauntlet.traffic.attacks import cnn, forest
from gauntlet.traffic.attacks.contract import Attack
from gauntlet.traffic.attacks.registry import ATTACKS
from gauntlet.traffic.sequences import Ints, Sequences
from gauntlet.traffic.trials import named
from tests.traffic import factory


@pytest.fixture(params=ATTACKS.values(), ids=lambda it: it.name)
def attack(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Attack:
    """Each attack that can be tried here, learning no longer than these sites take."""
    chosen: Attack = request.param
    for module in chosen.packages:
        pytest.importorskip(module)
    monkeypatch.setattr(cnn, "EPOCHS", 30)
    monkeypatch.setattr(forest, "TREES", 50)
    return chosen


def classes(visits: Sequences) -> Ints:
    """The place of each visit's site among all."""
    return np.unique(visits.site, return_inverse=True)[1].astype(np.int64)


def test_sites_of_disjoint_sizes_are_told_apart(attack: Attack) -> None:
    visits = factory.visits(factory.DISJOINT, sessions=8)
    folds = splits.by_session(visits, 2, seed=1)
    said, known = named(attack, visits, visits, classes(visits), count=2, folds=folds, seed=1)
    assert said.tolist() == classes(visits).tolist()
    assert known == (1.0 if attack.asked_again else None)


def test_what_nothing_tells_apart_is_named_by_chance(attack: Attack) -> None:
    """128 visits to four sites that are alike: 32 right on average, 12 to 52 within four deviations."""
    visits = factory.visits(factory.ALIKE, sessions=16)
    folds = splits.by_session(visits, 2, seed=1)
    said, _ = named(attack, visits, visits, classes(visits), count=4, folds=folds, seed=1)
    assert 12 <= (said == classes(visits)).sum() <= 52


def test_labels_that_are_shuffled_give_chance(attack: Attack) -> None:
    visits = factory.visits({**factory.DISJOINT, 9: (400, 420), 12: (600, 640)}, sessions=16)
    wrong = np.random.default_rng(5).permutation(classes(visits))
    folds = splits.by_session(visits, 2, seed=1)
    said, _ = named(attack, visits, visits, wrong, count=4, folds=folds, seed=1)
    assert 12 <= (said == wrong).sum() <= 52


def test_the_same_seed_gives_the_same_scores(attack: Attack) -> None:
    visits = factory.visits(factory.ALIKE)
    first, again = (attack.learn(visits, classes(visits), 4, seed)(visits) for seed in (7, 7))
    assert np.array_equal(first, again)


def test_a_class_that_was_never_seen_is_never_said(attack: Attack) -> None:
    visits = factory.visits(factory.DISJOINT)
    scores = attack.learn(visits, classes(visits) + 1, 4, 1)(visits)
    assert scores.shape == (len(visits), 4)
    assert set(scores.argmax(axis=1)) == {1, 2}


def test_an_attack_whose_packages_are_missing_asks_for_them_in_one_sentence() -> None:
    lacking = Attack("made-up", "", ATTACKS["knn"].learn, {"no_such_module": "no-such-package"})
    with pytest.raises(UserError) as refused:
        lacking.check()
    assert str(refused.value) == (
        "the attack made-up needs no-such-package, which is not installed; type "
        '`pip install "gauntlet-net[traffic]"`.'
    )


def test_features_are_of_the_packets() -> None:
    visits = Sequences.of(
        [(1, 1, 0)],
        [(np.array([0, 1, 3, 4, 2_000_000_000]), np.array([100, -200, -300, 50, -700]), np.full(5, 3))],
    )
    names, rows = features.table(visits)
    found = dict(zip(names, rows[0], strict=True))
    assert len(found) == len(names), "no name stands twice"
    assert (found["packets out"], found["packets in"], found["bytes all"]) == (2, 3, 1350)
    assert found["share out"] == pytest.approx(0.4)
    assert (found["bursts in"], found["burst in, most"], found["bursts in above 2"]) == (2, 2, 0)
    assert found["gap all, mean"] == pytest.approx(5e8)
    assert (found["place out, mean"], found["place in, mean"]) == pytest.approx((1.5, 7 / 3))
    assert (found["packets in a second, most"], found["out in a chunk, most"]) == (4, 2)
    assert found["100 % of out after"] == 4
    assert found["packets quic-data"] == 5


def test_features_of_a_visit_without_packets_are_numbers() -> None:
    visits = factory.visits(factory.DISJOINT).first(0)
    _, rows = features.table(visits)
    assert np.isfinite(rows).all()
