"""Visits to sites over one line, and what an observer beside the browser saw: by the laboratory's own client
in virtual time, or by a real browser on the host ground.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gauntlet import campaign
from gauntlet.attack.servers import nginx
from gauntlet.errors import RunError
from gauntlet.executor import engines
from gauntlet.experiment import parse_experiment
from gauntlet.experiment.external import PYTHON
from gauntlet.results.reader import Results
from gauntlet.traffic import browser, capture
from gauntlet.traffic.browser import chromium
from gauntlet.traffic.sequences import Sequences, joined

_APART_S = 20
"""From one visit of a session to the next: longer than any takes over this line."""
_BROWSER_APART_S = 7
"""The same in real time, where each second takes one; what is still under way is told apart by its port."""

_SITES_AT_A_TIME = 5
"""Whose captures lie on the disk at once: a hundred runs are about 300 MB."""

_LEAST_SHARE = 0.98
"""Of visits that have to be whole and trusted, or nothing is said: what lacks would not lack at random."""


@dataclass(frozen=True)
class Version:
    """How sites are loaded."""

    http: str
    protocol: str
    padded: bool = False
    """Whether QUIC pads its packets."""
    browser: bool = False
    """Whether Chromium loads them, from nginx, in real time (`gauntlet.traffic.browser`)."""


VERSIONS = {
    "h2": Version("2", "tls-cubic"),
    "h3": Version("3", "quic-quinn-cubic"),
    "h3-padded": Version("3", "quic-quinn-cubic", padded=True),
}
"""HTTP/2 over TLS over TCP, and HTTP/3 over QUIC, with the same congestion control and by one TLS library."""

BROWSERS = {
    "h2-browser": Version("2", "browser", browser=True),
    "h3-browser": Version("3", "browser", browser=True),
}
"""The same by a browser and its server, which bring congestion control and TLS of their own."""

_VERSIONS = {**VERSIONS, **BROWSERS}


@dataclass(frozen=True)
class Line:
    """The line of the browser: a constant rate and queue, and a delay that each session draws."""

    rate: str = "20Mbit/s"
    delay: str = "20ms±10ms"
    jitter: str = "1ms"
    loss: str = "0.1%"


@dataclass(frozen=True)
class Visits:
    """What is visited: each site in so many sessions, with so many visits in each."""

    sites: tuple[int, ...]
    sessions: int
    visits: int
    version: str
    """One of `VERSIONS` or `BROWSERS`."""
    seed: int
    """Sessions with one seed have the same content and delays under every version."""
    line: Line = Line()

    @property
    def count(self) -> int:
        """How many visits there are."""
        return len(self.sites) * self.sessions * self.visits

    def experiment(self) -> str:
        """The experiment file, a run a site and session."""
        how = _VERSIONS[self.version]
        apart_s = _BROWSER_APART_S if how.browser else _APART_S
        flows = "".join(
            f'[[flow]]\napp = "page"\nhttp = "{how.http}"\nstart = "{1 + place * apart_s}s"\n'
            + ("pad_to_mtu = true\n" if how.padded else "")
            for place in range(self.visits)
        )
        pages = ", ".join(f'"site-{site}"' for site in self.sites)
        return f"""
[experiment]
name = "visits-{self.version}"
seed = {self.seed}
repetitions = {self.sessions}
[scenario]
name = "constant"
rate = "{self.line.rate}"
[link]
channel_delay = "{self.line.delay}"
jitter = "{self.line.jitter}"
loss = "{self.line.loss}"
[matrix]
protocols = ["{how.protocol}"]
page = [{pages}]
{_programs() if how.browser else ""}
[record]
messages = false
sockets = false
packets = "headers"
{flows}"""


def _programs() -> str:
    """The section of the experiment that says what carries a browser's visits."""
    parameters = {"chromium": str(chromium.program()), "nginx": str(nginx.program())}
    told = ", ".join(f"{name} = {json.dumps(value)}" for name, value in parameters.items())
    ends = "\n".join(
        f"{role} = {json.dumps([PYTHON, '-B', '-P', '-m', f'{browser.__name__}.{role}'])}"
        for role in ("client", "server")
    )
    return f"[stack.browser]\n{ends}\nparameters = {{ {told} }}"


def played(visits: Visits, *, workers: int | None = None) -> Sequences:
    """Play visits and return what was seen of them.

    Raises RunError when more than a few of them failed or are not trusted.
    """
    found = []
    for begin in range(0, len(visits.sites), _SITES_AT_A_TIME):
        some = visits.sites[begin : begin + _SITES_AT_A_TIME]
        found += _played(replace(visits, sites=some), workers)
    all_of_them = joined(found)
    if len(all_of_them) < _LEAST_SHARE * visits.count:
        raise RunError(
            f"Only {len(all_of_them)} of {visits.count} visits over {visits.version} are whole and trusted; "
            "nothing can be said of sites from those that are left."
        )
    return all_of_them


def _played(visits: Visits, workers: int | None) -> list[Sequences]:
    experiment = parse_experiment(visits.experiment(), "the visits", Path())
    with tempfile.TemporaryDirectory(prefix="gauntlet-visits-") as folder:
        out = Path(folder) / "results"
        # Captures would fill the user's cache of runs, and are read once.
        by_browser = _VERSIONS[visits.version].browser
        engine = engines.installed("host" if by_browser else "virtual")
        campaign.play(experiment, out, capture=True, cached=False, workers=workers, engine=engine)
        return kept(Results.open(out), untrusted=by_browser)


def kept(results: Results, *, untrusted: bool = False) -> list[Sequences]:
    """What was seen of the visits of a results folder, by run; runs that are not trusted are left out, but in
    real time, where a packet that is some milliseconds late contradicts a run and tells no site.
    """
    return [capture.visits(run) for run in results.runs() if run.trusted or (untrusted and run.ok)]


def load(folder: Path) -> Sequences:
    """The visits of an experiment of one's own, from the results of `gauntlet run --capture`.

    Raises UserError when there are no results, RunError when none of their visits can be used.
    """
    found: Sequence[Sequences] = [it for it in kept(Results.open(folder)) if len(it)]
    if not found:
        raise RunError(f"{folder} has no visit to a site that is whole and trusted, with its capture.")
    return joined(found)
