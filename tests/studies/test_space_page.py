"""What SPACE's page, notes and captions say in numbers is what the committed summary has."""

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from gauntlet.studies import ledger, study
from gauntlet.studies.summary import VERDICTS, Summary

STUDY = study("space")
SUMMARY = Summary.load(STUDY.summary)
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "studies" / "space.md").read_text(encoding="utf-8")
GUIDE = (DOCS / "guide" / "secure-my-command-link.md").read_text(encoding="utf-8")
NOTES = {claim.id: claim.note for claim in ledger.load(STUDY.ledger)}
DECIDED = json.loads((STUDY.summary / VERDICTS).read_text(encoding="utf-8"))["claims"]
RAW = tomllib.loads((STUDY.home / "figures.toml").read_text(encoding="utf-8"))
RULES = {it["id"]: it["decide"] for it in tomllib.loads(STUDY.ledger.read_text(encoding="utf-8"))["claim"]}
BOTH = ("messages", "frames")
SDLS = {"security": "sdls-gcm-aws-lc"}
STREAM = {"security": "quic-stream", "provider": "aws-lc", "cipher": "aes-256-gcm"}
DATAGRAM = {"security": "quic-datagram"}
WRITE, READ = "apply", "process"
WARM, COLD = 0.0, 2.0
MEDIAN = "message_median_s"
COUNTS = ("client-12-messages", "server-18-messages", "client-25-of-sdls", "server-37-of-sdls")
"""How many messages a handshake takes as long as, by the study's method."""


def blocks(bench: str, kpi: str, **of: Any) -> Any:
    """One condition, repetition by repetition."""
    table = SUMMARY.flows(bench)
    for name, value in of.items():
        table = table.filter(pc.equal(table[name], value))
    assert table.num_rows == len(set(table["repetition"].to_pylist())) > 0, of
    return table.sort_by("repetition")[kpi].to_numpy()


def mean(bench: str, kpi: str, **of: Any) -> float:
    """The mean over repetitions of one condition."""
    return float(np.mean(blocks(bench, kpi, **of)))


def times(of: dict[str, str], rest: float, size: int = 1024, benches: Iterable[str] = BOTH) -> list[float]:
    """Microseconds of a message at both ends: the means of the blocks' medians, by bench."""
    where = {"payload_bytes": size, "gap_s": rest}
    return [
        1e6 * mean(bench, "message_median_s", operation=end, **where, **of)
        for bench in benches
        for end in (WRITE, READ)
    ]


def ratios(this: dict[str, str], rest: float, *sizes: int, benches: Iterable[str] = BOTH) -> list[float]:
    return [
        quic / sdls
        for size in sizes
        for quic, sdls in zip(times(this, rest, size, benches), times(SDLS, rest, size, benches), strict=True)
    ]


def span(values: Iterable[float], digits: int = 1) -> str:
    """From the least to the most, as the page says it."""
    low, *_, high = sorted(values)
    return f"{low:.{digits}f} to {high:.{digits}f}"


def first(end: str, group: str = "x25519", signature: str = "ed25519") -> float:
    """A mean of handshakes that are the first of both processes; `second_client` comes after a server's."""
    return mean("first-handshakes", f"{end}_mean_s", group=group, signature=signature, certificates="server")


def message(of: dict[str, str]) -> float:
    where = {"payload_bytes": 1024, "gap_s": COLD, "operation": WRITE}
    return mean("frames", "message_mean_s", **where, **of)


def row(group: str) -> float:
    """Handshakes that follow each other."""
    of = {**STREAM, "signature": "ed25519", "resumption": "none", "certificates": "server"}
    return mean("handshakes", "handshake_mean_s", group=group, **of)


def memory(kpi: str, security: str, provider: str) -> float:
    return mean("memory", kpi, security=security, provider=provider)


