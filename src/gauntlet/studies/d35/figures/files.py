"""Download times of files: Figures 17 to 21 (FTP), 22 to 26 (FTPS), and the same files as one stream."""

from collections.abc import Mapping, Sequence

from gauntlet.studies.charts import Mark
from gauntlet.studies.d35.figures.compared import compared, each_protocol
from gauntlet.studies.d35.figures.times import (
    LONG_S,
    SHORT_S,
    against_delay,
    against_loss,
    against_size,
    distribution,
    words,
)
from gauntlet.studies.d35.measures import FETCH_TIME
from gauntlet.studies.model import Figure, Panel, Printed
from gauntlet.studies.select import Selection
from gauntlet.studies.summary import Summary

FILES, LOSS, SIZE, BEYOND = "files", "files-loss", "files-size", "files-beyond"
SMALL_BYTES, LARGE_BYTES = 500_000, 4_000_000
_SIZES = ((SMALL_BYTES, "0.5 MB"), (LARGE_BYTES, "4 MB"))
_FIRST = {"ftp": 17, "ftps": 22}
"""Number of each application's first figure; the other four follow in the same order."""

PRINTED_S: Mapping[tuple[str, int], Mapping[tuple[float, float], tuple[float, ...]]] = {
    ("ftp", SMALL_BYTES): {(LONG_S, 0.0): (4.0, 3.9), (LONG_S, 0.01): (4.7,)},
    ("ftp", LARGE_BYTES): {(LONG_S, 0.0): (17.0,), (LONG_S, 0.01): (30.0,)},
    ("ftps", SMALL_BYTES): {(LONG_S, 0.0): (4.0, 4.6), (LONG_S, 0.01): (4.7,)},
    ("ftps", LARGE_BYTES): {(LONG_S, 0.0): (17.0,), (LONG_S, 0.01): (30.0, 32.0)},
}
"""Mean times (s) that sections 6.2.3 and 6.2.4 print, by application and size, then by delay (s) and loss;
some are printed with two values.
"""
PRINTED_RANGES_S: Mapping[int, tuple[float, float]] = {SMALL_BYTES: (2.5, 3.0), LARGE_BYTES: (17.0, 27.0)}
"""FTP at 25 ms over all losses (section 6.2.3, Figure 18)."""


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    every = [
        figure
        for app in _FIRST
        for figure in (
            _of_delay(app),
            _of_loss(app),
            _of_size(app),
            _distributed(app, SHORT_S, 3),
            _distributed(app, LONG_S, 4),
        )
    ]
    return (*every, _as_one_stream())


def _key(app: str, place: int) -> str:
    return str(_FIRST[app] + place)


def _section(app: str) -> str:
    return "section 6.2.3" if app == "ftp" else "section 6.2.4"


def _printed(app: str, *sizes_bytes: int) -> tuple[Printed, ...]:
    return tuple(
        Printed(
            f"{size}, {words(delay_s)}, loss {100 * loss:g} %",
            " and ".join(f"{value:g} s" for value in values),
            _section(app),
        )
        for size_bytes, size in _SIZES
        if size_bytes in sizes_bytes
        for (delay_s, loss), values in PRINTED_S[app, size_bytes].items()
    )


def _of_delay(app: str) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        panels = []
        for size_bytes, size in _SIZES:
            stars = [
                Mark(delay_s, value, label=f"{value:g} s")
                for (delay_s, _), values in PRINTED_S[app, size_bytes].items()
                for value in values
            ]
            of = {"app": app, "size_bytes": size_bytes}
            panels.append(against_delay(summary, [FILES], FETCH_TIME, of, size, printed=stars))
        return panels

    return Figure(
        _key(app, 0),
        f"{app.upper()}: download time against channel delay",
        "From the end of the log-in on, as the study's values must be meant. Stars: printed values.",
        (FILES,),
        draw,
        _printed(app, SMALL_BYTES, LARGE_BYTES),
    )


def _of_loss(app: str) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            against_loss(summary, [FILES, LOSS], FETCH_TIME, {"app": app, "size_bytes": size_bytes}, size)
            for size_bytes, size in _SIZES
        ]

    ranges = tuple(
        Printed(f"{size}, 25 ms, all losses", "{:g} to {:g} s".format(*PRINTED_RANGES_S[size_bytes]))
        for size_bytes, size in _SIZES
        if app == "ftp"
    )
    return Figure(
        _key(app, 1),
        f"{app.upper()}: download time against loss",
        "Losses in both directions.",
        (FILES, LOSS),
        draw,
        ranges,
    )


def _of_size(app: str) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        stars = [
            Mark(LARGE_BYTES, value, facet=delay_s, label=f"{value:g} s")
            for (delay_s, _), values in PRINTED_S[app, LARGE_BYTES].items()
            for value in values
        ]
        return [against_size(summary, [FILES, SIZE], FETCH_TIME, {"app": app}, printed=stars)]

    return Figure(
        _key(app, 2),
        f"{app.upper()}: download time against file size",
        "Stars: printed values.",
        (FILES, SIZE),
        draw,
        _printed(app, LARGE_BYTES),
    )


def _distributed(app: str, delay_s: float, place: int) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        of: Selection = {"app": app, "channel_delay_s": delay_s}
        return [
            distribution(summary, [FILES], FETCH_TIME, {**of, "size_bytes": size_bytes}, size)
            for size_bytes, size in _SIZES
        ]

    first = {"ftp": "3 s", "ftps": "3.5 s"}[app]
    return Figure(
        _key(app, place),
        f"{app.upper()}: distribution of download times at {words(delay_s)}",
        "One value a stretch.",
        (FILES,),
        draw,
        (Printed("0.5 MB, the shortest", first, "section 6.2.4"),) if delay_s == LONG_S else (),
    )


def _as_one_stream() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        ways = [
            way for app in _FIRST for way in each_protocol(summary, FILES, app.upper(), {"app": app})
        ] + each_protocol(summary, BEYOND, "one stream")
        return [compared(summary, ways, {"size_bytes": size_bytes}, size) for size_bytes, size in _SIZES]

    return Figure(
        "one-stream",
        "A file as one stream, without a protocol of files",
        "What FTP's conversation costs, and whether QUIC or ResTP does better once it is gone. All on the "
        "same stretches; section 6.2.4 expects no difference between QUIC and TCP with BBR and TLS.",
        (FILES, BEYOND),
        draw,
        beyond=True,
    )
