"""figures.toml: what repeats, what is drawn, and a sentence for every mistake."""

from pathlib import Path

import pytest

from gauntlet.errors import NotMeasured, UserError
from gauntlet.figures.kind import Chart, Table, repetitions
from gauntlet.figures.look import PRINTED
from gauntlet.studies.figures import load_figures
from gauntlet.studies.model import Figure
from tests.figures.specs import rows
from tests.studies.factory import flows, steady, study, summary

FOUND = summary(
    flows(
        {
            ("tcp-bbr", 0.0): steady(2e6),
            ("tcp-bbr", 0.01): steady(1e6),
            ("sctp", 0.0): steady(4e6),
        }
    )
)

AGAINST = """
[[figure]]
key = "18"
title = "Throughput"
caption = "Greedy sources."

[[figure.panel]]
kind = "against"
caption = "Means."
experiment = "cbr"
kpi = "throughput_bps"
x = "loss"
"""

TABLE = """
[[figure]]
key = "table-3"
title = "Means"
caption = "In a table."

[[figure.panel]]
kind = "table"
caption = "Means."
experiment = "cbr"
of = { loss = 0.0 }
heads = ["Protocol"]
row = [
  { each = "protocol", values = ["tcp-bbr", "sctp"] },
  { heads = ["BBR, 1 %"], of = { protocol = "tcp-bbr", loss = 0.01 } },
]
column = [
  { head = "Mbit/s", kpi = "throughput_bps" },
  { head = "Printed", printed = ["1", "5"] },
  { head = "of it", ratio = ["Mbit/s", "Printed"] },
  { head = "less", saved = ["Mbit/s", "Printed"] },
]
"""


def load(folder: Path, text: str) -> tuple[Figure, ...]:
    (folder / "figures.toml").write_text(text)
    return load_figures(study(folder))


def test_a_figure_has_its_words_and_draws_its_panels(tmp_path: Path) -> None:
    (figure,) = load(tmp_path, AGAINST)
    assert (figure.name, figure.title, figure.experiments) == ("Figure 18", "Throughput", ("cbr",))
    (panel,) = figure.draw(FOUND)
    assert isinstance(panel, Chart)
    values = sorted({float(row["value"]) for row in rows(panel.chart)})
    assert values == pytest.approx([1.0, 2.0, 4.0], rel=0.01)


def test_figures_stand_by_number_then_tables_then_what_is_beyond(tmp_path: Path) -> None:
    keys = ('"beyond"\nbeyond = true', '"table-2"', '"A.3"', '"4.10"', '"4.9"', '"9"', '"10"')
    text = "".join(AGAINST.replace('"18"', key) for key in keys)
    assert [it.key for it in load(tmp_path, text)] == ["9", "10", "4.9", "4.10", "A.3", "table-2", "beyond"]


def test_a_figure_repeats_for_each_row_and_for_each_combination(tmp_path: Path) -> None:
    text = AGAINST.replace('key = "18"', 'key = "{key}"').replace('"Throughput"', '"{word} of {name}"')
    text = text.replace(
        "[[figure]]\n",
        '[words]\nword = "Rate"\nprotocol = ["sctp"]\n\n[[figure]]\n'
        'for_each = [{ key = "1", name = "BBR" }, { key = "2", name = "SCTP" }]\n',
    )
    text = text.replace(
        "[[figure.panel]]\n",
        '[[figure.panel]]\nfor_each = [[{ a = 1 }, { a = 2 }], [{ b = "x" }, { b = "y" }]]\n',
    )
    text = text.replace('"Means."', '"{a}{b} of {name}."') + 'of = { protocol = "{protocol}" }\n'
    figures = load(tmp_path, text)
    assert [(it.key, it.title) for it in figures] == [("1", "Rate of BBR"), ("2", "Rate of SCTP")]
    assert [panel.caption for panel in figures[0].draw(FOUND)] == [
        f"{it} of BBR. n = 10." for it in ("1x", "1y", "2x", "2y")
    ]
    (panel, *_) = figures[1].draw(FOUND)
    assert isinstance(panel, Chart)
    assert {row["protocol"] for row in rows(panel.chart)} == {"SCTP"}, "a name alone gives the list itself"