def test_the_page_has_the_times_of_a_message() -> None:
    cold, warm = (
        [span(times(of, rest), digits) for of in (SDLS, STREAM)] for rest, digits in ((COLD, 0), (WARM, 1))
    )
    assert f"takes SDLS {cold[0]} µs and QUIC {cold[1]} µs here" in PAGE
    assert f"one after the other {warm[0]} and {warm[1]} µs" in PAGE


def test_the_page_has_the_ratios_of_one_frame_and_of_two() -> None:
    sizes = (128, 256, 512)
    assert (
        f"{span(ratios(STREAM, COLD, *sizes))} times by stream and "
        f"{span(ratios(DATAGRAM, COLD, *sizes))} by datagram, from 128 to 512 bytes"
    ) in PAGE
    warm = [span(ratios(STREAM, WARM, size) + ratios(DATAGRAM, WARM, size)) for size in (128, 512)]
    assert f"Without a rest it is {warm[0]} times at 128 bytes and {warm[1]} at 512" in PAGE
    (write, read), longest = (ratios(STREAM, rest, 978, benches=["frames"]) for rest in (COLD, WARM))
    assert f"it is {write:.1f} times to write and {read:.1f} to read after a rest" in PAGE
    assert f"after a rest, {longest[0]:.1f} and {longest[1]:.1f} without" in PAGE
    two = [span(ratios(STREAM, rest, 1024) + ratios(DATAGRAM, rest, 1024)) for rest in (COLD, WARM)]
    assert f"two frames of SDLS: {two[0]} times after a rest, {two[1]} without" in PAGE


def test_the_page_has_what_a_handshake_costs_in_messages() -> None:
    counts = [DECIDED[claim]["value"] for claim in COUNTS]
    client, server, of_sdls, server_of_sdls = (f"{it:.0f}" for it in counts)
    assert f"costs its client what {client} cold messages do, and its server what {server} do" in PAGE
    assert f"of SDLS's messages {of_sdls} and {server_of_sdls}" in PAGE
    of = {
        "signature": "ed25519",
        "resumption": "none",
        "certificates": "both ends",
        "group": "x25519",
        **STREAM,
    }
    without = {"payload_bytes": 1024, "gap_s": WARM, "operation": WRITE}
    both = [
        float(
            np.mean(blocks("handshakes", f"{end}_median_s", **of) / blocks("frames", MEDIAN, **without, **it))
        )
        for it in (STREAM, SDLS)
        for end in ("client", "server")
    ]
    assert (
        f"costs its client {both[0]:.0f} messages and its server {both[1]:.0f}, "
        f"of SDLS's {both[2]:.0f} and {both[3]:.0f}"
    ) in PAGE
    verdicts = [f"{DECIDED[f'{claim}-stream']['value']:.0f}" for claim in COUNTS]
    assert f"The verdicts' {verdicts[0]} and {verdicts[1]} of QUIC's divide by `messages`" in PAGE
    assert verdicts[2:] == [f"{it:.0f}" for it in both[2:]]
    rsa = [first("server", signature="rsa-2048") / message(of) for of in (STREAM, SDLS)]
    assert f"of 2,048 bits, the server's counts are {rsa[0]:.0f} and {rsa[1]:.0f}" in PAGE
    for claim, of, at in (("server-18-messages", STREAM, 1), ("server-37-of-sdls", SDLS, 3)):
        assert NOTES[claim].startswith(f"With a certificate of Ed25519 {counts[at]:.1f} messages, ")
        assert f"bits, {first('server', signature='rsa-2048') / message(of):.1f};" in NOTES[claim]


def test_the_page_has_what_the_second_handshake_of_a_process_costs_its_client() -> None:
    after = [first("second_client") / message(of) for of in (STREAM, SDLS)]
    assert f"so it costs {after[0]:.0f} messages, and {after[1]:.0f} of SDLS's" in PAGE
    for claim, count in zip(("client-12-messages", "client-25-of-sdls"), after, strict=True):
        assert f"as in the study's flight software, it would be {count:.1f}" in NOTES[claim]
    for group in ("x25519", "p-256"):
        note = NOTES[f"handshake-{group}"]
        client, server, second = (1e6 * first(it, group) for it in ("client", "server", "second_client"))
        assert note.startswith(f"The client takes {client:,.0f} µs and the server {server:,.0f}; ")
        assert note.endswith(f"the client takes {second:,.0f}.")


