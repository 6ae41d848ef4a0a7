"""Client: has Chromium load a site, and tells when each file was asked for and there.

`python -m gauntlet.traffic.browser.client`, started by the player with a flow of the application `page`
"""

import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.experiment.pages import Page
from gauntlet.external.contract import OK, Exchange, Failed, Result, Task, Unsupported, now_ns, play
from gauntlet.traffic.browser import chromium, files
from gauntlet.traffic.browser.devtools import Browser

OVER = 1000
"""The server waits so many ports above its own for the word that the client is done."""

_PROTOCOLS = {"2": "h2", "3": "h3"}
"""What Chromium calls them."""
_SETTLES_S = 0.2
"""After the last file: acknowledgements."""
_LONGEST_S = 60.0
"""A visit that takes longer has failed, whatever the run would grant it."""
_SHORT = "/tmp"


class Load:
    """The files of a page as they come."""

    def __init__(self, page: Page, port: int, http: str) -> None:
        self.document = files.url(page[0], port)
        """Where the document is."""
        self._places = {files.url(it, port): place for place, it in enumerate(page)}
        self._http = http
        self._requests: dict[str, int] = {}
        self._came = dict.fromkeys(range(len(page)), 0)
        self.exchanges = [Exchange(it.name, it.size_bytes) for it in page]

    def take(self, name: str, told: Mapping[str, Any]) -> None:
        """Take in what the browser tells. Raises Failed where a file came in another way than asked."""
        if name == "Network.requestWillBeSent" and told["request"]["url"] in self._places:
            place = self._places[told["request"]["url"]]
            if self.exchanges[place].requested_ns is None:
                self._requests[told["requestId"]] = place
                self.exchanges[place].requested_ns = _ns(told["timestamp"])
            return
        place = self._requests.get(told.get("requestId", ""), -1)
        if place < 0:
            return
        exchange = self.exchanges[place]
        if name == "Network.responseReceived":
            response = told["response"]
            if response["status"] != 200 or response.get("protocol") != self._http:
                raise Failed(
                    f"{exchange.object} came with status {response['status']} over "
                    f"{response.get('protocol')}, and {self._http} was asked for"
                )
            exchange.first_byte_ns = _ns(told["timestamp"])
        elif name == "Network.dataReceived":
            self._came[place] += told["dataLength"]
        elif name == "Network.loadingFinished":
            exchange.completed_ns = _ns(told["timestamp"])
            exchange.outcome = OK
            if self._came[place] != exchange.size_bytes:
                raise Failed(f"{self._came[place]} of {exchange.size_bytes} bytes of {exchange.object} came")
        elif name == "Network.loadingFailed":
            raise Failed(f"{exchange.object} did not come: {told.get('errorText')}")

    @property
    def whole(self) -> bool:
        """Whether everything is there."""
        return all(it.completed_ns is not None for it in self.exchanges)

    def missing(self) -> str:
        """The first file that is not there."""
        return next(it.object for it in self.exchanges if it.completed_ns is None)


def _ns(timestamp_s: float) -> int:
    """Chromium's monotonic clock is that of the system."""
    return round(timestamp_s * 1e9)


def load(task: Task, result: Result) -> None:
    """Load the page. Raises Failed when a file of it does not come."""
    http = task.required("http")
    if http not in _PROTOCOLS:
        raise Unsupported(f'Chromium chooses its connections itself: http is "2" or "3", not "{http}"')
    page = files.page(task.required("objects"))
    loading = Load(page, task.port, _PROTOCOLS[http])
    # The folder of a run's program is too deep for a socket.
    with tempfile.TemporaryDirectory(
        prefix="gauntlet-browser-", dir=_SHORT, ignore_cleanup_errors=True
    ) as folder:
        command = chromium.command(
            Path(folder) / "profile",
            http=http,
            origins=(it.origin for it in page),
            address=task.server_address,
            port=task.port,
            authority=Path(task.ca).read_text(encoding="ascii"),
        )
        try:
            _visit(command, Path(folder), loading, task, result)
        finally:
            # Of what was never asked for there is nothing to tell.
            result.exchanges = [it for it in loading.exchanges if it.requested_ns is not None]
            socket.create_connection((task.server_address, task.port + OVER), timeout=5).close()


def _visit(command: Sequence[str], folder: Path, loading: Load, task: Task, result: Result) -> None:
    until_s = time.monotonic() + min(task.time_left_s / 2, _LONGEST_S)
    with Browser(command, folder) as browser:
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        browser.call("Network.enable", {}, session)
        result.started_ns = now_ns()
        browser.call("Page.navigate", {"url": loading.document}, session)
        for name, told in browser.events(until_s):
            loading.take(name, told)
            if loading.whole:
                break
        else:
            raise Failed(f"{loading.missing()} was not there when the time was over")
        result.established_ns = loading.exchanges[0].first_byte_ns
        result.finished_ns = now_ns()
        time.sleep(_SETTLES_S)


if __name__ == "__main__":
    play(load, chromium.version())
