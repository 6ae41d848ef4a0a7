"""Visits to sites, played in virtual time over one line, and what an observer beside the browser saw."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gauntlet import campaign
from gauntlet.errors import RunError
from gauntlet.experiment import parse_experiment
from gauntlet.results.reader import Results
from gauntlet.traffic import capture
from gauntlet.traffic.sequences import Sequences, joined

_APART_S = 20
"""From one visit of a session to the next: longer than any takes over this line."""

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


VERSIONS = {
    "h2": Version("2", "tls-cubic"),
    "h3": Version("3", "quic-quinn-cubic"),
    "h3-padded": Version("3", "quic-quinn-cubic", padded=True),
}
"""HTTP/2 over TLS over TCP, and HTTP/3 over QUIC, with the same congestion control and by one TLS library."""


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
    """One of `VERSIONS`."""
    seed: int
    """Sessions with one seed have the same content and delays under every version."""
    line: Line = Line()

    @property
    def count(self) -> int:
        """How many visits there are."""
        return len(self.sites) * self.sessions * self.visits

    def experiment(self) -> str:
        """The experiment file, a run a site and session."""
        how = VERSIONS[self.version]
        flows = "".join(
            f'[[flow]]\napp = "page"\nhttp = "{how.http}"\nstart = "{1 + place * _APART_S}s"\n'
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
[record]
messages = false
sockets = false
packets = "headers"
{flows}"""


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
        campaign.play(experiment, out, capture=True, cached=False, workers=workers)
        return kept(Results.open(out))


def kept(results: Results) -> list[Sequences]:
    """What was seen of the visits of a results folder, by run; runs that are not trusted are left out."""
    return [capture.visits(run) for run in results.runs() if run.trusted]


def load(folder: Path) -> Sequences:
    """The visits of an experiment of one's own, from the results of `gauntlet run --capture`.

    Raises UserError when there are no results, RunError when none of their visits can be used.
    """
    found: Sequence[Sequences] = [it for it in kept(Results.open(folder)) if len(it)]
    if not found:
        raise RunError(f"{folder} has no visit to a site that is whole and trusted, with its capture.")
    return joined(found)
