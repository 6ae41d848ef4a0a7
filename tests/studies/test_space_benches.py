"""Benches of a command link: what the programs of flight-links print becomes a row a condition and block."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.benches import (
    space_attacks,
    space_company,
    space_elsewhere,
    space_first_handshakes,
    space_frames,
    space_handshakes,
    space_instructions,
    space_link,
    space_memory,
    space_messages,
    space_sizes,
)
from gauntlet.benches.contract import Bench
from gauntlet.benches.parts import Parts
from gauntlet.benches.registry import BENCHES
from gauntlet.errors import RunError, UserError
from gauntlet.space import first_handshakes, footprint
from gauntlet.studies import study
from gauntlet.studies.registration import Registration

MESSAGE = {
    "security": "quic-stream",
    "provider": "aws-lc",
    "cipher": "aes-256-gcm",
    "payload_octets": 1024,
    "gap_ms": 2000,
    "operation": "apply",
    "crypto_calls": 2,
    "upkeep_ns": 0,
    "datagrams": 1,
    "datagram_octets": 1070,
}

HANDSHAKE = {
    "security": "quic-stream",
    "provider": "aws-lc",
    "cipher": "aes-256-gcm",
    "group": "p-256",
    "signature": "ed25519",
    "mutual": False,
    "resumption": "none",
    "ground_octets": 1500,
    "space_octets": 2000,
    "ground_datagrams": 2,
    "space_datagrams": 2,
    "round_trips": 1,
    "early": False,
}


def messages(*samples: tuple[int, int, int | None], **changes: Any) -> pa.Table:
    """Samples as (block, all nanoseconds, those of the cipher)."""
    return pa.Table.from_pylist(
        [
            {**MESSAGE, "block": block, "order": 1, "total_ns": total, "crypto_ns": crypto, "system_ns": 5000}
            | changes
            for block, total, crypto in samples
        ]
    )


def test_a_block_of_messages_is_a_repetition() -> None:
    (first, second) = space_messages.table(
        messages((0, 10_000, 2000), (0, 30_000, 2000), (1, 40_000, 4000))
    ).to_pylist()
    assert (first["repetition"], first["samples"]) == (1, 2)
    assert (second["repetition"], second["samples"]) == (2, 1)
    assert (first["message_mean_s"], second["message_mean_s"]) == pytest.approx((20e-6, 40e-6))
    assert first["crypto_share"] == pytest.approx(0.1)
    assert (first["payload_bytes"], first["gap_s"], first["datagram_bytes"]) == (1024, 2.0, 1070)


def test_a_message_has_means_medians_and_a_slowest_hundredth() -> None:
    """A hundred and one: 0 to 90 µs and ten of 190 to 199; half of it in the cipher, the system's beside."""
    micros = [*range(91), *range(190, 200)]
    samples = [messages((0, 1000 * it, 500 * it), system_ns=3000 * it, datagram_octets=it) for it in micros]
    (row,) = space_messages.table(pa.concat_tables(samples)).to_pylist()
    mean = sum(micros) / 101
    assert mean == pytest.approx(59.8, abs=0.1)
    told = {name: 1e6 * row[name] for name in row if name.endswith("_s") and name != "gap_s"}
    assert told == pytest.approx(
        {
            "message_mean_s": mean,
            "message_median_s": 50,
            "message_p99_s": 198,
            "crypto_mean_s": mean / 2,
            "crypto_median_s": 25,
            "system_call_mean_s": 3 * mean,
        }
    )
    assert (row["crypto_share"], row["datagram_bytes"]) == (pytest.approx(0.5), 50)


def test_without_a_meter_in_the_cipher_there_is_no_share() -> None:
    (row,) = space_messages.table(messages((0, 10_000, None), security="restp")).to_pylist()
    assert row["crypto_share"] is None
    assert row["crypto_mean_s"] is None
    assert row["message_mean_s"] == pytest.approx(10e-6)