def test_the_note_has_what_the_server_takes_of_the_client() -> None:
    groups = ("x25519", "p-256", "p-384", "p-521")
    firsts, after = (
        span((first("server", it) / first(client, it) for it in groups), 2)
        for client in ("client", "second_client")
    )
    assert f"The server takes {firsts} of the client where both are the first" in NOTES["server-longer"]
    assert f"and {after} where the client's comes after a server's" in NOTES["server-longer"]
    printed = ((463, 732), (512, 779), (2204, 2526), (4550, 4794))
    assert f"it was {span((server / client for client, server in printed), 2)}." in NOTES["server-longer"]


def test_notes_of_memory_have_what_the_c_library_takes_too() -> None:
    none = memory("heap_peak_with_c_bytes", "none", "-")
    sdls, quic = (
        (memory("heap_peak_with_c_bytes", it, "aws-lc") - none) / 1e3
        for it in ("sdls-gcm-aws-lc", "quic-stream")
    )
    assert f"with what the C library takes {sdls:.1f}: both of the work alone" in NOTES["sdls-heap-5"]
    assert f"with what the C library takes it is {quic:.0f} kB" in NOTES["quic-heap-500"]


def test_the_page_has_the_factors_of_the_groups() -> None:
    cold = [first("handshake", it) / first("handshake", "p-256") for it in ("p-384", "p-521")]
    warm = [row(it) / row("p-256") for it in ("p-384", "p-521")]
    assert f"P-384 and P-521 cost {cold[0]:.1f} and {cold[1]:.1f} times what P-256 does" in PAGE
    assert f"{warm[0]:.1f} and {warm[1]:.1f} times where handshakes follow each other" in PAGE
    assert f"it is {warm[0]:.1f} and {warm[1]:.1f} times" in NOTES["groups-factors"]


def test_the_page_has_what_a_second_library_saves_of_memory() -> None:
    heap, further, resident = (
        [memory(kpi, "quic-stream", provider) for provider in ("aws-lc", "ring")]
        for kpi in ("heap_peak_with_c_bytes", "heap_a_further_link_with_c_bytes", "rss_peak_bytes")
    )
    saved = [100 * (1 - ring / aws_lc) for aws_lc, ring in (heap, resident)]
    assert f"saves {saved[0]:.0f} % of QUIC's heap and {saved[1]:.0f} % of its resident set" in PAGE
    assert f"131 of {(heap[0] - heap[1]) / 1e3:.0f} kB" in PAGE
    assert f"takes {further[0] / 1e3:.0f} kB with AWS-LC and {further[1] / 1e3:.0f} with *ring*" in PAGE


@pytest.mark.parametrize(("claim", "operation"), [("sdls-apply-19", WRITE), ("sdls-process-16", READ)])
def test_notes_of_sdls_have_the_times_of_the_bench_that_decides(claim: str, operation: str) -> None:
    (cold, warm) = (
        mean("frames", "message_median_s", payload_bytes=1024, gap_s=rest, operation=operation, **SDLS)
        for rest in (COLD, WARM)
    )
    one = mean("frames", "message_mean_s", payload_bytes=978, gap_s=COLD, operation=operation, **SDLS)
    assert f"is {1e6 * cold:.0f} µs, in two frames; 978 bytes in one take {1e6 * one:.0f} µs" in NOTES[claim]
    assert f"a median of {1e6 * cold:.0f} µs: {cold / warm:.0f} times as long" in NOTES[f"{claim}-stream"]


