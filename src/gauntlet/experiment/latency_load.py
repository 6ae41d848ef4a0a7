"""[load]: tests of latency under load by the names that Flent gives them, as flows of an experiment.

Greedy TCP in one or both directions, and beside it small datagrams both ways: what Flent measures as a round
trip are two one-way delays here, for both ends have the same clock. The datagrams begin 5 s before the load
and end 5 s after it, as Flent has it, so that each run shows the idle line too. The load is in the
background: reports answer what is asked of the datagrams.
"""

from typing import Any, Literal

from pydantic import Field

from gauntlet.experiment.judge import Judge
from gauntlet.experiment.quantities import Duration
from gauntlet.experiment.strict import Strict

Raw = dict[str, Any]

STREAMS = 4
"""Of each direction, where nobody says how many."""
_LEAD_S = 5
_START_S = 1
_PING = {"app": "cbr", "protocol": "udp", "packet": "64B", "rate": "2560bit/s"}
"""64 bytes each 200 ms."""

_CLASSES = {"be": "be", "bk": "cs1", "cs5": "cs5", "ef": "ef"}
"""Of RRUL's streams: name and DSCP."""
_PINGED = ("be", "bk", "ef")
"""Classes in which RRUL's datagrams go."""


class LoadSection(Strict):
    """[load]: one of the tests, in place of [workload] or [[flow]]."""

    test: Literal["rrul", "rrul_be", "tcp_nup", "tcp_ndown"]
    """Realtime response under load with four classes, with one class; TCP one way."""
    duration: Duration
    """For how long the load lasts."""
    streams: int = Field(default=STREAMS, ge=1, le=100)
    """TCP connections in each direction; of rrul always four."""
    voip: bool = False
    """Whether a call goes both ways beside it."""
    judge: Judge | None = None
    """What is asked of the datagrams beside it."""

    def flows(self) -> list[Raw]:
        """Its flows, as the file would have them."""
        streams = self._streams()
        classes = _PINGED if self.test == "rrul" else ("",)
        ping = _PING if self.judge is None else {**_PING, "judge": self.judge}
        beside = [self._beside("ping", of_class, ping) for of_class in classes]
        if self.voip:
            beside.append(self._beside("voip", "", {"app": "voip", "protocol": "udp"}))
        return [*streams, *(flow for both in beside for flow in both)]

    def _streams(self) -> list[Raw]:
        directions = {"tcp_nup": ("up",), "tcp_ndown": ("down",)}.get(self.test, ("up", "down"))
        marks = _CLASSES if self.test == "rrul" else {str(n + 1): "" for n in range(self.streams)}
        return [
            {
                "name": f"{direction}-{name}",
                "background": True,
                "app": "cbr",
                "rate": "max",
                "duration": f"{self.duration:.9f}s",
                "start": f"{_START_S + _LEAD_S}s",
                "direction": direction,
                **({"dscp": mark} if mark else {}),
            }
            for direction in directions
            for name, mark in marks.items()
        ]

    def _beside(self, name: str, of_class: str, flow: Raw) -> list[Raw]:
        mark = _CLASSES.get(of_class, "")
        return [
            {
                **flow,
                "name": "-".join(filter(None, (name, of_class, direction))),
                "duration": f"{self.duration + 2 * _LEAD_S:.9f}s",
                "start": f"{_START_S}s",
                "direction": direction,
                **({"dscp": mark} if mark else {}),
            }
            for direction in ("up", "down")
        ]
