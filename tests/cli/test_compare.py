"""`compare`: what it prints of two results, and what it refuses."""

import json
from pathlib import Path

import pytest

from tests.report.flows import Constructed, Did, build

from .conftest import Gauntlet


@pytest.fixture
def both(tmp_path: Path) -> tuple[str, str]:
    """Before and after: TCP BBR takes a fifth less, SCTP as long."""

    def made(name: str, share: float) -> str:
        flows = Constructed(
            ("tcp-bbr", "sctp"),
            lambda protocol, _place, repetition, _loss: Did(
                (10.0 + repetition / 5) * (share if protocol == "tcp-bbr" else 1.0)
            ),
        )
        return str(build(tmp_path / name, tmp_path / f"{name}-scratch", flows))

    return made("before", 1.0), made("after", 0.8)


def test_both_stand_side_by_side(gauntlet: Gauntlet, both: tuple[str, str]) -> None:
    shown = gauntlet("compare", *both)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("B against A over 2 lines: better in 1, the same in 1.\n")
    assert "What differs: nothing that the results know of." in shown.stdout
    (row,) = [it for it in shown.stdout.splitlines() if it.strip().startswith("TCP BBR")]
    # The numbers, without where they are from: A, B, B / A, pairs.
    assert row.split()[-5:] == ["11.1", "8.88", "0.800", "10", "better"]


def test_paths_are_neither_cut_nor_broken(gauntlet: Gauntlet, tmp_path: Path) -> None:
    made = Constructed(("sctp",), lambda *_: Did(10.0), repetitions=1)
    folders = [str(build(tmp_path / f"{name}{'x' * 90}", tmp_path / name, made)) for name in ("a", "b")]
    lines = [it.rstrip() for it in gauntlet("compare", *folders).stdout.splitlines()]
    assert {f"A: {folders[0]}", f"B: {folders[1]}"} <= set(lines)


def test_json_has_every_line(gauntlet: Gauntlet, both: tuple[str, str]) -> None:
    told = json.loads(gauntlet("compare", *both, "--json").stdout)
    assert {it["protocol"][0]: it["verdict"] for it in told["lines"]} == {
        "TCP BBR": "better",
        "SCTP": "the same",
    }
    assert (told["a"], told["b"], told["changes"]) == (*both, [])


def test_what_cannot_be_compared_is_refused(
    gauntlet: Gauntlet, both: tuple[str, str], tmp_path: Path
) -> None:
    for arguments, words in (
        ((*both, "--pair", "tcp-bbr"), "write OLD=NEW"),
        ((*both, "--pair", "sctp=udp"), "there is no udp in these results"),
        ((both[0], str(tmp_path / "absent")), "is not a results folder"),
        ((both[0], both[0]), "say with --pair OLD=NEW which of its protocols stand for each other"),
    ):
        refused = gauntlet("compare", *arguments)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert words in refused.stderr