@pytest.mark.parametrize(
    ("claim", "of", "at"),
    [("ratio-read-1-5-stream", STREAM, 1), ("ratio-write-2-15-stream", STREAM, 0),
     ("ratio-read-1-5-equal", DATAGRAM, 1), ("ratio-write-2-15-equal", DATAGRAM, 0)],
)  # fmt: skip
def test_notes_of_ratios_have_those_of_the_bench_that_decides(
    claim: str, of: dict[str, str], at: int
) -> None:
    for size in (128, 512):
        quic, sdls = (times(it, WARM, size, ["frames"])[at] for it in (of, SDLS))
        assert f"({quic:.2f} and {sdls:.2f} µs" in NOTES[claim]
        assert f"{quic / sdls:.1f}" in NOTES[claim]


def test_every_claim_of_frames_notes_no_cause_that_one_frame_refutes() -> None:
    """What SDLS takes more at 1,024 bytes after a rest is mostly there at 978, in one frame."""
    of = {"gap_s": COLD, "operation": WRITE, **SDLS}
    short, one, two = (mean("frames", "message_mean_s", payload_bytes=it, **of) for it in (128, 978, 1024))
    assert (one - short) > (two - short) / 2
    assert f"it is {1e6 * (one - short):.1f} µs more already" in NOTES["sdls-size-1-2"]
    assert f"and in two, at 1,024 bytes, {1e6 * (two - short):.1f}" in NOTES["sdls-size-1-2"]


def test_the_page_has_what_s2n_quic_takes_beside_quinn() -> None:
    where = {"cipher": "aes-256-gcm"}
    table = SUMMARY.flows("messages-s2n")
    for name, value in where.items():
        table = table.filter(pc.equal(table[name], value))
    means = table.group_by(
        ["security", "provider", "operation", "gap_s", "payload_bytes"], use_threads=False
    ).aggregate([("message_median_s", "mean")])
    found = {
        tuple(row[it] for it in ("security", "provider", "operation", "gap_s", "payload_bytes")): row[
            "message_median_s_mean"
        ]
        for row in means.to_pylist()
    }

    def beside(way: str, end: str, rest: float) -> str:
        ratios = [
            value / found[f"quic-{way}", *rest_of]
            for (security, *rest_of), value in found.items()
            if security == f"s2n-{way}" and (rest_of[1], rest_of[2]) == (end, rest)
        ]
        low, high = f"{min(ratios):.1f}", f"{max(ratios):.1f}"
        return low if low == high else f"{low} to {high}"

    assert (
        f"takes the sender {beside('stream', WRITE, COLD)} times as long after a rest and "
        f"{beside('stream', WRITE, WARM)} without, the receiver {beside('stream', READ, COLD)} and "
        f"{beside('stream', READ, WARM)}; by datagram {beside('datagram', WRITE, COLD)} and "
        f"{beside('datagram', READ, COLD)} times after a rest"
    ) in PAGE


AXES = {"cipher", "operation", "payload_bytes", "gap_s", "group", "signature", "certificates", "resumption"}
"""Of benches that have providers of cryptography in the same blocks."""


def beside_aws_lc(bench: str, kpi: str, provider: str = "openssl", **of: Any) -> list[float]:
    """Each cell of a bench by that provider in times of AWS-LC's, where both have it."""
    table = SUMMARY.flows(bench)
    for name, value in of.items():
        table = table.filter(pc.equal(table[name], value))
    axes = [it for it in table.column_names if it in AXES]
    means = table.group_by([*axes, "provider"], use_threads=False).aggregate([(kpi, "mean")]).to_pylist()
    found = {(*(row[it] for it in axes), row["provider"]): row[f"{kpi}_mean"] for row in means}
    return [
        value / found[*cell, "aws-lc"] for (*cell, of_whom), value in found.items() if of_whom == provider
    ]


def new(group: str, provider: str) -> float:
    """What both ends compute for a session begun anew, with Ed25519, of space alone; one after the other."""
    of = {"group": group, "provider": provider, "signature": "ed25519"}
    kinds = {"certificates": "server", "resumption": "none"}
    return 1e6 * mean("handshakes-openssl", "handshake_mean_s", **of, **kinds)


