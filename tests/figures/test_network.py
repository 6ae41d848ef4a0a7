"""A network drawn: senders on the left, receivers on the right, no two nodes in one place."""

from gauntlet.figures.network import MOST_WORDS, network, placed
from tests.figures.specs import marks

LINKS = [
    ("phone", "west"), ("laptop", "west"), ("west", "middle"), ("middle", "east"), ("middle", "mirror"),
    ("east", "exchange"),
]  # fmt: skip
ENDS = [("phone", "exchange"), ("laptop", "mirror")]


def table(links: list[tuple[str, str]]) -> dict[str, list[object]]:
    return {
        "a": [a for a, _ in links],
        "b": [b for _, b in links],
        "words": ["5 Mbit/s" for _ in links],
        "back": ["" for _ in links],
        "fails": [0 for _ in links],
    }


def test_senders_stand_left_of_everything_and_receivers_right() -> None:
    places = placed(LINKS, ENDS)
    assert set(places) == {node for link in LINKS for node in link}
    assert len(set(places.values())) == len(places)
    columns = {node: x for node, (x, _) in places.items()}
    assert columns["phone"] == columns["laptop"] == 0
    assert columns["mirror"] == columns["exchange"] == max(columns.values())
    assert columns["phone"] < columns["west"] < columns["middle"] < columns["east"] < columns["exchange"]


def test_paths_that_lie_apart_keep_their_rows() -> None:
    two = [("a", "up"), ("up", "upper"), ("upper", "b"), ("a", "down"), ("down", "lower"), ("lower", "b")]
    places = placed(two, [("a", "b")])
    assert places["up"][1] == places["upper"][1] != places["down"][1] == places["lower"][1]


def test_a_node_that_no_way_leads_to_is_drawn_too() -> None:
    assert set(placed([("a", "b"), ("c", "d")], [("a", "b")])) == {"a", "b", "c", "d"}


def test_links_have_words_as_long_as_there_are_few() -> None:
    def texts(count: int) -> int:
        links = [("a", f"r{n}") for n in range(count)]
        return len(marks(network(table(links), [("a", "r0")]), "text"))

    assert texts(MOST_WORDS) == 5, "above and below, each on paper, and the names of the nodes"
    assert texts(MOST_WORDS + 1) == 1


def test_a_link_behind_words_does_not_strike_them_through() -> None:
    above, words, *_ = marks(network(table(LINKS), ENDS), "text")
    assert (above["mark"]["stroke"], above["mark"]["color"]) == ("white", "white")
    assert above["mark"]["strokeWidth"] > 0
    assert above["encoding"] == words["encoding"], "the words themselves come on top of their paper"
    assert "stroke" not in words["mark"]
