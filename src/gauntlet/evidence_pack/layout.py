"""Where things lie in an evidence pack (docs/formats/evidence-pack.md), and what of a run is in it."""

from gauntlet.results import layout

MANIFEST = "manifest.json"
PAGE = "index.html"
SUMS = "SHA256SUMS"
"""The hash of every other file, as `sha256sum` writes and checks it."""
CLAIMS = "claims"
EXPERIMENTS = "experiments"

RUN_FILES = (
    layout.SPEC,
    layout.PLAN,
    layout.KEY,
    layout.RECORD,
    layout.CERTIFICATE,
    layout.MESSAGES,
    layout.SAFETY,
    layout.IN_PATH,
)
"""What a verdict follows from, and what the run is: everything else of a run is left out."""

NEEDED = (layout.SPEC, layout.PLAN, layout.RECORD)
"""Of every run, also of one that failed."""
NEEDED_OF_ENDED = (layout.KEY, layout.CERTIFICATE, layout.MESSAGES, layout.SAFETY)
"""Of a run that came to its end."""

_WHY_LEFT_OUT = {
    layout.SOCKETS: "samples of the sockets: what they carried, not what became of a message",
    layout.MEASURES: "numbers of what was carried, made from the record",
    layout.TRACE: "the link that the run rode: the experiment file and its seed make it again",
    layout.EXCHANGES: "objects of other applications",
    layout.CAPTURE: "packets: the certificate was made from them while the run was played",
    layout.KEYS: "secrets of the sessions, for decrypting captured packets",
    layout.QLOG: "events of QUIC connections",
}
"""Files of a run that no verdict needs."""
_OTHERWISE = "no verdict needs it"


def why_left_out(file: str) -> str:
    """Why a file of a run is not in a pack."""
    return _WHY_LEFT_OUT.get(file, _OTHERWISE)


def experiment_folder(name: str) -> str:
    """Where the results of an experiment lie; it is a results folder by itself."""
    return f"{EXPERIMENTS}/{name}"


def run_file(experiment: str, run: str, name: str) -> str:
    """Where a file of a run lies."""
    return f"{experiment_folder(experiment)}/runs/{run}/{name}"


def claim_file(claim: str) -> str:
    """Where a claim lies with all its trials."""
    return f"{CLAIMS}/{claim}.json"