def test_a_handshake_has_a_client_and_a_server() -> None:
    samples = [
        {**HANDSHAKE, "block": 0, "order": place, "ground_cpu_ns": ground, "space_cpu_ns": space}
        for place, (ground, space) in enumerate(((100_000, 80_000), (240_000, 50_000), (200_000, 230_000)))
    ]
    (row,) = space_handshakes.table(pa.Table.from_pylist(samples)).to_pylist()
    # The median of both together, 290 µs, is not the sum of the medians, 280.
    assert {name: 1e6 * row[name] for name in row if name.endswith("_s")} == pytest.approx(
        {
            "client_mean_s": 180,
            "server_mean_s": 120,
            "handshake_mean_s": 300,
            "client_median_s": 200,
            "server_median_s": 80,
            "handshake_median_s": 290,
        }
    )
    assert (row["certificates"], row["handshake_bytes"], row["samples"]) == ("server", 3500.0, 3)


class Firsts:
    """In the place of flight-bench: a pair of processes a call, 100 us longer for each before it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[list[str]] = []
        self.prints_group = True
        monkeypatch.setattr(first_handshakes, "rows", self)
        monkeypatch.setattr(first_handshakes, "credentials", self.credentials)
        monkeypatch.setattr(space_first_handshakes, "facts", dict)
        monkeypatch.setattr(space_first_handshakes, "machine", dict)

    @contextmanager
    def credentials(self, signatures: Iterable[str]) -> Iterator[dict[str, Path]]:
        yield {name: Path(f"/made/{name}") for name in signatures}

    def __call__(self, name: str, words: list[str]) -> pa.Table:
        self.asked.append(words)
        of = dict(zip(words[1::2], words[2::2], strict=True))
        assert (name, words[0]) == ("flight-bench", "first-handshake")
        assert of["--credentials"] == f"/made/{of['--signature']}"
        spent = {
            "ground_cpu_ns": 100_000 * len(self.asked),
            "space_as_client_cpu_ns": 50_000 * len(self.asked),
            "ground_randomness_cpu_ns": 40_000_000,
            "space_randomness_cpu_ns": 60_000_000,
        }
        row = {**HANDSHAKE, **spent, "signature": of["--signature"]}
        group = of["--group"] if self.prints_group else "x25519"
        return pa.Table.from_pylist([{**row, "group": group, "space_cpu_ns": 200_000}])


def test_first_handshakes_have_processes_of_their_own_in_an_order_of_the_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Firsts(monkeypatch)
    bench = space_first_handshakes.BENCH
    found = bench.measure(True, 7, told, Parts(tmp_path / "a", {}))
    bench.check(found.table)
    cells = len(first_handshakes.CELLS)
    assert cells == 10 and len(program.asked) == 3 * 3 * cells, "blocks, processes, kinds"
    assert found.table["samples"].to_pylist() == [3] * 3 * cells
    orders = [program.asked[block * 3 * cells : (block + 1) * 3 * cells] for block in range(3)]
    assert orders[0] != orders[1] != orders[2]
    assert [sorted(it) for it in orders[1:]] == [sorted(orders[0])] * 2
    again = Firsts(monkeypatch)
    bench.measure(True, 7, told, Parts(tmp_path / "b", {}))
    assert again.asked == program.asked
    bench.measure(True, 7, told, Parts(tmp_path / "b", {}))
    assert len(again.asked) == len(program.asked), "blocks that are there are not measured again"
    bench.measure(True, 8, told, Parts(tmp_path / "c", {}))
    assert again.asked[len(program.asked) :] != program.asked, "another seed has another order"


def test_a_row_is_the_mean_of_the_processes_of_a_block() -> None:
    with pytest.MonkeyPatch.context() as patched:
        Firsts(patched)
        samples = first_handshakes.first_handshakes([("p-384", "rsa-2048")], 3, 7, block=2)
    (row,) = space_first_handshakes.table(samples).to_pylist()
    assert (row["repetition"], row["samples"], row["group"], row["signature"]) == (3, 3, "p-384", "rsa-2048")
    assert row["randomness_mean_s"] == pytest.approx(50e-3), "of one end"
    assert row["client_mean_s"] == pytest.approx(200e-6)
    assert row["second_client_mean_s"] == pytest.approx(100e-6)
    assert row["server_mean_s"] == pytest.approx(200e-6)
    assert samples["order"].to_pylist() == [1, 2, 3]


def test_a_program_that_prints_other_handshakes_than_were_asked_for_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Firsts(monkeypatch).prints_group = False
    with pytest.raises(RunError, match="did not print a row for each kind"):
        space_first_handshakes.BENCH.measure(True, 7, told, Parts(tmp_path, {}))


def frames(payload: int, datagrams: int, security: str = "sdls-gcm-aws-lc") -> pa.Table:
    """A sample of a message that took so many frames."""
    return messages((0, 10_000, 2000), security=security, payload_octets=payload, datagrams=datagrams)


def test_one_frame_of_sdls_holds_978_bytes_and_1024_take_two() -> None:
    right = [frames(978, 1), frames(128, 1), frames(1024, 2), frames(1024, 1, "quic-stream")]
    space_frames.check_frames(pa.concat_tables(right))
    for payload, made, wanted in ((978, 2, 1), (1024, 1, 2), (512, 2, 1)):
        with pytest.raises(RunError, match=f"made {made} frames of {payload} bytes.* frames has {wanted};"):
            space_frames.check_frames(pa.concat_tables([*right, frames(payload, made)]))


def test_frames_are_measured_in_blocks_with_and_without_a_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Program(monkeypatch, {0: 1000, 2000: 20})
    monkeypatch.setattr(space_frames, "check_frames", lambda samples: None)
    found = space_frames.BENCH.measure(False, 7, told, Parts(tmp_path, {}))
    assert len(program.asked) == 20, "ten blocks, each with and without a rest"
    for words in program.asked[:2]:
        assert "--payload 512 --payload 978 --payload 1024" in words
        assert "--security sdls-gcm-aws-lc --security quic-stream --security quic-datagram" in words
    space_frames.BENCH.check(found.table)
    assert {(row["gap_s"], row["samples"]) for row in found.table.to_pylist()} == {(0.0, 1000), (2.0, 20)}


def test_where_early_messages_are_taken_the_client_waits_for_no_round_trip() -> None:
    spent = {"ground_cpu_ns": 100_000, "space_cpu_ns": 200_000, "order": 1}
    samples = [
        {**HANDSHAKE, **spent, "resumption": resumption, "early": early, "block": 0}
        for resumption, early in (("none", False), ("ticket", False), ("0-rtt", True))
    ]
    found = space_handshakes.table(pa.Table.from_pylist(samples)).to_pylist()
    assert [row["round_trips"] for row in found] == [1, 1, 0]


def test_memory_that_was_not_measured_is_none() -> None:
    sample = {"security": "none", "provider": "-", "heap_peak": 3880, "heap_a_link": 112}
    rest = {"rss_peak": 4_000_000, "pss": 3_500_000, "rss_a_further_link": 2000, "block": 0}
    rest_of_c: dict[str, None] = dict.fromkeys(("heap_peak_with_c", "heap_a_further_link_with_c"))
    (row,) = space_memory.table(pa.Table.from_pylist([{**sample, **rest, **rest_of_c}])).to_pylist()
    assert row["heap_peak_bytes"] == 3880.0
    assert row["pss_bytes"] == 3_500_000.0
    assert row["heap_peak_with_c_bytes"] is None
    assert row["heap_a_further_link_with_c_bytes"] is None


@pytest.mark.parametrize(
    "bench", [space_memory.BENCH, space_memory.DTLS, space_memory.S2N_QUIC, space_memory.OPENSSL]
)
def test_memory_under_no_security_is_planned_without_a_provider(bench: Bench) -> None:
    """As the program tells it."""
    assert ("-" in bench.full.factors["provider"]) == ("none" in bench.full.factors["security"])


def test_instructions_are_of_a_message_or_of_a_handshake() -> None:
    samples = [
        {"security": "tls", "provider": "ring", "block": 0}
        | {"what": what, "payload_octets": octets, "instructions": count}
        for what, octets, count in (("message", 64, 9000), ("handshake", None, 4_000_000))
    ]
    found = space_instructions.table(pa.Table.from_pylist(samples)).to_pylist()
    assert [(row["work"], row["instructions"]) for row in found] == [
        ("message-64", 9000.0),
        ("handshake", 4_000_000.0),
    ]


def test_a_back_end_has_code_and_data() -> None:
    sample = {"back_end": "sdls", "code_octets": 5000, "data_octets": 70, "parts": "sdls", "block": 0}
    (row,) = space_sizes.table(pa.Table.from_pylist([sample])).to_pylist()
    assert (row["back_end"], row["code_bytes"], row["data_bytes"], row["repetition"]) == ("sdls", 5000, 70, 1)


def test_an_architecture_has_code_data_and_instructions() -> None:
    of = {"architecture": "armv7", "block": 0}
    (row,) = space_sizes.table(
        pa.Table.from_pylist([of | {"code_octets": 5000, "data_octets": 70}]), "architecture"
    ).to_pylist()
    assert (row["architecture"], row["code_bytes"], row["data_bytes"]) == ("armv7", 5000, 70)
    (row,) = space_elsewhere.table_of_instructions(
        pa.Table.from_pylist([of | {"work": "handshake", "instructions": 4_000_000}])
    ).to_pylist()
    assert (row["work"], row["instructions"], row["repetition"]) == ("handshake", 4e6, 1)


def test_what_a_program_does_before_it_works_is_in_no_count() -> None:
    each = {"message": 700, "handshake": 90_000}
    found = space_elsewhere.counted(lambda words: 123_456 + each[words[0]] * int(words[-1]))
    assert found == {"message-64": 700, "message-1024": 700, "handshake": 90_000}


def test_an_attack_succeeds_or_fails() -> None:
    samples = [
        {"attack": "read", "security": security, "mutual": True, "resumption": "none", "block": 0}
        | {"outcome": outcome}
        for security, outcome in (("none", "succeeds"), ("sdls-gcm", "fails"))
    ]
    found = space_attacks.table(pa.Table.from_pylist(samples)).to_pylist()
    assert [row["succeeds"] for row in found] == [1.0, 0.0]


def test_what_is_sent_again_of_0_rtt_is_told_apart_by_what_becomes_of_sessions() -> None:
    samples = [
        {"attack": "replay 0-RTT", "security": "quic-stream", "mutual": True, "block": 0}
        | {"resumption": resumption, "outcome": outcome}
        for resumption, outcome in (("0-rtt", "fails"), ("0-rtt-kept", "succeeds"))
    ]
    table = space_attacks.table(pa.Table.from_pylist(samples))
    space_attacks.BENCH.check(table)
    found = {row["resumption"]: row["succeeds"] for row in table.to_pylist()}
    assert found == {"0-rtt": 0.0, space_attacks.KEPT: 1.0}


def test_attacks_on_s2n_quic_are_played_by_stream_and_by_datagram(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With new keys each time; what takes up no sessions has no early messages to send again."""
    asked: list[list[str]] = []
    attack = "replay"

    def rows(name: str, words: list[str]) -> pa.Table:
        asked.append(words)
        of = {"security": "s2n-stream", "resumption": "none", "outcome": "fails"}
        return pa.Table.from_pylist([{"attack": attack, **of, "mutual": it} for it in (True, False)])

    monkeypatch.setattr(space_attacks, "rows", rows)
    monkeypatch.setattr(space_attacks, "machine", dict)
    bench = space_attacks.S2N_QUIC

    def played() -> pa.Table:
        return bench.measure(False, 7, told, Parts(tmp_path, {})).table

    found = played()
    bench.check(found)
    assert asked == [["attacks", "--security", "s2n-stream", "--security", "s2n-datagram"]] * 3
    assert [(row["certificates"], row["repetition"], row["succeeds"]) for row in found.to_pylist()] == [
        (ends, time, 0.0) for time in (1, 2, 3) for ends in ("both ends", "server")
    ]
    attack = "replay 0-RTT"
    with pytest.raises(RunError, match="attack = replay 0-RTT, which its plan does not have"):
        bench.check(played())