def test_the_page_has_what_openssl_takes_beside_aws_lc() -> None:
    cold, warm = (span(beside_aws_lc("messages-openssl", MEDIAN, gap_s=rest)) for rest in (COLD, WARM))
    assert f"a message takes {cold} times as long as with AWS-LC after a rest and {warm} without" in PAGE
    anew = {"resumption": "none"}
    p_384, *others = (
        span(
            ratio
            for group in groups
            for ratio in beside_aws_lc("handshakes-openssl", "handshake_median_s", group=group, **anew)
        )
        for groups in (["p-384"], ["x25519", "p-256", "p-521"])
    )
    assert f"a handshake that is no resumption {others[0]} times, and with P-384 {p_384}" in PAGE


def test_the_page_has_what_the_groups_cost_by_openssl() -> None:
    p_256, p_384, p_521 = (new(it, "openssl") for it in ("p-256", "p-384", "p-521"))
    more, printed = (p_384 - p_256) / 1e3, (4730 - 1291) / 1e3
    assert f"it takes {more:.1f} ms more here, where {printed:.1f} ms are printed" in PAGE
    aws_lc, ring = (new("p-384", it) / new("p-256", it) for it in ("aws-lc", "ring"))
    assert (
        f"and costs {p_384 / p_256:.1f} times P-256 (3.7 are printed; with AWS-LC {aws_lc:.1f} times, "
        f"with *ring* {ring:.1f}; a certificate of the server alone, Ed25519)"
    ) in PAGE
    assert f"The step to P-521 is not: {p_521 / p_256:.1f} times P-256" in PAGE


def test_the_page_has_what_dtls_takes_beside_datagrams() -> None:
    def took(security: str, end: str, size: int, rest: float) -> float:
        of = {"security": security, "operation": end, "payload_bytes": size, "gap_s": rest}
        return 1e6 * mean("messages-dtls", MEDIAN, **of)

    for rest, digits in ((COLD, 0), (WARM, 1)):
        for end, name in ((WRITE, "sender"), (READ, "receiver")):
            securities = ("dtls", "quic-datagram", "sdls-gcm-aws-lc")
            dtls, quic, sdls = (took(it, end, 128, rest) for it in securities)
            told = f"the {name} {dtls:.{digits}f} µs ({quic:.{digits}f} of QUIC, {sdls:.{digits}f} of SDLS)"
            assert told in PAGE, told
    short, long = (
        sum(took("dtls", it, size, WARM) for it in (WRITE, READ))
        / sum(took("quic-datagram", it, size, WARM) for it in (WRITE, READ))
        for size in (128, 1024)
    )
    assert (
        f"both ends together {short:.1f} times what QUIC takes, and {long:.1f} times with 1,024 bytes" in PAGE
    )
    counted = span(
        mean("instructions-dtls", "instructions", work=work)
        / mean("instructions", "instructions", security="quic-datagram", work=work)
        for work in ("message-64", "message-1024")
    )
    assert f"what follows a message among them, {counted} times" in PAGE
    further = mean("memory-dtls", "heap_a_further_link_with_c_bytes", security="dtls") / 1e3
    quic = memory("heap_a_further_link_with_c_bytes", "quic-datagram", "aws-lc") / 1e3
    assert f"A further link of DTLS takes {further:.0f} kB of heap, one of QUIC {quic:.0f}" in PAGE


def test_the_page_has_what_attacks_on_dtls_came_to() -> None:
    played = SUMMARY.flows("attacks-dtls").to_pylist()
    succeeded = {(it["attack"], it["certificates"]) for it in played if it["succeeds"]}
    assert succeeded == {("command as a stranger", "server")}
    assert len({it["attack"] for it in played}) == 8
    assert (
        "Of eight attacks on DTLS one succeeds: where only space shows a certificate, strangers command"
        in PAGE
    )


