"""The study D3.5: its experiments, and how each is cut down for a first look."""

from collections.abc import Mapping, Sequence
from functools import partial

from gauntlet.experiment.runspec import Factor
from gauntlet.studies.d35.figures import FIGURES
from gauntlet.studies.d35.measures import FETCH_TIME, THROUGHPUT_WITH_SETUP
from gauntlet.studies.d35.notes import NOTES
from gauntlet.studies.d35.values import VALUES
from gauntlet.studies.folders import known
from gauntlet.studies.model import Experiment, Quick, Study

HERE = known()["d35"]
_experiment = partial(Experiment, HERE)
_ENDS: Mapping[str, Sequence[Factor]] = {"channel_delay_s": [0.025, 0.15]}
"""The channel delays at the ends of the study's range, which a first look keeps."""
_KEPLER = Quick(3, {**_ENDS, "page": ["kepler"]})


def _streams(name: str, quick: Quick | None = None) -> Experiment:
    return _experiment(f"streams-{name}", quick, measures=(THROUGHPUT_WITH_SETUP,))


def _files(name: str, quick: Quick | None = None) -> Experiment:
    return _experiment(name, quick, measures=(FETCH_TIME,))


EXPERIMENTS = (
    _streams("delay", Quick(3, _ENDS)),
    _streams("aioquic", Quick(3, _ENDS)),
    _streams("s2n", Quick(3, _ENDS)),
    _streams("clear", Quick(3, {"channel_delay_s": [0.15]})),
    _streams("loss", Quick(3, {"channel_delay_s": [0.15], "loss": [0.005, 0.05]})),
    _streams("loss-aioquic"),
    _streams("loss-s2n"),
    _streams("size"),
    _streams("size-aioquic"),
    _streams("size-s2n"),
    _experiment("messages-fresh", Quick(3, _ENDS)),
    _experiment("messages-fresh-aioquic"),
    _experiment("messages-fresh-s2n"),
    _experiment("messages-loss"),
    _experiment("messages-loss-aioquic"),
    _experiment("messages-loss-s2n"),
    _experiment("messages-kept"),
    _experiment("messages-kept-s2n"),
    _experiment("messages-resumed"),
    _experiment("messages-datagrams"),
    _files("files", Quick(3, _ENDS)),
    _files(
        "files-loss", Quick(3, {"channel_delay_s": [0.15], "size_bytes": [500_000], "loss": [0.005, 0.05]})
    ),
    _files("files-size"),
    _files("files-beyond", Quick(3, {"channel_delay_s": [0.15], "size_bytes": [4_000_000]})),
    _experiment("pages-http", _KEPLER),
    _experiment("pages-http-loss"),
    _experiment("pages-https", _KEPLER),
    _experiment("pages-https-loss"),
    _experiment("pages-http3", _KEPLER),
    _experiment("pages-http3-loss"),
    _experiment("pages-kept", _KEPLER),
    _experiment("pages-http2", _KEPLER),
    _experiment("pages-http3-kept", _KEPLER),
)

STUDY = Study(
    HERE,
    key="d35",
    title="Secure transport and application protocols for railways (AB4Rail D3.5)",
    citation="R. Giuliano, F. Mazzenga, F. Vatalaro, A. Vizzarri: Analysis of options for transport and "
    "application protocols and of their secure versions. AB4Rail, Deliverable D3.5, version 0.1, 22 July "
    "2022 (Shift2Rail, grant 101014517).",
    experiments=EXPERIMENTS,
    figures=FIGURES,
    headlines=(
        "bbr-and-quic-better-in-loss",
        "congestion-control-matters",
        "lsquic-best",
        "setup-is-most",
        "quic-best-1kb",
        "http3-saves-kepler",
        "https-as-http",
        "table-11-signalling",
    ),
    notes=NOTES,
    values=VALUES,
)
