"""The study RESTP: its experiments, and how each is cut down for a first look."""

from functools import partial

from gauntlet.studies.folders import known
from gauntlet.studies.model import Experiment, Quick, Study
from gauntlet.studies.restp.figures import FIGURES
from gauntlet.studies.restp.figures.satellite import RUNS as SATELLITE_RUNS
from gauntlet.studies.restp.figures.validation import HANDSHAKE_RUNS
from gauntlet.studies.restp.figures.voice import CLEAN_RUNS
from gauntlet.studies.restp.measures import OUTAGE_MEASURES, PAGE_TIME, RATE_FROM_START
from gauntlet.studies.restp.notes import NOTES
from gauntlet.studies.restp.values import VALUES

HERE = known()["restp"]
_experiment = partial(Experiment, HERE)


EXPERIMENTS = (
    _experiment("files", Quick(3, {"size_bytes": [250_000]})),
    _experiment("files-loss", Quick(3, {"loss": [0.01, 0.1]})),
    _experiment("files-timers"),
    _experiment("web", Quick(3, {"channel_delay_s": [0.1, 0.5]}), measures=(PAGE_TIME,)),
    _experiment("web-drawn", measures=(PAGE_TIME,)),
    _experiment("paths", Quick(3, {"channel_delay_s": [0.02, 0.1]}), measures=(PAGE_TIME,)),
    _experiment(
        "satellite",
        Quick(3, {"protocol": ["tcp-reno", "restp-outage-arq"]}),
        examples=tuple(SATELLITE_RUNS),
        measures=OUTAGE_MEASURES,
    ),
    _experiment("voice", Quick(3)),
    _experiment("voice-tcp"),
    _experiment("voice-clean", Quick(3), examples=tuple(CLEAN_RUNS)),
    _experiment("cbr-loss", Quick(3, {"loss": [0.0, 0.1]})),
    _experiment("bulk-loss", Quick(3, {"loss": [0.01, 0.1]})),
    _experiment(
        "handshake",
        Quick(3, {"channel_delay_s": [0.1]}),
        examples=tuple(HANDSHAKE_RUNS),
        measures=(RATE_FROM_START,),
    ),
    _experiment("hsr-greedy"),
    _experiment("hsr-files", Quick(3, {"loss": [0.0, 0.01]})),
    _experiment("hsr-pages", Quick(3), measures=(PAGE_TIME,)),
    _experiment("hsr-messages"),
    _experiment("hsr-messages-fresh"),
    _experiment("cause-alone"),
    _experiment("cause-shared"),
)

STUDY = Study(
    HERE,
    key="restp",
    title="The Resilient Transport Protocol (Nguyen 2021)",
    citation="T. A. N. Nguyen: ResTP, a configurable and adaptable transport-layer protocol for resilient "
    "networks. Dissertation, University of Kansas, 2021.",
    experiments=EXPERIMENTS,
    figures=FIGURES,
    headlines=(
        "syn-opt",
        "syn-3wh",
        "paths-opt-below",
        "restp-back-sooner",
        "tcp-survives-one",
        "call-par-repairs",
        "harq-halves",
        "newreno-like-tcp",
    ),
    notes=NOTES,
    values=VALUES,
)
