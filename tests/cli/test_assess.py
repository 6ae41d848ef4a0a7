"""`gauntlet assess` and `gauntlet residual`: what they say, as JSON, and what they refuse."""

import json
from pathlib import Path

from gauntlet.defences import data

from .conftest import Gauntlet, refused


def test_one_protocol_has_its_cells_beside_d35(gauntlet: Gauntlet) -> None:
    said = " ".join(gauntlet("assess", "udp").stdout.split())
    assert "Masquerade: no:" in said
    assert "D3.5, Table 7, line 1594, ticked: differs" in said
    assert "D3.5, Table 7, line 1592, ticked: faults only" in said
    assert "D3.5, Table 5, line 1514, in short: Only on CheckSum field: agrees" in said
    assert "Repetition 1,050 of 1,050 0 of 1,050" in said, "as the summary has it"
    assert "Insertion 0 of 1,050 i 0 of 1,050" in said, (
        "found by the application, which UDP let it through to"
    )
    assert "no safety integrity level is claimed" in said


def test_the_trials_of_a_protocol_are_printed_whole(gauntlet: Gauntlet) -> None:
    said = gauntlet("assess", "rasta-tls", "--trials").stdout
    page = (Path(__file__).parents[2] / "docs" / "en50159.md").read_text(encoding="utf-8")
    shown = page.split("gauntlet assess rasta-tls --trials\n```\n\n```text\n")[1].split("```")[0].splitlines()
    lines = [line.rstrip() for line in said.splitlines()]
    head, first = lines.index(shown[0]), lines.index(shown[1])
    assert [lines[head], *lines[first : first + len(shown) - 1]] == shown
    assert "D3.5, Table" not in said


def test_all_protocols_as_data(gauntlet: Gauntlet) -> None:
    found = json.loads(gauntlet("assess", "--all", "--json").stdout)
    assert found["sil_claimed"] is False
    assert len(found["cells"]) == 15 * len({it["protocol"] for it in found["cells"]})
    assert {it["tried"] for it in found["cells"] if it["table"] == 5} == {"not tried"}
    assert all("in_short" in it and "verdict" in it for it in found["cells"])
    beside = [it for it in found["cells"] if it["trials"]]
    assert {it["table"] for it in beside} == {7}
    alone = [[of for of in it["trials"] if of["outcomes"][0]["stopped"] is None] for it in beside]
    assert all(
        it["tried"].count(" unnoticed") >= len(of) / 2 > 0 for it, of in zip(beside, alone, strict=True)
    )
    assert found["controls"]["udp"][0]["outcomes"][0]["verdict"] == "undisturbed"
    assert len(found["table_8"]) == 101
    assert sum(not it["judged"] for it in found["table_8"]) == 25
    said = " ".join(gauntlet("assess", "--all").stdout.split())
    assert "D3.5's Table 7: 13 cells differ" in said
    assert "D3.5's Table 7: 12 cells are ticked and hold against faults only" in said
    assert "D3.5's Table 5: 10 cells differ" in said
    assert "D3.5's Table 8: of 76 cells 23 name a protocol that does not hold" in said
    assert "With these it is 33 of 101." in said


def test_an_unknown_protocol_is_one_sentence(gauntlet: Gauntlet) -> None:
    refused(gauntlet("assess", "tcp-tsl"), 2, "'tcp-tsl'", "did you mean 'tcp-tls'?")
    refused(gauntlet("assess"), 2, "--all", "rasta")


def test_of_a_word_that_several_protocols_have_all_are_named(gauntlet: Gauntlet) -> None:
    with_tls = "did you mean 'tcp-tls', 'tcp-mtls', 'sctp-tls', 'dtls', 'dtls-mutual' or 'rasta-tls'?"
    refused(gauntlet("assess", "tls"), 2, "'tls'", with_tls)
    refused(gauntlet("assess", "TLS-CUBIC"), 2, "did you mean 'tcp-tls' or 'tcp-mtls'?")
    refused(gauntlet("assess", "both sides"), 2, "did you mean 'tcp-mtls', 'quic-mutual', 'dtls-mutual' or")


def test_help_names_every_protocol(gauntlet: Gauntlet) -> None:
    told = gauntlet("assess", "--help").stdout.partition("at both ends):")[2].partition("Examples")[0]
    assert " ".join(told.split()).split(", ") == [it.id for it in data.default().protocols]


def test_codes_are_listed_and_answered(gauntlet: Gauntlet) -> None:
    assert "crc-32c" in gauntlet("residual").stdout
    assert "internet" in {it["code"] for it in json.loads(gauntlet("residual", "--json").stdout)}
    said = gauntlet("residual", "crc-32c", "--length", "1518B", "--ber", "1e-4").stdout
    assert ["CRC-32C", "1518", "B", "4", "312,496"] in [line.split()[:5] for line in said.splitlines()]
    assert "none is claimed" in said
    found = json.loads(gauntlet("residual", "crc-16-ccitt", "--length", "64B", "--json").stdout)
    assert found[0]["keeps_limit"] is False
    assert found[0]["distance"] == 4


def test_codes_are_drawn(gauntlet: Gauntlet) -> None:
    assert (
        gauntlet("residual", "crc-16-ccitt", "--length", "64B", "--plot", "codes.svg").stdout == "codes.svg\n"
    )
    assert "<svg" in Path("codes.svg").read_text()


def test_what_no_code_can_do_is_one_sentence(gauntlet: Gauntlet) -> None:
    refused(gauntlet("residual", "crc32"), 2, "'crc32'", "did you mean")
    refused(gauntlet("residual", "crc-32", "--ber", "often"), 2, "--ber often")
    refused(gauntlet("residual", "crc-32", "--ber", "0.9"), 2, "0.9")
    refused(gauntlet("residual", "crc-32", "--length", "2B"), 2, "2 B")