def test_instructions_of_s2n_quic_are_counted_beside_those_of_quinn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the same program, by datagram and by stream, which AWS-LC and ring protect in turn."""
    asked: list[tuple[str, str]] = []

    def instructions(quick: bool, tell: object, pairs: Sequence[footprint.Pair]) -> pa.Table:
        asked.extend(pairs)
        counted = {"what": "message", "payload_octets": 1024, "instructions": 70_000}
        return pa.Table.from_pylist([{"security": one, "provider": by, **counted} for one, by in pairs])

    monkeypatch.setattr(footprint, "instructions", instructions)
    monkeypatch.setattr(space_instructions, "facts", dict)
    monkeypatch.setattr(space_instructions, "machine", dict)
    bench = space_instructions.S2N_QUIC
    bench.check(bench.measure(False, 7, told, Parts(tmp_path, {})).table)
    by_library = [("stream", "aws-lc"), ("stream", "ring"), ("datagram", "aws-lc")]
    assert asked == 3 * [(f"{name}-{way}", by) for name in ("quic", "s2n") for way, by in by_library]


@pytest.mark.parametrize("bench", BENCHES.values(), ids=lambda it: it.name)
def test_what_a_first_look_measures_is_part_of_the_whole(bench: Bench) -> None:
    for name, values in bench.quick.factors.items():
        assert set(values) <= set(bench.full.factors[name])
    assert bench.quick.repetitions <= bench.full.repetitions
    # What a program's symbols tell is the same each time.
    assert bench.quick.repetitions >= (1 if bench.name.startswith("space-sizes") else 3)
    assert bench.labels.keys() <= bench.full.factors.keys()


def test_a_program_with_another_security_is_refused() -> None:
    table = space_messages.table(messages((0, 10_000, 2000), security="dtls"))
    with pytest.raises(RunError, match="security = dtls, which its plan does not have"):
        space_messages.BENCH.check(table)


def test_what_is_registered_is_what_would_be_measured() -> None:
    space = study("space")
    registered = Registration.of(space)
    assert registered is not None
    plans = {it.name: it.bench.sha256(quick=False) for it in space.benches}
    assert {name: plans[name] for name in registered.benches} == registered.benches


FACTS = {"libraries": {"apart_ms": space_messages.APART_MS}}


class Program:
    """In the place of flight-bench: a sample of each cell that is asked for, as often as the plan has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, counts: dict[int, int]) -> None:
        self.asked: list[str] = []
        self.counts = counts
        for bench in (space_messages, space_company):
            monkeypatch.setattr(bench, "rows", self)
            monkeypatch.setattr(bench, "facts", lambda: FACTS)
            monkeypatch.setattr(bench, "machine", dict)

    def __call__(self, name: str, words: list[str]) -> pa.Table:
        self.asked.append(" ".join(words))

        def named(option: str) -> list[str]:
            return [words[at + 1] for at, word in enumerate(words) if word == option]

        samples = int((named("--samples") or ["0"])[0])
        rest = {"rested_ns": 2_000_500_000, "quiet_ns": 71_000_000}
        return pa.concat_tables(
            messages(
                *[(int(named("--block")[0]), 10_000, 2000)] * (samples or self.counts[int(gap)]),
                gap_ms=int(gap), payload_octets=int(payload), **rest,
            )
            for gap in named("--gap") for payload in named("--payload")
        )  # fmt: skip


