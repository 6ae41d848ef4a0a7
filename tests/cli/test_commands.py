"""Commands that need no guest: help, scenarios, kernel path, and that starting is cheap."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gauntlet as package
from gauntlet.cli import main
from gauntlet.scenario import load_scenario, read_trace

from .conftest import Gauntlet


def test_every_command_has_help_with_an_example(gauntlet: Gauntlet) -> None:
    paths = [[name] for name in main.commands]
    paths += [["scenario", name] for name in ("list", "show", "plot", "export", "import", "fit")]
    paths += [["kernel", name] for name in ("build", "path")]
    for path in paths:
        result = gauntlet(*path, "--help")
        assert result.exit_code == 0
        assert "Example" in result.stdout
        assert f"gauntlet {' '.join(path)}" in result.stdout


def test_version(gauntlet: Gauntlet) -> None:
    assert gauntlet("--version").stdout.strip().endswith(package.__version__)


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pyarrow", "pydantic", "rich", "vl_convert", "altair"]
    code = f"import sys, gauntlet.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_scenarios_are_listed(gauntlet: Gauntlet) -> None:
    assert "hsr" in gauntlet("scenario", "list").stdout
    listed = json.loads(gauntlet("scenario", "list", "--json").stdout)
    assert {"hsr", "constant"} <= {info["name"] for info in listed}


def test_a_scenario_is_shown(gauntlet: Gauntlet) -> None:
    shown = gauntlet("scenario", "show", "constant", "-p", "rate=5.2Mbit/s", "-p", "delay=25ms").stdout
    assert "5.2 Mbit/s" in shown
    assert "25 ms" in shown
    line = gauntlet("scenario", "show", "hsr", "-p", "bandwidth=5MHz").stdout
    assert "31 (5 urban" in line
    data = json.loads(gauntlet("scenario", "show", "hsr", "--json").stdout)
    assert data["line"]["cells"] == 31


def test_parameters_and_seed_reach_the_scenario(gauntlet: Gauntlet) -> None:
    shown = json.loads(
        gauntlet("scenario", "show", "hsr", "-p", "ip_scale=0.5", "--seed", "3", "--json").stdout
    )
    assert (shown["seed"], shown["params"]["ip_scale"]) == (3, 0.5)
    assert shown["max_rate_bps"] == load_scenario("hsr", {"ip_scale": 0.5}, 3).max_rate_bps


def test_a_scenario_is_drawn(gauntlet: Gauntlet) -> None:
    result = gauntlet("scenario", "plot", "hsr", "line.svg", "--start", "25min", "--duration", "10min")
    assert result.stdout == "line.svg\n"
    assert "<svg" in Path("line.svg").read_text()


def test_a_stretch_is_exported_as_it_was(gauntlet: Gauntlet) -> None:
    result = gauntlet(
        "scenario", "export", "hsr", "link.csv", "--start", "25min", "--duration", "10min", "--seed", "3"
    )
    assert result.stdout == "link.csv\n"
    exported = read_trace(Path("link.csv"))
    assert exported.table.equals(load_scenario("hsr", None, 3).trace.window(1500, 600).table)


@pytest.mark.parametrize(("kind", "files"), [("mahimahi", ["link.up", "link.down"]), ("tc", ["link"])])
def test_other_exports(gauntlet: Gauntlet, kind: str, files: list[str]) -> None:
    result = gauntlet("scenario", "export", "hsr", "link", "--format", kind, "--duration", "1min")
    assert result.stdout.split() == files
    assert all(Path(file).stat().st_size > 0 for file in files)


def test_the_kernel_that_is_named_is_found(gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("linux").write_text("")
    monkeypatch.setenv("GAUNTLET_KERNEL", "linux")
    assert gauntlet("kernel", "path").stdout == f"{Path('linux').resolve()}\n"


def test_a_reader_that_leaves_is_no_crash() -> None:
    command = [
        sys.executable,
        "-c",
        "from gauntlet.cli import main; main()",
        "scenario",
        "show",
        "hsr",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 1
