"""Commands that --help and the documents show are commands that the program takes."""

import re
import shlex

import click
import pytest

from gauntlet.scenario import available

from .parsing import check_options, command_of, parse, walked
from .snippets import ROOT, Block, blocks, commands, spans

COMMANDS = dict(walked())
SCRIPTS = blocks("sh", "console")
SPANS = spans("gauntlet")


def examples(command: click.Command) -> list[list[str]]:
    """The commands under "Examples:" in a command's help, as words, without what is said beside them."""
    _, _, below = (command.help or "").replace("Example:", "Examples:").partition("Examples:\n")
    lines = re.sub(r"\\\n\s*", " ", below).splitlines()
    shown = [line.strip() for line in lines if line.strip().startswith("gauntlet ")]
    return [shlex.split(re.split(r"\s{3,}", line)[0])[1:] for line in shown]


@pytest.mark.parametrize("path", COMMANDS)
def test_examples_of_help_are_taken(path: str) -> None:
    shown = examples(COMMANDS[path])
    assert shown, "every command shows an example"
    for words in shown:
        parse(words)
        named = "gauntlet" if path == "gauntlet" else " ".join(["gauntlet", *words])
        assert named.startswith(path), "an example of another command"


def test_files_and_scenarios_of_examples_are_there() -> None:
    scenarios = {info.name for info in available()}
    for words in (words for command in COMMANDS.values() for words in examples(command)):
        command, rest = command_of(words)
        files = [word for word in rest if word.startswith("experiments/")]
        assert [file for file in files if not (ROOT / file).is_file()] == []
        if "name" in {parameter.name for parameter in command.params}:
            name = parse(words).params["name"]
            assert name in scenarios or name.startswith("own"), name


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: block.name)
def test_commands_of_documents_are_taken(block: Block) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for words in commands(block.text):
        if words[0] == "gauntlet":
            parse(words[1:])
        elif words[0] == "make":
            assert set(words[1:]) <= targets


@pytest.mark.parametrize(("document", "code"), SPANS)
def test_commands_within_sentences_are_there(document: str, code: str) -> None:
    check_options(shlex.split(code)[1:])


def test_experiments_that_documents_play_are_there() -> None:
    """Those of this folder; a document may tell how to write others."""
    played = [words for block in SCRIPTS for words in commands(block.text)]
    played += [shlex.split(code) for _, code in SPANS]
    files = {
        word
        for words in played
        if words[0] == "gauntlet"
        for word in words
        if word.startswith("experiments/")
    }
    toml = sorted(file for file in files if file.endswith(".toml"))
    assert len(toml) > 7
    assert [file for file in toml if not (ROOT / file).is_file()] == []


def test_there_is_something_to_check() -> None:
    shown = [words for block in SCRIPTS for words in commands(block.text) if words[0] == "gauntlet"]
    assert len(shown) > 25
    assert len(SPANS) > 20
    with pytest.raises(AssertionError, match="no command 'rnu'"):
        parse(["rnu", "own.toml"])
    with pytest.raises(click.NoSuchOption):
        parse(["run", "own.toml", "--wrokers", "2"])
    with pytest.raises(AssertionError, match="no option --wrokers"):
        check_options(["run", "--wrokers"])