def told(_: str) -> None:
    """Nobody to be told."""


def test_a_first_look_asks_for_each_block_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Program(monkeypatch, {0: 100, 2000: 3})
    found = space_messages.BENCH.measure(True, 7, told, Parts(tmp_path, {}))
    assert len(program.asked) == 6
    assert program.asked[0].startswith("messages --seed 7 --quick --block 0 --payload 128 --payload 256")
    assert (
        found.table["samples"].to_pylist() == [100] * 4 + [3] * 2 + [100] * 4 + [3] * 2 + [100] * 4 + [3] * 2
    )
    space_messages.BENCH.measure(True, 7, told, Parts(tmp_path, {}))
    assert len(program.asked) == 6, "blocks that are there are not measured again"


def test_registered_benches_keep_the_program_to_the_securities_of_their_plans(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The program has more, which came later."""
    program = Program(monkeypatch, {0: 100, 2000: 3})
    space_messages.BENCH.measure(True, 7, told, Parts(tmp_path, {}))
    space_company.BENCH.measure(True, 7, told, Parts(tmp_path, {}))
    every = " ".join(f"--security {name}" for name in space_messages.BENCH.full.factors["security"])
    assert program.asked[0].endswith(every)
    assert all("--security" in words and "dtls" not in words for words in program.asked)


def test_dtls_is_measured_beside_what_promises_as_little(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Program(monkeypatch, {0: 1000, 2000: 20})
    space_messages.DTLS.measure(False, 7, told, Parts(tmp_path, {}))
    assert len(program.asked) == 10
    assert "--security sdls-gcm-aws-lc --security quic-datagram --security dtls" in program.asked[0]


def test_s2n_quic_is_measured_beside_quinn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In each block, with fewer samples after two seconds than registered benches have."""
    program = Program(monkeypatch, {0: 1000})
    space_messages.S2N_QUIC.measure(False, 7, told, Parts(tmp_path, {}))
    assert len(program.asked) == 2 * 10
    securities = ("sdls-gcm-aws-lc", "quic-stream", "quic-datagram", "s2n-stream", "s2n-datagram")
    for words in program.asked[:2]:
        assert " ".join(f"--security {name}" for name in securities) in words
    assert ["--samples 10" in words for words in program.asked[:2]] == [False, True]
    counted = space_messages.S2N_QUIC.full.details["samples"]
    assert counted == {"0": 1000, "2000": 10}


def test_openssl_is_measured_beside_the_other_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Program(monkeypatch, {0: 1000})
    space_messages.OPENSSL.measure(False, 7, told, Parts(tmp_path, {}))
    assert len(program.asked) == 2 * 10
    for words in program.asked[:2]:
        assert "--security quic-stream --security" not in words
        assert "--provider aws-lc --provider ring --provider openssl" in words
    assert ["--samples 10" in words for words in program.asked[:2]] == [False, True]


def handshakes(
    monkeypatch: pytest.MonkeyPatch, folder: Path, bench: Bench, kinds: list[dict[str, str]]
) -> list[str]:
    """What is asked of the program, which answers with a handshake of each kind."""
    asked: list[str] = []

    def rows(name: str, words: list[str]) -> pa.Table:
        asked.append(" ".join(words))
        times = {"block": 0, "order": 1, "ground_cpu_ns": 100_000, "space_cpu_ns": 200_000}
        return pa.Table.from_pylist([HANDSHAKE | times | kind for kind in kinds])

    monkeypatch.setattr(space_handshakes, "rows", rows)
    monkeypatch.setattr(space_handshakes, "facts", lambda: FACTS)
    monkeypatch.setattr(space_handshakes, "machine", dict)
    bench.check(bench.measure(False, 7, told, Parts(folder, {})).table)
    return asked


def test_handshakes_of_s2n_quic_are_measured_beside_those_of_quinn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both = [{"security": "quic-stream"}, {"security": "s2n-stream"}]
    asked = handshakes(monkeypatch, tmp_path, space_handshakes.S2N_QUIC, both)
    assert asked == ["handshakes --seed 7 --security quic-stream --security s2n-stream --cipher aes-256-gcm"]


def test_handshakes_of_openssl_are_measured_beside_those_of_the_other_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    all_ = [{"provider": "aws-lc"}, {"provider": "ring"}, {"provider": "openssl"}]
    asked = handshakes(monkeypatch, tmp_path, space_handshakes.OPENSSL, all_)
    providers = "--provider aws-lc --provider ring --provider openssl"
    assert asked == [f"handshakes --seed 7 --security quic-stream {providers} --cipher aes-256-gcm"]
    with pytest.raises(RunError, match="provider = openssl, which its plan does not have"):
        handshakes(monkeypatch, tmp_path / "other", space_handshakes.S2N_QUIC, all_)


@pytest.mark.parametrize(
    ("about", "refused", "reason"),
    [
        (
            {"rustls": "0.23.46"},
            [it for it in BENCHES.values() if it.name.endswith("-openssl")],
            "has no OpenSSL in it.*--features openssl.*libssl-dev",
        ),
        (
            {"rustls": "0.23.46", "openssl": "3.0.19"},
            [
                *(space_memory.BENCH, space_memory.DTLS, space_memory.S2N_QUIC),
                *(space_sizes.BENCH, space_sizes.S2N_QUIC),
            ],
            "has OpenSSL in it, which is in every number",
        ),
    ],
)
def test_openssl_is_where_it_is_measured_and_in_no_other_memory(
    monkeypatch: pytest.MonkeyPatch, about: dict[str, str], refused: list[Bench], reason: str
) -> None:
    monkeypatch.setattr(space_link, "program", Path)
    monkeypatch.setattr(space_link, "about", lambda: about)
    monkeypatch.setattr("shutil.which", Path)
    space = [bench for bench in BENCHES.values() if bench.name.startswith("space-")]
    for bench in (it for it in space if "elsewhere" not in it.name):
        if bench in refused:
            with pytest.raises(UserError, match=reason):
                bench.ready()
        else:
            bench.ready()


def test_another_number_of_samples_than_planned_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Program(monkeypatch, {0: 100, 2000: 2})
    with pytest.raises(RunError, match="quic-stream 2 times after 2000 ms in a block and the plan says 3"):
        space_messages.BENCH.measure(True, 7, told, Parts(tmp_path, {}))


@pytest.mark.parametrize("bench", [space_messages, space_company])
def test_another_distance_between_turns_than_planned_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bench: Any
) -> None:
    Program(monkeypatch, {})
    monkeypatch.setattr(bench, "facts", lambda: {"libraries": {"apart_ms": 40}})
    with pytest.raises(RunError, match="keeps turns 40 ms apart and the plan says 70"):
        bench.BENCH.measure(True, 7, told, Parts(tmp_path, {}))