def test_the_page_has_the_other_processors() -> None:
    def counted(architecture: str) -> tuple[str, str, str]:
        of = {"architecture": architecture}
        message, handshake = (
            mean("instructions-elsewhere", "instructions", work=work, **of)
            for work in ("message-1024", "handshake")
        )
        code = mean("sizes-elsewhere", "code_bytes", **of) / 1e3
        return (
            f"{code:.0f} kB",
            f"{round(message, -3 if message > 1e4 else -2):,.0f}",
            f"{handshake / 1e6:.1f}",
        )

    code, message, handshake = counted("armv7")
    assert f"{code} of code, {message} instructions for a message of 1,024 bytes at both ends and " in PAGE
    assert f"and {handshake} million for a handshake" in PAGE
    assert "instructions for AES, {}, {} and {} million".format(*counted("aarch64")) in PAGE
    code, message, handshake = counted("x86-64")
    assert f"x86-64 {code} (most of it AES-GCM for AVX-512), {message} and {handshake} million" in PAGE


def test_the_page_has_instructions_sizes_and_attacks_of_s2n_quic() -> None:
    def beside(work: str, way: str) -> str:
        s2n, quinn = (
            mean("instructions-s2n", "instructions", security=it, provider="aws-lc", work=work)
            for it in (f"s2n-{way}", f"quic-{way}")
        )
        return f"{s2n / quinn:.2f}"

    message = [beside("message-1024", it) for it in ("stream", "datagram")]
    assert f"takes {message[0]} times quinn's by stream and {message[1]} by datagram" in PAGE
    assert f"a handshake {beside('handshake', 'stream')} (`instructions-s2n`" in PAGE
    code = [mean("sizes-s2n", "code_bytes", back_end=it) / 1e3 for it in ("s2n-quic", "quinn")]
    assert f"are {code[0]:.0f} kB of code beside quinn's {code[1]:.0f}" in PAGE
    came = {
        bench: {
            (it["attack"], it["certificates"], it["security"].split("-")[1]): it["succeeds"]
            for it in SUMMARY.flows(bench).to_pylist()
            if it["security"].startswith(library) and it["resumption"] == "none"
        }
        for bench, library in (("attacks-s2n", "s2n-"), ("attacks", "quic-"))
    }
    assert len({attack for attack, *_ in came["attacks-s2n"]}) == 8
    assert came["attacks-s2n"].items() <= came["attacks"].items()


def test_readme_counts_the_benches_and_their_samples() -> None:
    benches = json.loads((STUDY.summary / "manifest.json").read_text(encoding="utf-8"))["benches"]
    samples = sum(sum(SUMMARY.flows(bench)["samples"].to_pylist()) for bench in benches)
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert f"there are {len(benches)}, with {samples / 1e6:.1f} million samples" in readme


def test_figures_of_chapter_4_stand_by_the_method_and_corrected() -> None:
    for figure in RAW["figure"]:
        if figure["key"] in ("4.1", "4.2", "4.3"):
            told = str(figure["panel"])
            assert "{again}" in told and "{stream}" in told, figure["key"]
            assert figure.get("printed") or re.search("no value of its figure", figure["caption"])


def columns(key: str) -> list[dict[str, Any]]:
    (figure,) = (it for it in RAW["figure"] if it["key"] == key)
    return [column for panel in figure["panel"] for column in panel.get("column", [])]


@pytest.mark.parametrize(("cells", "claim"), [("read", "quic-read-table"), ("write", "quic-write-table")])
def test_tables_of_times_print_what_the_claims_are_decided_by(cells: str, claim: str) -> None:
    printed = [
        (row["provider"], row["cipher"], size, float(value))
        for row in RAW["words"][cells]
        for size, value in zip((128, 256, 512, 1024), row["printed"], strict=True)
    ]
    rules = [(it["of"], it["near"]) for it in RULES[claim]["parts"]]
    assert sorted(printed) == sorted(
        (of["provider"], of["cipher"], of["payload_bytes"], round(near * 1e6, 1)) for of, near in rules
    )


