"""Client: headless Chromium loads a site (`gauntlet.traffic.browser`), on the host ground.

`python -m gauntlet.external.browser_client`
"""

from gauntlet.external.contract import play
from gauntlet.traffic.browser.chromium import version
from gauntlet.traffic.browser.client import load

if __name__ == "__main__":
    play(load, version())
