"""The attacks that there are, by name."""

from gauntlet.traffic.attacks.cnn import CNN
from gauntlet.traffic.attacks.contract import Attack
from gauntlet.traffic.attacks.forest import FOREST
from gauntlet.traffic.attacks.knn import KNN

ATTACKS: dict[str, Attack] = {it.name: it for it in (KNN, FOREST, CNN)}
