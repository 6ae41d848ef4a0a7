"""Expressions of a ledger: text to a tree. They are never Python, and whoever writes one can do no harm.

    sum     = product { ("+" | "-") product }
    product = signed { ("*" | "/") signed }
    signed  = "-" signed | atom
    atom    = number | "text" | name | name "(" [ sum { "," sum } ] ")" | "(" sum ")"

Names are the rule's terms, calls are functions (`gauntlet.studies.arithmetic`, and the study's own).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 1000
MOST_DEPTH = 40
"""Beyond, nobody could read it, and following it would take Python's stack."""


class BadExpression(ValueError):
    """What is wrong with an expression, and where: a sentence that names the character, from 1."""

    def __init__(self, at: int, words: str) -> None:
        super().__init__(f"character {at + 1}: {words}")


@dataclass(frozen=True)
class Number:
    """A number as it stands there."""

    value: float
    at: int


@dataclass(frozen=True)
class Text:
    """A text, which only functions take."""

    value: str
    at: int


@dataclass(frozen=True)
class Name:
    """A term."""

    name: str
    at: int


@dataclass(frozen=True)
class Call:
    """A function of values."""

    name: str
    values: "tuple[Tree, ...]"
    at: int


@dataclass(frozen=True)
class Operation:
    """Two values and +, -, * or / between them."""

    sign: str
    left: "Tree"
    right: "Tree"
    at: int


Tree = Number | Text | Name | Call | Operation

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|\"(?P<text>[^\"]*)\"|(?P<sign>[-+*/(),]))",
    re.ASCII,
)


@dataclass(frozen=True)
class _Token:
    kind: str | None
    text: str
    at: int


def parse(text: str) -> Tree:
    """The tree of an expression. Raises BadExpression."""
    if len(text) > MOST_CHARACTERS:
        raise BadExpression(MOST_CHARACTERS, f"an expression has at most {MOST_CHARACTERS} characters")
    parser = _Parser(text)
    tree = parser.sum(0)
    if parser.next.kind != "end":
        raise BadExpression(parser.next.at, f"'{parser.next.text}' stands where nothing or an operator can")
    return tree


def parts(tree: Tree) -> Iterator[Tree]:
    """A tree and all trees in it."""
    yield tree
    within: tuple[Tree, ...] = ()
    if isinstance(tree, Call):
        within = tree.values
    elif isinstance(tree, Operation):
        within = (tree.left, tree.right)
    for part in within:
        yield from parts(part)


class _Parser:
    """Recursive descent, one token ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.next = next(self._tokens)

    def _take(self) -> _Token:
        taken = self.next
        if taken.kind != "end":
            self.next = next(self._tokens)
        return taken

    def sum(self, depth: int) -> Tree:
        tree = self._product(depth)
        while self.next.text in ("+", "-") and self.next.kind == "sign":
            sign = self._take()
            tree = Operation(sign.text, tree, self._product(depth), sign.at)
        return tree

    def _product(self, depth: int) -> Tree:
        tree = self._signed(depth)
        while self.next.text in ("*", "/") and self.next.kind == "sign":
            sign = self._take()
            tree = Operation(sign.text, tree, self._signed(depth), sign.at)
        return tree

    def _signed(self, depth: int) -> Tree:
        if depth > MOST_DEPTH:
            raise BadExpression(self.next.at, f"there are more than {MOST_DEPTH} brackets within brackets")
        if self.next.kind == "sign" and self.next.text == "-":
            sign = self._take()
            return Operation("-", Number(0.0, sign.at), self._signed(depth + 1), sign.at)
        return self._atom(depth)

    def _atom(self, depth: int) -> Tree:
        token = self._take()
        match token.kind:
            case "number":
                return Number(float(token.text), token.at)
            case "text":
                return Text(token.text, token.at)
            case "name":
                return self._call(token, depth) if self.next.text == "(" else Name(token.text, token.at)
        if token.kind == "sign" and token.text == "(":
            tree = self.sum(depth + 1)
            self._close(token)
            return tree
        there = f"not '{token.text}'" if token.text else "and the expression ends"
        raise BadExpression(token.at, f"a number, a term, a function or a bracket is expected, {there}")

    def _call(self, name: _Token, depth: int) -> Call:
        opened = self._take()
        values: list[Tree] = []
        while not (self.next.kind == "sign" and self.next.text == ")"):
            values.append(self.sum(depth + 1))
            if not (self.next.kind == "sign" and self.next.text == ","):
                break
            self._take()
        self._close(opened)
        return Call(name.text, tuple(values), name.at)

    def _close(self, opened: _Token) -> None:
        if not (self.next.kind == "sign" and self.next.text == ")"):
            raise BadExpression(
                self.next.at, f"the bracket of character {opened.at + 1} is not closed by ')'"
            )
        self._take()


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            rest = text[at:]
            at += len(rest) - len(rest.lstrip())
            raise BadExpression(at, f"'{text[at]}' cannot stand in an expression")
        yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        at = found.end()
    yield _Token("end", "", len(text))
