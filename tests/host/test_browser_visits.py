"""Visits by a real browser on this machine's kernel: captured whole, over the version that was asked for."""

from typing import Any

import numpy as np
import pytest

from gauntlet.attack.servers import nginx
from gauntlet.benches.traffic_browser import sites_of
from gauntlet.errors import UserError
from gauntlet.traffic.browser import chromium
from gauntlet.traffic.sequences import QUIC_HANDSHAKE, TCP_CONTROL
from gauntlet.traffic.visits import Line, Visits, played

CLEAN = Line(delay="20ms", jitter="0ms", loss="0%")


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(("version", "first"), [("h2-browser", TCP_CONTROL), ("h3-browser", QUIC_HANDSHAKE)])
def test_chromium_loads_a_site_and_the_observer_sees_it(version: str, first: int) -> None:
    try:
        chromium.program()
        nginx.program()
    except UserError as error:
        pytest.skip(str(error))
    site = sites_of(1, 1)
    seen = played(Visits(site, 1, 2, version, 1, CLEAN))
    plain = played(Visits(site, 1, 2, version.removesuffix("-browser"), 1, CLEAN))
    assert (len(seen), seen.visit.tolist()) == (2, [0, 1])
    assert seen.kind[seen.starts[:-1]].tolist() == [first, first]
    assert seen.time_ns[seen.starts[:-1]].tolist() == [0, 0]

    def inwards(visits: Any, place: int) -> int:
        own = visits.signed_bytes[visits.starts[place] : visits.starts[place + 1]]
        return int(-own[own < 0].sum())

    for place in range(2):
        assert inwards(seen, place) == pytest.approx(inwards(plain, place), rel=0.25)
    assert np.all(seen.lengths > 20)
