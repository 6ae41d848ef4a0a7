"""The page in a real browser: every figure is drawn, and picking a run changes the one that shows it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gauntlet import report
from tests.report import factory
from tests.report.factory import Campaign

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

PROBE = Path(__file__).with_name("probe.js")


@pytest.mark.skipif(BROWSER is None, reason="no chromium is installed")
def test_figures_are_drawn_and_runs_can_be_picked(tmp_path: Path) -> None:
    campaign = Campaign(duration_s=8, delays_s=(0.025,), repetitions=2)
    page = report.build(factory.build(tmp_path / "r", tmp_path / "s", campaign), tmp_path / "page.html")
    before, end, after = page.read_text().rpartition("</body>")
    page.write_text(f"{before}<script>{PROBE.read_text()}</script>{end}{after}")
    flags = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
    command = [str(BROWSER), *flags.split(), "--disable-sync", "--no-first-run", "--window-size=1280,900"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=30000", "--dump-dom"]
    told = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=180, check=True)
    body = re.search(r"<body[^>]*>", told.stdout)
    assert body is not None
    seen = dict(re.findall(r'data-(\w+)="([^"]*)"', body.group(0)))
    assert "failure" not in seen
    assert seen["probed"] == "yes"
    assert seen["figures"] == seen["charts"]
    assert int(seen["all"]) > int(seen["one"]) > 0
    assert seen["picked"] == "1UDP"
    assert seen["table"] == "kpi-throughput_bps"
    assert int(seen["overflow"]) <= 0, "the page scrolls sideways at 1280 pixels"
