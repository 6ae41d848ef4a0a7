"""What `gauntlet space bench` prints: names of what was measured, in 80 columns."""

from pathlib import Path
from typing import Any

from gauntlet.cli.space_bench_tables import published, securities
from gauntlet.space import bench

TABLES = bench.load(Path(__file__).parent / "example-bench")["tables"]

KEYS = {"mutual": True, "resumption": "none", "group": "x25519", "cipher": "aes-256-gcm"}


def messages(security: str, *gaps: int, provider: str = "aws-lc", took: float = 1.25) -> list[dict[str, Any]]:
    """The receiver takes twice as long."""
    of = {"security": security, "provider": provider, "cipher": "aes-256-gcm", "payload_octets": 128}
    return [
        {**of, "gap_ms": gap, "operation": operation, "median_us": took * (1 + gap) * times}
        for gap in gaps
        for operation, times in (("apply", 1), ("process", 2))
    ]


def tables(cells: list[dict[str, Any]], **more: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {"messages": cells, "handshakes": [], "memory": [], "attacks": [], **more}


def row(found: dict[str, list[dict[str, Any]]], security: str) -> str:
    (line,) = (it for it in securities(found) if it.split(" ")[0] == security)
    return " ".join(line.split())


def test_all_lines_fit_a_terminal() -> None:
    lines = [*securities(TABLES), *published(TABLES["published"])]
    assert max(map(len, lines)) <= 80
    assert len(lines) > 69


def test_each_security_of_the_example_has_a_row() -> None:
    assert row(TABLES, "tls") == "tls aws-lc 0.4, 0.5 16, 23 213, 209 14 0 of 8"
    assert row(TABLES, "sdls-cmac") == "sdls-cmac rustcrypto 1.3, 1.2 13, 12 none 4 of 8"
    measured = {it["security"] for it in TABLES["messages"]}
    heads = [line.split(" ")[0] for line in securities(TABLES)]
    assert measured <= set(heads)


def test_a_rest_is_one_that_all_had() -> None:
    found = tables([*messages("tls", 0, 10), *messages("sdls-gcm-aws-lc", 0, 10, 2000)])
    assert "after 10 ms" in next(securities(found))
    assert row(found, "sdls-gcm-aws-lc") == "sdls-gcm-aws-lc aws-lc 1.2, 2.5 14, 28 none"
    found = tables([*messages("tls", 0, 2000), *messages("sdls-gcm-aws-lc", 0, 2000)])
    assert "after 2 s" in next(securities(found))


def test_the_row_is_of_the_usual_provider_and_datagrams_have_the_handshake_of_streams() -> None:
    hands = [
        {**KEYS, "security": "s2n-stream", "provider": provider, "signature": signature, **ends}
        for provider, signature, ends in (
            ("ring", "ecdsa-p256", {"ground_median_us": 1, "space_median_us": 2}),
            ("aws-lc", "ed25519", {"ground_median_us": 3, "space_median_us": 4}),
            ("aws-lc", "ecdsa-p256", {"ground_median_us": 332, "space_median_us": 333}),
        )
    ]
    memory = [
        {
            "security": "s2n-datagram",
            "provider": "aws-lc",
            "heap_a_link": 5,
            "heap_a_further_link_with_c": 6.7e6,
        }
    ]
    played = [
        {"security": "s2n-datagram", "mutual": mutual, "resumption": resumption, "outcome": outcome}
        for mutual, resumption, outcome in (
            (True, "none", "fails"), (True, "none", "succeeds"),
            (False, "none", "succeeds"), (True, "0-rtt", "succeeds"),
        )
    ]  # fmt: skip
    cells = [*messages("s2n-datagram", 0, 2000, provider="ring", took=9), *messages("s2n-datagram", 0, 2000)]
    found = tables(cells, handshakes=hands, memory=memory, attacks=played)
    assert row(found, "s2n-datagram") == "s2n-datagram aws-lc 1.2, 2.5 2501, 5002 332, 333 6700 1 of 2"
    assert max(map(len, securities(found))) <= 80


def test_numbers_of_the_study_stand_under_what_was_measured() -> None:
    lines = list(published(TABLES["published"]))
    for at, line in enumerate(lines):
        if "OpenSSL" in line and "in the place of" in line:
            assert lines[at - 1].startswith("quic-stream, aws-lc, ")
    assert sum("in the place of table-4.1" in line for line in lines) == 5
    at = lines.index(" in the place of table-4.1/AES-256-GCM/OpenSSL")
    assert lines[at + 4].split() == ["1024", "us", "24", "55.9", "5", "1.26", "1.2", "-", "1.33"]
