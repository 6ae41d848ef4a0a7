"""What only some flows need is an extra: one sentence asks for it by name before anything is played."""

import importlib.metadata
import importlib.util
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet import external
from gauntlet.engine import guest
from gauntlet.engine.virtual import Virtual
from gauntlet.errors import RunError, UserError
from gauntlet.executor.planning import plans
from gauntlet.experiment import RunSpec, expand, parse_experiment
from gauntlet.experiment.external import EXTRAS
from gauntlet.rehearsal import rehearse

ROOT = Path(__file__).parents[2]
NO_ENGINE = Virtual(guest.Machine(Path("/no/kernel"), Path("/no/guest")))
STREAM = 'app = "bulk"\nsize = "1MB"\n'
FILE = 'app = "ftp"\nsize = "1MB"\n'
OWN = """
[stack.mine]
client = ["{python}", "-m", "gauntlet.external.aioquic_client"]
server = ["{python}", "-m", "gauntlet.external.aioquic_server"]
"""

Remove = Callable[[str], None]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Remove:
    """Have a package look as if it were not installed."""
    look = importlib.util.find_spec

    def remove(module: str) -> None:
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name == module else look(name, *rest)
        )

    return remove


def runs(protocol: str, workload: str, further: str = "") -> list[RunSpec]:
    """The runs of an experiment over a constant link."""
    text = (
        '[experiment]\nname = "own"\nrepetitions = 1\n[scenario]\nname = "constant"\nrate = "5.2Mbit/s"\n'
        f'[matrix]\nprotocols = ["{protocol}"]\n[workload]\n{workload}{further}'
    )
    return expand(parse_experiment(text, "own.toml", Path()))


def tried(specs: list[RunSpec]) -> None:
    """Rehearse these runs where no guest can boot."""
    rehearse(list(zip(specs, plans(specs), strict=True)), NO_ENGINE, "own.toml")


@pytest.mark.parametrize(
    ("asked", "module", "words"),
    [
        (("quic-aioquic-cubic", STREAM), "aioquic", ["'quic-aioquic-cubic'", "aioquic", "net[quic]"]),
        (("tcp-cubic", FILE), "pyftpdlib", ["'ftp'", "pyftpdlib", "net[ftp]"]),
        (("tcp-cubic", FILE.replace("ftp", "ftps")), "OpenSSL", ["'ftps'", "pyOpenSSL", "net[ftp]"]),
        (("mine", STREAM, OWN), "aioquic", ["'mine'", "aioquic", "net[quic]"]),
    ],
)
def test_a_missing_extra_is_one_sentence_before_any_guest_boots(
    without: Remove, asked: tuple[str, ...], module: str, words: list[str]
) -> None:
    without(module)
    with pytest.raises(UserError) as refused:
        tried(runs(*asked))
    sentence = str(refused.value)
    assert sentence.startswith("own.toml: ")
    assert re.search(r'; type `pip install "gauntlet-net\[\w+\]"`\.$', sentence)
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(("protocol", "workload"), [("tcp-cubic", STREAM), ("quic-quinn-cubic", STREAM)])
def test_what_needs_no_extra_does_not_ask_for_one(without: Remove, protocol: str, workload: str) -> None:
    without("aioquic")
    # It gets as far as the kernel, which is not there.
    with pytest.raises(RunError, match="/no/kernel"):
        tried(runs(protocol, workload))


def test_plain_ftp_does_not_need_tls(without: Remove) -> None:
    without("OpenSSL")
    with pytest.raises(RunError, match="/no/kernel"):
        tried(runs("tcp-cubic", FILE))


def test_each_extra_is_in_pyproject_with_its_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = {
        name: {re.split(r"\W*[<>=]", requirement)[0].lower() for requirement in requirements}
        for name, requirements in project["optional-dependencies"].items()
    }
    for extra in EXTRAS:
        for package in extra.packages.values():
            assert package.lower() in required[extra.name]
            assert importlib.metadata.version(package), "the development environment has all extras"
    every = {extra.name for extra in EXTRAS} | {"cluster", "space"}
    assert required["all"] == {f"gauntlet-net[{','.join(sorted(every, reverse=True))}]"}


def test_the_programs_of_each_extra_are_there_and_import_it() -> None:
    folder = Path(external.__file__).parent
    for extra in EXTRAS:
        for program in extra.programs:
            text = _with_own_imports(folder, program)
            for module in extra.packages:
                assert re.search(rf"^(?:import|from) {module}\b", text, re.M), f"{program} imports {module}"


def _with_own_imports(folder: Path, program: str) -> str:
    """The text of a program and of the modules beside it that it imports."""
    text = (folder / f"{program}.py").read_text()
    beside = re.findall(r"^from gauntlet\.external(?:\.(\w+))? import (.*)$", text, re.M)
    for module, names in beside:
        for name in [module] if module else re.findall(r"\w+", names):
            text += (folder / f"{name}.py").read_text()
    return text