def test_in_full_each_rest_has_the_samples_of_the_issue() -> None:
    """10,000 without a rest and after 10 ms, 500 after half a second, 200 after two."""
    full = space_messages.BENCH.full
    samples = {rest: count * full.repetitions for rest, count in full.details["samples"].items()}
    assert samples == {"0": 10_000, "10": 10_000, "500": 500, "2000": 200}


def test_a_message_is_measured_alone_and_beside_others_in_turn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = Program(monkeypatch, {})
    found = space_company.BENCH.measure(True, 7, told, Parts(tmp_path, {}))
    assert ["--alone" in words for words in program.asked] == [True, False, False, True, True, False]
    rows = found.table.to_pylist()
    assert {(row["company"], row["repetition"]) for row in rows} == {
        (way, block) for way in ("alone", "beside") for block in (1, 2, 3)
    }
    assert len(rows) == 6, "128 bytes are company only"


def test_a_message_rests_mostly_so_long_and_the_whole_bench_at_least_so_long() -> None:
    samples = [
        messages((0, 1000 * total, None), rested_ns=rested, quiet_ns=quiet)
        for total, rested, quiet in (
            (10, 2_000_000_000, 90_000_000),
            (30, 2_100_000_000, 71_000_000),
            (80, 2_900_000_000, 75_000_000),
        )
    ]
    together = pa.concat_tables(samples).append_column("company", pa.array(["alone"] * 3))
    (row,) = space_company.table(together).to_pylist()
    assert (row["message_mean_s"], row["message_median_s"]) == pytest.approx((40e-6, 30e-6))
    assert (row["rest_s"], row["quiet_s"]) == pytest.approx((2.1, 0.071))
