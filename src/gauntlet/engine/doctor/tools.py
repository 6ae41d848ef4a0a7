"""Programs of others that are of use and that no run depends on."""

import shutil

from gauntlet.engine.doctor.check import Check


def tshark(found: str | None = None) -> Check:
    """Wireshark's reader of captures."""
    return _tool("tshark", "reads the packet captures that a run can keep", found)


def chromium(found: str | None = None) -> Check:
    """A browser without a window."""
    return _tool("chromium", "runs the tests of the report in a browser", found)


def _tool(name: str, use: str, found: str | None) -> Check:
    place = shutil.which(name) if found is None else found
    if place:
        return Check(name, True, place, required=False)
    return Check(name, False, f"Not found; it {use}.", f"Type `sudo apt-get install {name}`.", required=False)
