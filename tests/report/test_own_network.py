"""What a report says of a network of one's own."""

from pathlib import Path

import pytest

from gauntlet.experiment import expand, load_experiment, own_links
from gauntlet.report import own_network
from gauntlet.report.factors import factors_of

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def test_its_size_and_the_way_of_the_first_flow() -> None:
    specs = expand(load_experiment(EXPERIMENTS / "own-network.toml", repetitions=1))
    told = own_links.told(specs)
    assert told is not None
    words = own_network.words(told)
    # The queue is varied.
    assert words == (
        "7 nodes and 6 links. On the way from phone to exchange the narrowest link carries 5 Mbit/s, one-way "
        "delays add up to 30 ms, 0.1 % of the packets are lost."
    )
    one_queue = [spec for spec in specs if spec.factors["network.narrow.queue_bytes"] == 32_000]
    only = own_links.told(one_queue)
    assert only is not None
    assert "a queue of 32 kB stands before it" in own_network.words(only)


def test_links_that_fail_are_counted_and_other_networks_are_no_common_one() -> None:
    specs = expand(load_experiment(EXPERIMENTS / "geodiverse.toml", repetitions=1))
    assert own_links.told(specs) is None
    same = [spec for spec in specs if spec.factors["network.method"] == "disjoint"]
    told = own_links.told(same)
    assert told is not None
    failing = sum(bool(link["down"]) for link in told["links"])
    assert failing > 3
    assert "one-way delays add up to 12.304 ms," in own_network.words(told), "of 12.303601 ms"
    assert own_network.words(told).endswith(f" {failing} of the links are down for some time.")


def test_a_link_that_follows_a_scenario_says_which() -> None:
    specs = expand(load_experiment(EXPERIMENTS / "shared-cell.toml", repetitions=1))
    told = own_links.told(specs)
    assert told is not None
    words = "5 nodes and 4 links. The link from gateway to mast follows hsr."
    assert own_network.words(told) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("network.narrow.queue_bytes", "narrow queue"),
        ("network.method", "method"),
        ("network.rate_bps", "rate"),
    ],
)
def test_a_key_of_a_link_is_told_with_its_link(name: str, words: str) -> None:
    (factor,), _ = factors_of([{"factors": {name: value}, "labels": {}} for value in (1, 2)])
    assert factor.words == words


def test_of_several_sets_of_paths_it_says_how_many_and_through_what() -> None:
    maps = own_links.told_maps(expand(load_experiment(EXPERIMENTS / "geodiverse.toml", repetitions=1)))
    assert maps is not None
    words = own_network.map_words(maps)
    assert words.startswith("The runs took 2 different sets of paths through ")
    assert words.endswith("75 nodes and 105 links. The challenge is nashville.")
