"""What the specification holds for machines: golden vectors, reasons to drop, sizes of headers."""

import re
from ipaddress import ip_address
from pathlib import Path

from restp_decoder import PseudoHeader

_TEXT = (Path(__file__).parents[2] / "docs" / "restp-spec.md").read_text(encoding="utf-8")


def _between(start: str, end: str) -> str:
    return _TEXT.split(start, 1)[1].split(end, 1)[0]


_VECTORS = re.findall(
    r"^\*\*(\w+)\*\*: (.*)\n\n```\n([0-9a-f\s]+)```$",
    _between("<!-- vectors: begin -->", "<!-- vectors: end -->"),
    re.MULTILINE,
)

VECTORS: dict[str, bytes] = {name: bytes.fromhex(octets) for name, _, octets in _VECTORS}
"""Golden vectors of chapter 20, by name."""

CAPTIONS: dict[str, str] = {name: caption for name, caption, _ in _VECTORS}
"""What the document says of each vector."""

DROPS: dict[str, str] = {
    name: dropped[1]
    for name, caption, _ in _VECTORS
    if (dropped := re.search(r"; dropped: `(\w+)`$", caption))
}
"""Reason to drop, of the vectors that must be dropped."""

PSEUDO_HEADERS: dict[str, PseudoHeader] = {
    name: PseudoHeader(ip_address(outer[1]), ip_address(outer[2]), int(outer[3]))
    for name, caption, _ in _VECTORS
    if (outer := re.search(r"; from `(.+)` to `(.+)`, protocol (\d+)$", caption))
}
"""Outer addresses, of the vectors that travelled directly over IP."""

REASONS: set[str] = {
    name
    for row in re.findall(r"^\| ([a-z_, ]+) \| ", _between("### 3.12", "## 4."), re.MULTILINE)
    for name in row.split(", ")
    if "_" in name or name == "contradiction"
}
"""Names of reasons in the table of 3.12."""

ROW_WORDS: list[int] = [
    int(words)
    for words in re.findall(r"^\| .* \| (\d+)(?: \(\d+\))? \| \d+", _between("### 19.3", "## 20."), re.M)
]
"""Words of a header by row of the table in 19.3."""
