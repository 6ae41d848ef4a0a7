"""Repetition in figures.toml: a table with `for_each` stands for one table a row, with its words put in.

    [[figure]]
    for_each = [{ n = "17", protocol = "tcp-cubic" }, { n = "18", protocol = "tcp-bbr" }]
    key = "{n}"

A list of lists of such tables stands for every combination, the first list the slowest. A text that is
nothing but `{name}` becomes the value itself, whatever it is; within a text the value's words are put in. The
table [words] of the file gives names that hold everywhere.
"""

import itertools
import re
from collections.abc import Mapping
from typing import Any

from gauntlet.errors import UserError

FOR_EACH = "for_each"
_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def repeated(given: Any, words: Mapping[str, Any], where: str) -> Any:
    """`given` (what TOML has) with every `for_each` carried out and every name of `words` put in.

    Raises UserError, beginning with `where`, for a name that is not known and a `for_each` that is no list of
    tables.
    """
    if isinstance(given, str):
        return _put_in(given, words, where)
    if isinstance(given, list):
        return [item for entry in given for item in _items(entry, words, where)]
    if isinstance(given, dict):
        return {key: repeated(value, words, where) for key, value in given.items()}
    return given


def _items(entry: Any, words: Mapping[str, Any], where: str) -> list[Any]:
    """What an entry of a list stands for."""
    if not isinstance(entry, dict) or FOR_EACH not in entry:
        return [repeated(entry, words, where)]
    given = repeated(entry[FOR_EACH], words, where)
    lists = given if _all(given, list) and given else [given]
    if not all(_all(rows, dict) for rows in lists):
        raise UserError(
            f"{where}: for_each is not a list of tables; write [{{ name = value }}, ...], or a list of such "
            "lists for every combination."
        )
    rest = {key: value for key, value in entry.items() if key != FOR_EACH}
    found = []
    for rows in itertools.product(*lists):
        row = {name: value for part in rows for name, value in part.items()}
        found.append(repeated(rest, {**words, **row}, where))
    return found


def _all(given: Any, kind: type) -> bool:
    return isinstance(given, list) and all(isinstance(it, kind) for it in given)


def _put_in(text: str, words: Mapping[str, Any], where: str) -> Any:
    for name in _NAME.findall(text):
        if name not in words:
            known = ", ".join(words) or "none"
            raise UserError(f"{where}: '{{{name}}}' is no name of for_each or [words]; known are {known}.")
    whole = _NAME.fullmatch(text)
    if whole:
        return words[whole[1]]
    return _NAME.sub(lambda found: str(words[found[1]]), text)