def test_a_table_has_means_printed_values_and_what_follows_from_them(tmp_path: Path) -> None:
    text = TABLE.replace(
        '{ each = "protocol", values = ["tcp-bbr", "sctp"] }', '{ each = "protocol", values = ["sctp"] }'
    )
    ((panel,),) = (figure.draw(FOUND) for figure in load(tmp_path, text))
    assert isinstance(panel, Table)
    assert panel.header == ("Protocol", "Mbit/s", "Printed", "of it", "less")
    first, second = panel.rows
    assert first[0] == "SCTP"
    assert first[1].startswith("4.00 [")
    assert first[2:] == ("1", "4.00", "−300.0 %")
    assert (second[0], second[2:]) == ("BBR, 1 %", ("5", "0.200", "80.0 %"))


TIMES = """
row = [{ each = "protocol" }]
column = [
  { head = "no loss (s)", kpi = "download_time_s", of = { loss = 0.0 } },
  { head = "1 % (s)", kpi = "download_time_s", of = { loss = 0.01 } },
  { head = "of it", ratio = ["1 % (s)", "no loss (s)"] },
  { head = "Mbit/s", kpi = "throughput_bps", of = { loss = 0.0 } },
]
"""


def test_times_of_what_did_not_all_arrive_say_how_many_did_and_are_in_no_mean(tmp_path: Path) -> None:
    """Of ten files BBR's seven come after 1 to 7 s and with loss three, SCTP's all after 4 s, with loss none;
    the others are given up after 90 s.
    """
    came: dict[tuple[str, float], list[float | None]] = {
        ("tcp-bbr", 0.0): [*(float(it) for it in range(1, 8)), None, None, None],
        ("tcp-bbr", 0.01): [2.0, 3.0, 4.0, *[None] * 7],
        ("sctp", 0.0): [4.0] * 10,
        ("sctp", 0.01): [None] * 10,
    }
    took = [it for each in came.values() for it in each]
    table = flows(
        {key: [2e6] * 10 for key in came},
        download_time_s=took,
        completed=[it is not None for it in took],
        given_s=[90.0] * len(took),
    )
    text = TABLE[: TABLE.index("row = [")].replace("of = { loss = 0.0 }\n", "") + TIMES
    ((panel,),) = (figure.draw(summary(table)) for figure in load(tmp_path, text))
    assert isinstance(panel, Table)
    assert {row[0]: row[1:] for row in panel.rows} == {
        "TCP CUBIC": ("–", "–", "–", "–"),
        "TCP BBR": ("7 of 10 arrived, median 5.00", "3 of 10 arrived", "–", "2.00"),
        "SCTP": ("4.00", "0 of 10 arrived", "–", "2.00"),
    }
    assert panel.caption == "Means. n = 10."


def test_a_paired_column_averages_the_ratio_in_each_repetition(tmp_path: Path) -> None:
    """BBR has twice SCTP's throughput in every repetition, however these differ."""
    sctp = steady(1e6, 0.5)
    found = summary(flows({("tcp-bbr", 0.0): [2 * it for it in sctp], ("sctp", 0.0): sctp[:8]}))
    text = (
        TABLE[: TABLE.index("row = [")]
        + """
row = [{ heads = ["BBR over SCTP"] }, { heads = ["with loss"], of = { loss = 0.01 } }]
column = [
  { head = "BBR", kpi = "throughput_bps", of = { protocol = "tcp-bbr" } },
  { head = "SCTP", kpi = "throughput_bps", of = { protocol = "sctp" } },
  { head = "paired", paired = ["BBR", "SCTP"] },
]
"""
    )
    ((panel,),) = (figure.draw(found) for figure in load(tmp_path, text))
    assert isinstance(panel, Table)
    assert panel.rows[0][3] == "2.00", "every pair says the same, so there is no interval"
    assert panel.rows[1][1:] == ("–", "–", "–")
    assert panel.caption == "Means. n = 8 to 10."


