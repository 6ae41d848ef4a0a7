"""What commands share in writing: consoles, JSON, opening a report, the progress of a campaign."""

import json
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from gauntlet.campaign import Event


def console(*, stderr: bool = False) -> "Console":
    """A console for people; results go to stdout, progress and warnings to stderr."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def print_json(data: Any) -> None:
    """Machine-readable output: one JSON document on stdout."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def open_in_browser(path: Path) -> None:
    """Show a file in the user's browser."""
    webbrowser.open(path.resolve().as_uri())


class CampaignProgress:
    """One line for a whole campaign: runs done, rate, remaining time, failures. It is fed with events."""

    def __init__(self, bar: "Progress", task: "TaskID", planned: int, present: int = 0) -> None:
        self._bar = bar
        self._task = task
        self._planned = planned
        self._present = present
        self._running: dict[str, float] = {}
        self._ended = 0
        self._failed = 0
        self._began = time.monotonic()

    def rename(self, title: str) -> None:
        """Say what the line is about now."""
        self._bar.update(self._task, description=title)

    def __call__(self, event: "Event") -> None:
        """Take in what happened."""
        self._bar.start()
        if event.kind in ("finished", "failed"):
            self._running.pop(event.run, None)
            self._ended += 1
            self._failed += event.kind == "failed"
        else:
            self._running[event.run] = event.fraction
        minutes = (time.monotonic() - self._began) / 60
        self._bar.update(
            self._task,
            completed=self._present + self._ended + sum(self._running.values()),
            rate=f"{self._ended / minutes:.3g} runs/min" if self._ended and minutes > 0 else "starting",
            count=f"{self._present + self._ended}/{self._planned}",
            failures=f"[red]{self._failed} failed" if self._failed else "",
        )


@contextmanager
def campaign_progress(title: str, planned: int, present: int, *, hidden: bool) -> Iterator[CampaignProgress]:
    """The progress line of a campaign on stderr, of which `present` runs are done; `hidden` shows nothing.

    It is there from the first event on: what is refused before anything is played has its sentence alone.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}"),
    )
    bar = Progress(*columns, console=console(stderr=True), disable=hidden)
    task = bar.add_task(
        title,
        total=planned,
        completed=present,
        count=f"{present}/{planned}",
        rate="starting",
        failures="",
    )
    try:
        yield CampaignProgress(bar, task, planned, present)
    finally:
        if bar.live.is_started:
            bar.stop()