def test_the_table_of_handshakes_prints_what_the_claims_are_decided_by() -> None:
    (figure,) = (it for it in RAW["figure"] if it["key"] == "table-4.3")
    printed = {each["end"]: each["printed"] for each in figure["panel"][0]["for_each"]}
    for at, group in enumerate(("x25519", "p-256", "p-384", "p-521")):
        client, server = (it["near"] for it in RULES[f"handshake-{group}"]["parts"])
        assert (printed["client"][at], printed["server"][at]) == (
            f"{client * 1e6:.0f}",
            f"{server * 1e6:.0f}",
        )
    assert printed["handshake"] == ["1195", "1219", "4730", "9344", "–"]


@pytest.mark.parametrize("key", ["table-{n}", "table-4.3", "table-4.4"])
def test_each_column_measures_what_its_head_says(key: str) -> None:
    """By the method: means, after a rest, firsts of a process. Corrected: medians, warm, a further link."""
    means, medians = {"kpi": "message_mean_s", "of": {"gap_s": COLD}}, {"of": {"gap_s": WARM}}
    right: dict[str, list[dict[str, Any]]] = {
        "table-{n}": [means, {"kpi": "message_median_s", **medians}],
        "table-4.3": [
            {"experiment": "first-handshakes", "kpi": "{end}_mean_s", "of": {"certificates": "server"}},
            {"kpi": "{end}_median_s", "of": {"certificates": "both ends"}},
        ],
        "table-4.4": [
            {"kpi": "heap_peak_with_c_bytes"},
            {"kpi": "heap_a_further_link_with_c_bytes"},
            {"kpi": "rss_peak_bytes"},
            {"kpi": "rss_a_further_link_bytes"},
        ],
    }
    told = [it for it in columns(key) if it["head"].endswith(("method again", "corrected"))]
    assert [{name: value for name, value in it.items() if name != "head"} for it in told] == right[key]


@pytest.mark.parametrize(
    ("words", "of"),
    [("SDLS, AES-256-GCM (AWS-LC)", SDLS), ("QUIC by stream, AES-256-GCM (AWS-LC)", STREAM)],
)
def test_the_guide_to_a_command_link_has_the_times_of_the_summary(words: str, of: dict[str, str]) -> None:
    """It prints medians of all samples, which the summary has by block: within a sixth of those."""
    (line,) = (it for it in GUIDE.splitlines() if it.startswith(f"| {words} |"))
    said = [float(it) for it in line.split("|")[2:6]]
    found = [it for rest in (WARM, COLD) for it in times(of, rest, benches=["messages"])]
    assert said == pytest.approx(found, rel=1 / 6)


def test_the_guide_has_the_times_of_the_later_bench() -> None:
    cold, warm = (
        [f"{it:.{digits}f}" for of in (SDLS, STREAM) for it in times(of, rest, benches=["frames"])]
        for rest, digits in ((COLD, 0), (WARM, 1))
    )
    after, without = (", ".join(it[:3]) for it in (cold, warm))
    assert f"took {after} and {cold[3]} µs after a rest, and {without} and {warm[3]} without" in GUIDE


def test_the_guide_has_the_ratios_of_one_frame_and_of_two() -> None:
    short, middle, two = (
        [span(ratios(STREAM, rest, size) + ratios(DATAGRAM, rest, size)) for rest in (WARM, COLD)]
        for size in (128, 512, 1024)
    )
    assert f"at 128 octets {short[0]} times without a rest and {short[1]} after one" in GUIDE
    assert f"{middle[0]} at 512 octets (after one {middle[1]})" in GUIDE
    (write, read), longest = (ratios(STREAM, rest, 978, benches=["frames"]) for rest in (WARM, COLD))
    assert f"{write:.1f} times (to write) and {read:.1f} (to read) without a rest" in GUIDE
    assert f"without a rest, {longest[0]:.1f} and {longest[1]:.1f} after one" in GUIDE
    assert f"without a rest: {two[0]} times; after one it takes {two[1]}." in GUIDE
