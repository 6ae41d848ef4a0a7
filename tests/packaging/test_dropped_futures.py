"""Libraries with calls that wait: each says what becomes of its work when its future is dropped."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"
SAYS = re.compile(r"\b[Cc]ancel safe\b|\bdropped\b|\bOnce polled\b")


def waiting(crate: str) -> Iterator[tuple[str, str]]:
    """Each public call that waits, as file and name, and the documentation above it."""
    for path in sorted((CRATES / crate / "src").rglob("*.rs")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if not (call := re.match(r"\s*pub async fn (\w+)", line)):
                continue
            above: list[str] = []
            for before in reversed(lines[:number]):
                if not before.lstrip().startswith(("///", "//", "#[")):
                    break
                above.insert(0, before.strip())
            said = " ".join(text.removeprefix("/// ") for text in above if text.startswith("///"))
            yield f"{path.relative_to(CRATES)}: {call[1]}", said


CALLS = [call for crate in ("restp", "rasta") for call in waiting(crate)]


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[call for call, _ in CALLS])
def test_a_call_that_waits_says_what_a_dropped_future_leaves(call: str, said: str) -> None:
    assert SAYS.search(said), f"{call} does not say it"


def test_both_libraries_have_calls_that_wait() -> None:
    assert {call.partition("/")[0] for call, _ in CALLS} == {"restp", "rasta"}