@pytest.mark.parametrize(
    ("of_series", "words"),
    [
        ({"A": [10, 10]}, "n = 10"),
        ({"A": [32], "B": [32, 32], "C": [20, 24]}, "n = 20 to 24 for C, 32 for the others"),
        ({name: [place] for place, name in enumerate("ABCDE", 1)}, "n = 1 to 5"),
    ],
)
def test_a_caption_says_on_how_many_repetitions_it_rests(of_series: dict[str, list[int]], words: str) -> None:
    """A value that the study prints has none."""
    pairs = [(series, n) for series, counts in of_series.items() for n in counts]
    columns: dict[str, list[str | int]] = {
        "protocol": [*(series for series, _ in pairs), "A"],
        "dash": [*("" for _ in pairs), PRINTED],
        "n": [*(n for _, n in pairs), "1.9 Mbit/s"],
    }
    assert repetitions(columns) == words


def test_a_table_without_a_number_is_not_drawn_and_single_gaps_are_dashes(tmp_path: Path) -> None:
    text = TABLE.replace(
        '{ head = "Printed", printed = ["1", "5"] },',
        '{ head = "Printed", kpi = "throughput_bps", of = { loss = 0.01 } },',
    )
    (figure,) = load(tmp_path, text)
    (panel,) = figure.draw(FOUND)
    assert isinstance(panel, Table)
    assert panel.rows[1][2:] == ("–", "–", "–"), "SCTP was not played with loss"
    with pytest.raises(NotMeasured):
        figure.draw(type(FOUND)("d00", {}))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'kind = "against"',
            'kind = "pie"',
            r"'18', panel 1: 'pie' is no kind of chart; kinds are against,",
        ),
        ('kind = "against"\n', "", r"figure '18', panel 1: the key 'kind' is missing; kinds are"),
        ('kpi = "throughput_bps"\n', "", r"figure '18', panel 1: the key 'kpi' is missing|panel 1.*'kpi'"),
        ("kpi =", "kpy =", r"figure '18', panel 1: .*unknown key 'kpy'; did you mean 'kpi'"),
        ('x = "loss"', "x = 3", r"figure '18', panel 1: x: 3 is not text in quotes"),
        ("title =", "titel =", r"figure '18': .*unknown key 'titel'; did you mean 'title'"),
        (
            '"Means."',
            '"{words}."',
            r"'18': '\{words\}' is no name of for_each or \[words\]; known are none",
        ),
        ('key = "18"', 'key = "18"\nfor_each = 3', r"figure '18': for_each is not a list of tables"),
        ("[[figure]]", "[[figures]]", r"figures.toml: unknown key 'figures'; figures.toml has \[words\] and"),
        ("[[figure]]", "words = 3\n[[figure]]", r"\[words\] is not a table of names"),
        ('key = "18"', "key = ", r"figures.toml: not valid TOML"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_figure_and_key(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence) as raised:
        load(tmp_path, AGAINST.replace(old, new, 1))
    assert "figures.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('["1", "5"]', '["1"]', "the column 'Printed' prints 1 values for 2 rows"),
        (
            'ratio = ["Mbit/s", "Printed"]',
            'ratio = ["Mbit/s", "Gbit/s"]',
            "'of it' names 'Gbit/s', which is no",
        ),
        ('head = "of it"', 'head = "less"', "two columns have the same head"),
        (', kpi = "throughput_bps"', "", "the column 'Mbit/s' needs one of kpi, printed, ratio, saved"),
        ('heads = ["Protocol"]\n', "", "a table needs heads, row and column"),
        ("saved =", "paired =", "the column 'less' pairs columns that have not one kpi"),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        load(tmp_path, TABLE.replace(old, new, 1))


def test_keys_are_unique_and_a_file_has_figures(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the key '18' stands twice"):
        load(tmp_path, AGAINST + AGAINST)
    with pytest.raises(UserError, match=r"there is no figure; add \[\[figure\]\] tables"):
        load(tmp_path, "")
    with pytest.raises(UserError, match="there is no such figures"):
        load_figures(study(tmp_path / "elsewhere"))
