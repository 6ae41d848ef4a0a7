"""The study D3.4: its experiments, and how each is cut down for a first look."""

from functools import partial

from gauntlet.studies.d34.figures import FIGURES
from gauntlet.studies.d34.figures.coexistence import ARRIVAL_RUNS
from gauntlet.studies.d34.figures.traces import PROTOCOL_RUNS, UDP_RUNS
from gauntlet.studies.d34.measures import PACKETS_BEFORE_LOSS, RATE_WHILE_ON
from gauntlet.studies.d34.notes import NOTES
from gauntlet.studies.d34.values import VALUES
from gauntlet.studies.folders import known
from gauntlet.studies.model import Experiment, Quick, Study

HERE = known()["d34"]
_experiment = partial(Experiment, HERE)
_SHORT_S, _LONG_S = 0.025, 0.15
"""The channel delays at the ends of the study's range, which a first look keeps."""


_ENDS = Quick(3, {"channel_delay_s": [_SHORT_S, _LONG_S]})
_FILES = Quick(3, {"channel_delay_s": [_SHORT_S, _LONG_S], "loss": [0.0, 0.001], "size_bytes": [1_000_000]})

EXPERIMENTS = (
    _experiment("overflow", Quick(3), measures=(PACKETS_BEFORE_LOSS,)),
    _experiment(
        "cbr-hsr",
        _ENDS,
        examples=(*PROTOCOL_RUNS, *UDP_RUNS),
        measures=(PACKETS_BEFORE_LOSS,),
    ),
    _experiment("cbr-regional", _ENDS),
    _experiment("cbr-metro-a"),
    _experiment("cbr-hsr-5mhz"),
    _experiment("cbr-hsr-20mhz"),
    _experiment("files-hsr", _FILES),
    _experiment("files-regional", _FILES),
    _experiment("files-metro-a", _FILES),
    _experiment("vbr-low-hsr", _ENDS, measures=(RATE_WHILE_ON,)),
    _experiment("vbr-low-regional", measures=(RATE_WHILE_ON,)),
    _experiment("vbr-low-metro-a", measures=(RATE_WHILE_ON,)),
    _experiment("vbr-high-hsr", _ENDS),
    _experiment("vbr-high-regional"),
    _experiment("vbr-high-metro-a"),
    _experiment("coexist-hsr", Quick(3, {"channel_delay_s": [0.05]}), examples=ARRIVAL_RUNS),
    _experiment("coexist-regional"),
    _experiment("coexist-tunnels-hsr"),
    _experiment("coexist-pairs"),
    _experiment("beyond-hsr", Quick(3, {"channel_delay_s": [_LONG_S]})),
    _experiment("sctp-streams-hsr"),
    _experiment("sctp-buffers-hsr", Quick(3, {"channel_delay_s": [_LONG_S]})),
    _experiment("video-hsr", _ENDS),
)

STUDY = Study(
    HERE,
    key="d34",
    title="Transport protocols for railway applications (AB4Rail D3.4)",
    citation="R. Giuliano, F. Vatalaro, F. Mazzenga, A. Vizzarri: Identification of transport protocol for "
    "railway applications. AB4Rail, Deliverable D3.4, version 0.1, 29 April 2022 (Shift2Rail, grant "
    "101014517).",
    experiments=EXPERIMENTS,
    figures=FIGURES,
    headlines=(
        "bbr-insensitive-hsr",
        "cubic-suffers-hsr",
        "files-big-cubic-lossy",
        "sctp-preserves-latency",
        "sctp-latency-by-congestion-control",
        "coexist-sctp-behind",
        "table-9-critical-data",
        "table-9-signalling",
    ),
    notes=NOTES,
    values=VALUES,
)
