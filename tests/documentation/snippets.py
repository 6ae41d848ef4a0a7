"""What the documents show: blocks of code by language, and the commands in them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "kernel" / "README.md"]

_FENCE = re.compile(r"^```(\w*) *([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OPERATORS = {"&&", "||", "|", ";", "&", ">", ">>", "<"}
_ASSIGNMENT = re.compile(r"[A-Z_]+=.*")


@dataclass(frozen=True)
class Block:
    """A fenced block: its document, line, language, what else stands behind the language, and its text."""

    document: Path
    line: int
    language: str
    mark: str
    text: str

    @property
    def name(self) -> str:
        """Where it is, for people."""
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """All blocks in these languages."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for fence in _FENCE.finditer(text):
            line = text.count("\n", 0, fence.start()) + 1
            found.append(Block(document, line, fence[1], fence[2], fence[3]))
    return [block for block in found if block.language in languages]


def commands(script: str) -> Iterator[list[str]]:
    """The commands of a script, each as its words; what follows an operator of the shell is another one."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.wordchars += "%:$@,{}[]"
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in _OPERATORS:
                words.append(word)
                continue
            while words and _ASSIGNMENT.fullmatch(words[0]):
                words.pop(0)
            if words:
                yield words
            words = []


def spans(word: str) -> list[tuple[str, str]]:
    """Code within sentences that begins with this word, and the document that has it."""
    pattern = re.compile(rf"(?<!`)`({word} [^`\n]+)`(?!`)")
    found = []
    for document in DOCUMENTS:
        prose = _FENCE.sub("", document.read_text(encoding="utf-8"))
        found += [(str(document.relative_to(ROOT)), text) for text in pattern.findall(prose)]
    return found
