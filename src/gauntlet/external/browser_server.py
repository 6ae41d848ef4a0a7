"""Server: nginx serves a site to a browser (`gauntlet.traffic.browser`), on the host ground.

`python -m gauntlet.external.browser_server`
"""

import signal
import sys

from gauntlet.external.contract import play
from gauntlet.traffic.browser.server import serve


def _asked_to_end(*_: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _asked_to_end)
    play(serve, "nginx")
