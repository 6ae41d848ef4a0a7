"""What the guide to a command link says each security costs is what SPACE's committed summary has."""

from pathlib import Path

import pytest

from .test_space_page import COLD, MEDIAN, READ, SUMMARY, WARM, WRITE, mean

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "secure-my-command-link.md").read_text("utf-8")

ROWS = (
    ("SDLS, AES-GCM", "sdls-gcm-aws-lc", "messages"),
    ("QUIC by stream", "quic-stream", "messages"),
    ("QUIC by datagram", "quic-datagram", "messages"),
    ("TLS", "tls", "messages"),
    ("ResTP, protected", "restp", "messages"),
    ("SDLS again", "sdls-gcm-aws-lc", "messages-dtls"),
    ("QUIC by datagram again", "quic-datagram", "messages-dtls"),
    ("DTLS", "dtls", "messages-dtls"),
    ("SDLS again", "sdls-gcm-aws-lc", "messages-s2n"),
    ("QUIC by stream again", "quic-stream", "messages-s2n"),
    ("s2n-quic by stream", "s2n-stream", "messages-s2n"),
)
"""Rows of the guide's table, what they are of, and the bench of their messages."""


def provider(security: str) -> str:
    return "ring" if security == "restp" else "aws-lc"


def message(bench: str, security: str, rest: float) -> str:
    of = {"security": security, "provider": provider(security), "cipher": "aes-256-gcm"}
    both = (mean(bench, MEDIAN, payload_bytes=128, gap_s=rest, operation=it, **of) for it in (WRITE, READ))
    return ", ".join(f"{1e6 * it:.{0 if rest else 1}f}" for it in both)


def handshake(bench: str, security: str) -> str:
    of = {"security": security, "provider": provider(security), "cipher": "aes-256-gcm", "group": "x25519"}
    kind = {"certificates": "both ends", "resumption": "none"}
    signature = "-" if security == "restp" else "ecdsa-p256"
    ends = (mean(bench, f"{it}_median_s", signature=signature, **of, **kind) for it in ("client", "server"))
    return ", ".join(f"{1e6 * it:.0f}" for it in ends)


def attacks(bench: str, security: str) -> str:
    played = {
        it["attack"]: it["succeeds"]
        for it in SUMMARY.flows(bench).to_pylist()
        if (it["security"], it["certificates"], it["resumption"]) == (security, "both ends", "none")
    }
    assert len(played) == 8
    return f"{sum(played.values()):.0f} of 8"


def further(bench: str, kpi: str, security: str) -> str:
    return f"{mean(bench, kpi, security=security, provider=provider(security)) / 1e3:,.0f}"


def row(words: str, security: str, bench: str) -> str:
    """A line of the table. What stands there again has its messages alone."""
    times = [message(bench, security, rest) for rest in (COLD, WARM)]
    rest = ["", "", ""]
    if not words.endswith("again"):
        of = bench.removeprefix("messages")
        hands = {"sdls-gcm-aws-lc": "none", "quic-datagram": "as by stream"}
        rest = [
            hands.get(security) or handshake(f"handshakes{of}", security),
            f"{further(f'memory{of}', 'heap_a_further_link_with_c_bytes', security)} kB",
            attacks(f"attacks{of}", security),
        ]
    return f"| {' | '.join([words, *times, *rest, f'`{bench}`'])} |"


def resident() -> tuple[str, str]:
    """What a further link adds to the resident set, by s2n-quic and by quinn."""
    kpi = "rss_a_further_link_bytes"
    return further("memory-s2n", kpi, "s2n-stream"), further("memory", kpi, "quic-stream")


def sizes() -> str:
    def code(back_end: str, bench: str = "sizes") -> str:
        return f"{mean(bench, 'code_bytes', back_end=back_end) / 1e3:,.0f}"

    return (
        f"AWS-LC {code('aws-lc')} kB, *ring* {code('ring')}, RustCrypto {code('rustcrypto')}, "
        f"rustls {code('rustls')}, quinn {code('quinn')}, s2n-quic {code('s2n-quic', 'sizes-s2n')}, "
        f"ResTP {code('restp')}, SDLS {code('sdls')}"
    )


def armv7() -> str:
    return f"{mean('sizes-elsewhere', 'code_bytes', architecture='armv7') / 1e3:.0f}"


@pytest.mark.parametrize(("words", "security", "bench"), ROWS)
def test_the_table_has_what_was_measured_of_each_security(words: str, security: str, bench: str) -> None:
    assert f"\n{row(words, security, bench)}\n" in GUIDE


def test_the_table_has_no_other_rows() -> None:
    _, _, table = GUIDE.partition("| bench of the messages |\n")
    lines = table.partition("\n\n")[0].splitlines()[1:]
    assert len(lines) == len(ROWS)


def test_below_the_table_stands_what_was_measured_of_the_rest() -> None:
    quinn = handshake("handshakes-s2n", "quic-stream").replace(", ", " and ")
    assert f"in the last of which QUIC by quinn takes {quinn}." in GUIDE
    s2n, quinn = resident()
    assert f"adds {s2n} kB to its resident set, and {quinn} to quinn's" in GUIDE
    assert f": {sizes()}. Where" in GUIDE
    assert f"AWS-LC for armv7 takes {armv7()} kB" in GUIDE


def test_the_instructions_of_the_recipe_follow_from_its_runs() -> None:
    none, messages, links = 426_313_531, 471_052_671, 537_287_007
    assert f"told {none:,}, {messages:,} and {links:,} instructions" in GUIDE
    each = round((messages - none) / 1000, -2)
    assert f"({messages:,} - {none:,}) / 1,000 = {each:,.0f} at both ends" in GUIDE
    assert f"({links:,} - {none:,}) / 20 = {(links - none) / 20e6:.1f} million" in GUIDE
    counted = mean(
        "instructions", "instructions", security="quic-stream", provider="aws-lc", work="message-1024"
    )
    assert round(counted, -2) == each
