"""Expressions of a ledger: what they come to, and where what is wrong with them stands."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.studies.arithmetic import Evaluator, Extreme, Series, averaged, ended
from gauntlet.studies.expression import MOST_CHARACTERS, MOST_DEPTH, BadExpression, parse

TERMS = {"a": Series({1: 6.0, 2: 8.0}), "b": Series({2: 2.0, 3: 4.0})}
FUNCTIONS = {"twice": lambda number: 2 * number, "length": len}


def value(text: str) -> object:
    """What an expression comes to."""
    found = Evaluator(TERMS, FUNCTIONS).value(parse(text))
    return dict(found.values) if isinstance(found, Series) else found


@pytest.mark.parametrize(
    ("text", "comes_to"),
    [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("8 - 4 - 2", 2.0),
        ("8 / 4 / 2", 1.0),
        ("-2 * -3", 6.0),
        ("1.5e3 - .5", 1499.5),
        ('twice(twice(2)) + length("four")', 12.0),
        ("a", {1: 6.0, 2: 8.0}),
        ("a / b", {2: 4.0}),
        ("10 - a", {1: 4.0, 2: 2.0}),
        ("2 * least(a) - greatest(b)", Extreme(8.0, 2)),
    ],
)
def test_what_it_comes_to(text: str, comes_to: object) -> None:
    assert value(text) == comes_to


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "character 1: a number, a term, a function or a bracket is expected, and the expression ends"),
        (
            "a +",
            "character 4: a number, a term, a function or a bracket is expected, and",
        ),
        ("a + * b", "character 5: a number, a term, a function or a bracket is expected, not '*'"),
        ("(a + b", "character 7: the bracket of character 1 is not closed by ')'"),
        ("ratio(a b)", "character 9: the bracket of character 6 is not closed by ')'"),
        ("a b", "character 3: 'b' stands where nothing or an operator can"),
        ("a ** b", "character 4: a number, a term, a function or a bracket is expected, not '*'"),
        ("a.real", "character 2: '.' cannot stand in an expression"),
        ("a[0]", "character 2: '[' cannot stand in an expression"),
        ("a + 'x'", "character 5: ''' cannot stand in an expression"),
        ("1" * (MOST_CHARACTERS + 1), f"character {MOST_CHARACTERS + 1}: an expression has at most"),
        ("(" * 50 + "1" + ")" * 50, f"there are more than {MOST_DEPTH} brackets within brackets"),
        ("-" * 900 + "1", f"there are more than {MOST_DEPTH} brackets within brackets"),
        ("1 / (2 - 2)", "character 3: this divides by 0"),
        ('a + "x"', "character 3: '+' cannot be done with a text"),
        ("ratio(a, b) * 2", "character 13: '*' cannot be done with what ratio() gives"),
        ("ratio(a, 2)", "character 1: ratio() takes two terms"),
        ("least(3)", "character 1: least() takes one term"),
        ("twice(a)", "character 1: twice() takes numbers and texts, and no terms"),
    ],
)
def test_what_is_wrong_and_where(text: str, words: str) -> None:
    with pytest.raises(BadExpression) as refused:
        value(text)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os").system("touch ran")',
        'eval("__import__(1)")',
        '__import__("os")',
        "abs(1)",
        "(lambda: 1)()",
        "a.values",
        "[1][0]",
        "(a := 1)",
    ],
)
def test_python_is_no_expression(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((BadExpression, UserError)):
        value(text)
    assert list(tmp_path.iterdir()) == []


def test_an_average_of_series_has_the_repetitions_of_all() -> None:
    found = averaged([TERMS["a"], TERMS["b"], Series({1: 1.0, 2: 5.0})])
    assert isinstance(found, Series)
    assert dict(found.values) == {2: 5.0}


def test_the_least_of_the_repetitions_says_of_how_many_it_is() -> None:
    """The worst of 20 runs is exact and rests on 20; a formula rests on none."""
    runs = {"a": Series({run: float(run) for run in range(1, 21)})}
    found, _ = ended(Evaluator(runs, FUNCTIONS).value(parse("1000 * least(a)")), 0.05)
    assert (found.value, found.low, found.high, found.n) == (1000.0, 1000.0, 1000.0, 20)
    formula, _ = ended(Evaluator({}, FUNCTIONS).value(parse("2 * 3")), 0.05)
    assert (formula.value, formula.n) == (6.0, 0)
