"""What ATTACK's page says in numbers is what the committed summary has."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from gauntlet.attack import prediction
from gauntlet.benches import attack_flood, attack_slow, traffic_sites
from gauntlet.studies import study
from gauntlet.studies.summary import Summary

STUDY = study("attack")
SUMMARY = Summary.load(STUDY.summary)
ROOT = Path(__file__).parents[2]
MANIFEST = json.loads((STUDY.summary / "manifest.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "studies" / "attack.md").read_text(encoding="utf-8")
CLAIMS = json.loads((STUDY.summary / "verdicts.json").read_text(encoding="utf-8"))["claims"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FULL = {"variant": "full", "certificate": "p-256", "defence": "off"}
PLAIN = {"defence": "off", "resumption": "none"}
LEVELS = ("none", "half", "once", "1.5 times", "twice")


def mean(bench: str, kpi: str, **of: Any) -> float:
    """The mean over the valid repetitions of one condition."""
    table = SUMMARY.flows(bench)
    if "invalid" in table.column_names:
        table = table.filter(pc.equal(table["invalid"], 0.0))
    for name, value in of.items():
        table = table.filter(pc.equal(table[name], value))
    assert table.num_rows == len(set(table["repetition"].to_pylist())) > 1, of
    return float(np.mean(table[kpi].to_numpy()))


def flood(kpi: str, server: str, over: str, load: float, **other: str) -> float:
    return mean("flood", kpi, server=server, over=over, load=load, **FULL | other)


def held(server: str, over: str) -> float:
    return mean("memory", "bytes_a_connection", server=server, over=over, way="header-drip")


def instructions(over: str, certificate: str = "p-256", **other: str) -> float:
    return mean("cost", "server_instructions", over=over, certificate=certificate, **PLAIN | other)


def wait(seconds: float) -> str:
    """As the page says it: two digits, milliseconds below half a second."""
    value, unit = (seconds, "s") if seconds >= 0.5 else (seconds * 1e3, "ms")
    digits = max(0, (1 if value >= 1 or unit == "ms" else 2) - (value >= 9.95) * 1)
    return f"{value:.{digits}f} {unit}"


def cell(server: str, over: str, load: float) -> str:
    served = flood("served_share", server, over, load)
    lost = "" if served > 0.999 else f", {100 * served:.{int(served >= 0.995)}f} % served"
    return wait(flood("delay_restricted_mean_s", server, over, load)) + lost


def test_the_page_says_on_which_processor_each_bench_was_measured() -> None:
    for name, bench in MANIFEST["benches"].items():
        machine = bench["machine"]
        measured_on = f"| {machine['processor']} | {machine['kernel']} |"
        assert any(f"`{name}`" in it for it in PAGE.splitlines() if it.endswith(measured_on)), name
    (kernel,) = {it["kernel"] for it in MANIFEST["experiments"].values()}
    assert f"| {kernel}, in each guest |" in PAGE


def test_the_page_says_what_a_first_look_leaves_out() -> None:
    floods, slow = attack_flood.conditions(quick=True), attack_slow.conditions(quick=True)
    assert "plays floods at three levels, slow attacks with none and 500 held, and no network" in PAGE
    assert {it["server"] for it in [*floods, *slow]} == {"own", "nginx"}
    assert len({it["load"] for it in floods}) == 3
    assert {it["held_asked"] for it in slow} == {0, 500}
    assert "cnn" not in {it["attack"] for it in traffic_sites.conditions(quick=True)}
    assert "memory, recovery and weaknesses are played where they are named" in PAGE
    named = {it.name for it in study("attack").benches if not it.quick}
    assert {"memory", "recovery", "weaknesses"} <= named


@pytest.mark.parametrize(("level", "load"), list(zip(LEVELS, (0.0, 0.5, 1.0, 1.5, 2.0), strict=True)))
def test_the_table_of_floods_is_the_summary_s(level: str, load: float) -> None:
    cells = [cell(server, over, load) for server in ("nginx", "own") for over in ("h2", "h3")]
    (row,) = [
        line for line in PAGE.splitlines() if line.startswith((f"| {level} |", f"| {level}: mean wait"))
    ]
    assert [it.strip() for it in row.split("|")[2:-1]] == cells


def test_the_readme_says_the_same_of_the_highest_level() -> None:
    served = {it: f"{100 * flood('served_share', 'nginx', it, 2.0):.0f} %" for it in ("h2", "h3")}
    waited = wait(flood("delay_restricted_mean_s", "nginx", "h2", 2.0))
    offered = flood("offered_per_s", "nginx", "h3", 2.0)
    said = (
        f"under {offered:.0f} handshakes a second, twice what it completes at most over HTTP/2, nginx serves"
    )
    assert f"{said} {served['h2']} over TLS and TCP, in {waited}, and {served['h3']} over QUIC" in README


def ms(server: str, over: str) -> str:
    return f"{1e3 * flood('server_cpu_a_handshake_s', server, over, 0.5):.2f}"


def grown(over: str) -> float:
    return flood("process_growth_bytes", "nginx", over, 2.0) / 1e6


def kb(server: str, over: str) -> str:
    return f"{held(server, over) / 1e3:.0f}"


def slow(over: str, held_asked: int) -> str:
    way = "header-drip" if held_asked else "none"
    return wait(
        mean("slow", "delay_restricted_mean_s", server="nginx", over=over, way=way, held_asked=held_asked)
    )


def rsa(bits: int, over: str, digits: int) -> str:
    return f"{instructions(over, f'rsa-{bits}') / instructions(over):.{digits}f}"


def slower(bits: int, over: str) -> str:
    """By how many times RSA takes the server longer than P-256."""
    spent = [
        mean("cost", "server_cpu_a_handshake_s", over=over, certificate=it, **PLAIN)
        for it in (f"rsa-{bits}", "p-256")
    ]
    return f"{spent[0] / spent[1]:.1f}"


def dropped(server: str, over: str) -> str:
    return f"{round(flood('dropped_packets', server, over, 2.0)):,}"


def saved(over: str) -> str:
    return f"{100 * (1 - instructions(over, resumption='ticket') / instructions(over)):.0f} %"


def test_the_sentences_are_the_summary_s() -> None:
    million = [f"{instructions(over) / 1e6:.2f}" for over in ("h3", "h2")]
    attacker = [f"{1e3 * flood('attacker_cpu_a_handshake_s', 'own', it, 0.5):.2f}" for it in ("h3", "h2")]
    completed = {
        it: [f"{flood('completed_per_s', it, over, 2.0):.0f}" for over in ("h2", "h3")]
        for it in ("nginx", "own")
    }
    served = [flood("served_share", "own", "h3", 2.0, defence=it) for it in ("off", "retry")]
    for sentence in (
        f"nginx needs {ms('nginx', 'h3')} ms for one over QUIC and {ms('nginx', 'h2')} ms over TLS and TCP",
        f"Gauntlet's own server {ms('own', 'h3')} and {ms('own', 'h2')} ms",
        f"({1e3 * flood('server_cpu_a_handshake_s', 'own', 'h2', 2.0):.2f} ms at twice)",
        f"{million[0]} and {million[1]} million instructions",
        f"The attacker pays {attacker[0]} ms for one over QUIC and {attacker[1]} ms over TLS and TCP",
        f"nginx completes {completed['nginx'][0]} a second over TLS and TCP and {completed['nginx'][1]} over",
        f"Gauntlet's own server {completed['own'][0]} and {completed['own'][1]}",
        f"grows by {grown('h2'):.1f} MB at twice over TLS and TCP and by {grown('h3'):.0f} MB",
        f"{dropped('nginx', 'h2')} packets to nginx found a full queue over TLS and TCP and",
        f"{dropped('nginx', 'h3')} over QUIC, for whose one socket",
        f"where {dropped('own', 'h3')} packets found no room",
        f"nginx computes {1e3 * flood('server_cpu_a_handshake_s', 'nginx', 'h3', 2.0):.1f} ms at twice",
        f"RSA with 2,048 bits is {slower(2048, 'h2')} and {slower(2048, 'h3')} times",
        f"{kb('nginx', 'h1')} kB of nginx over HTTP/1.1 and {kb('nginx', 'h3')} kB over HTTP/3",
        f"of Gauntlet's own server {kb('own', 'h1')} and {kb('own', 'h3')} kB",
        f"clients of nginx wait {slow('h1', 500)} over HTTP/1.1 and {slow('h3', 500)} over HTTP/3",
        f"with none {slow('h1', 0)} and {slow('h3', 0)}",
        f"over HTTP/1.1, where they wait {slow('h1', 1000)}",
        f"it has {100 * served[1]:.0f} % served instead of {100 * served[0]:.0f} %",
        f"{rsa(2048, 'h2', 1)} times the instructions of P-256",
        f"and {rsa(2048, 'h3', 1)} times over QUIC",
        f"{rsa(4096, 'h2', 0)} and {rsa(4096, 'h3', 0)} times",
        f"saves {saved('h2')} and {saved('h3')} of them",
    ):
        assert sentence in PAGE, sentence
    assert all(it["invalid"] for it in runs("slow", server="nginx", over="h3", held_asked=1000))


def test_a_level_is_a_multiple_of_what_the_server_itself_completes() -> None:
    most = {it: flood("capacity_per_s", it, "h2", 1.0) for it in ("nginx", "own")}
    said = f"{most['nginx']:.0f} handshakes a second of nginx and {most['own']:.0f} of Gauntlet's own server"
    assert said in PAGE
    for server, per_s in most.items():
        for level in (0.5, 1.0, 1.5, 2.0):
            for over in ("h2", "h3"):
                assert flood("offered_per_s", server, over, level) == pytest.approx(level * per_s, rel=0.01)
    full = {("nginx", "h2"): 1.0, ("nginx", "h3"): 0.5, ("own", "h2"): 1.0, ("own", "h3"): 0.5}
    for (server, over), level in full.items():
        assert flood("server_cpu_of_a_core", server, over, level) > 0.195
        assert flood("server_cpu_of_a_core", server, over, level - 0.5) < 0.195


def test_how_much_more_the_attacker_could_begin_is_the_summary_s() -> None:
    times = [it["attacker_headroom"] for it in runs("flood") if it["load"] and not it["invalid"]]
    assert f"could have begun at least {min(times):.1f} times as much" in PAGE


def test_what_a_server_does_at_its_capacity_is_the_summary_s() -> None:
    of = runs("flood", server="own", over="h2", load=1.0, defence="off", variant="full")
    waits = [wait(it["delay_restricted_mean_s"]) for it in sorted(of, key=lambda it: -it["completed_per_s"])]
    rates = sorted((f"{it['completed_per_s']:.0f}" for it in of), key=float, reverse=True)
    assert f"wait {waits[0]}, {waits[1]}, {waits[2]} and {waits[3]}, where {', '.join(rates[:3])}" in PAGE
    assert f"and {rates[3]} a second are completed" in PAGE


def test_how_many_runs_of_the_flood_tell_nothing_is_the_summary_s() -> None:
    every, invalid = runs("flood"), [it for it in runs("flood") if it["invalid"]]
    assert f"{len(every)} runs, {len(invalid) or 'none'} of them invalid" in PAGE


def test_a_bound_that_strangers_fill_shuts_out_everybody_and_retry_opens_it() -> None:
    of = {"server": "own", "over": "h3", "load": 2.0, "variant": "initial-only", "certificate": "p-256"}
    shares = [mean("flood", "served_share", **of, defence=it) for it in ("off", "retry")]
    assert shares == [0.0, 1.0]
    computing = [100 * mean("flood", "server_cpu_of_a_core", **of, defence=it) for it in ("off", "retry")]
    assert f"({computing[0]:.0f} and {computing[1]:.0f} % of a core)" in PAGE
    served = {
        (over, it): 100 * flood("served_share", "own", over, 2.0, defence=it)
        for over in ("h2", "h3")
        for it in ("limit", "off")
    }
    assert f"At twice {served['h2', 'limit']:.0f} % are served with it over TLS and TCP" in PAGE
    assert f"and {served['h2', 'off']:.0f} % without; over QUIC" in PAGE
    assert f"over QUIC {served['h3', 'limit']:.0f} % and {served['h3', 'off']:.0f} %" in PAGE
    for over in ("h1", "h3"):
        stalled = {"server": "own", "over": over, "way": "handshake-stall"}
        assert [mean("slow", "served_share", **stalled, held_asked=it) for it in (500, 1000)] == [1.0, 0.0]


def runs(bench: str, **of: Any) -> list[dict[str, Any]]:
    """The runs of one condition."""
    rows = SUMMARY.flows(bench).to_pylist()
    return [it for it in rows if all(it[name] == value for name, value in of.items())]


def fallen(server: str) -> list[str]:
    """Attacks over HTTP/3 that the server did not withstand in every run."""
    of = runs("weaknesses", server=server, over="h3", bound="as it is")
    assert of
    return sorted({it["attack"] for it in of if it["holds"] < 1.0})


WEAKNESSES = ("weaknesses", "weaknesses-tcp", "weaknesses-libraries")


def withstood(server: str, bound: str, *overs: str) -> str:
    """How many attacks were withstood in every run, of those that were tried over these."""
    held: dict[tuple[str, str], list[bool]] = {}
    for bench in WEAKNESSES:
        for it in runs(bench, server=server, bound=bound, invalid=0.0):
            if it["over"] in overs:
                held.setdefault((it["attack"], it["over"]), []).append(it["holds"] == 1.0)
    return f"{sum(map(all, held.values()))} of {len(held)}" if held else "–"


VERSIONS = {
    name: version
    for bench in WEAKNESSES
    for name, version in MANIFEST["benches"][bench]["machine"]["servers"].items()
}


@pytest.mark.parametrize(
    ("named", "server", "bound"),
    [
        ("Gauntlet's own server", "own", "as it is"),
        ("the same over s2n-quic", "s2n-quic", "as it is"),
        ("the same without the bound that stops the attack (a control)", "own", "weakened"),
        (f"nginx {VERSIONS['nginx'].split()[0]}", "nginx", "as it is"),
        (f"Caddy {VERSIONS['caddy']}, as Debian has it", "caddy", "as it is"),
        (f"aioquic {VERSIONS['aioquic']}", "aioquic", "as it is"),
        (f"quiche {VERSIONS['quiche']}", "quiche", "as it is"),
        (
            f"quiche {VERSIONS['quiche-old']}, from before three advisories (a control)",
            "quiche-old",
            "as it is",
        ),
    ],
)
def test_the_table_of_weaknesses_is_the_summary_s(named: str, server: str, bound: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {named} |")]
    cells = [withstood(server, bound, "h3"), withstood(server, bound, "h1", "h2")]
    assert [it.strip() for it in row.split("|")[2:-1]] == cells


def test_how_often_each_attack_was_played_is_the_summary_s() -> None:
    over = [it["over"] for it in runs("weaknesses")]
    rest = f"{len(over) - over.count('h3')} of Gauntlet's own server over HTTP/1.1 and HTTP/2"
    assert f"({len(over)} runs: {over.count('h3')} over HTTP/3, and {rest}; one is invalid)" in PAGE
    assert {it["server"] for it in runs("weaknesses") if it["over"] != "h3"} == {"own"}
    assert f"`--only weaknesses-tcp` ({len(runs('weaknesses-tcp'))} runs, all valid)" in PAGE
    assert [len(runs(it, invalid=1.0)) for it in ("weaknesses", "weaknesses-tcp")] == [1, 0]


def test_what_aioquic_falls_by_is_the_summary_s() -> None:
    of: dict[str, list[dict[str, Any]]] = {}
    for it in runs("weaknesses-libraries", server="aioquic", invalid=0.0):
        of.setdefault(it["attack"], []).append(it)
    always = {it for it, found in of.items() if len(found) == 3 and not any(run["holds"] for run in found)}
    sometimes = {it for it, found in of.items() if 0 < sum(run["holds"] for run in found) < len(found)}
    assert (len(always), sometimes) == (11, {"handshake-stall"})
    assert [run["holds"] for run in of["long-settings"]] == [0.0]
    unserved = {it for it in always if all(run["served_share"] < 0.95 for run in of[it])}
    assert len(unserved) == 9
    every = sorted(100 * run["served_share"] for it in unserved for run in of[it])
    assert f"Under nine of the eleven {every[0]:.0f} to {every[-1]:.0f} % of honest requests" in PAGE
    grown = {it: megabytes("weaknesses-libraries", server="aioquic", attack=it) for it in always}
    kept = [grown[it] for it in ("window-starvation", "ack-withholding")]
    least, most = min(int(it[0]) for it in kept), max(int(it[1]) for it in kept)
    assert f"nobody takes or acknowledges leave {least} to {most} MB" in PAGE
    assert f"come too early {' to '.join(grown['optimistic-ack'])} MB" in PAGE
    assert len(SUMMARY.flows("weaknesses-libraries").to_pylist()) == 96


def test_what_makes_clients_of_caddy_wait_is_the_summary_s() -> None:
    late = ("ack-withholding", "body-drip", "rapid-reset")
    waited = [
        mean("weaknesses", "delay_restricted_mean_s", server="caddy", over="h3", attack=it) for it in late
    ]
    assert f"in the mean {wait(waited[0])} (who" in PAGE
    assert f"{wait(waited[1])} (bodies in drops) and {waited[2]:.1f} s (requests that are taken back)" in PAGE


def megabytes(bench: str, **of: Any) -> tuple[str, str]:
    """The least and the most by which process and sockets together grew in these runs."""
    grew = [it["process_growth_bytes"] + it["kernel_growth_bytes"] for it in runs(bench, **of)]
    return f"{min(grew) / 1e6:.0f}", f"{max(grew) / 1e6:.0f}"


def shares(bench: str, **of: Any) -> str:
    """The least and the most share of honest requests that were served."""
    served = sorted(100 * it["served_share"] for it in runs(bench, **of))
    return f"{served[0]:.0f} to {served[-1]:.0f} %"


def test_who_falls_by_what_is_the_summary_s() -> None:
    library = ["cid-exhaustion", "crypto-after-handshake", "path-challenge"]
    assert (fallen("own"), fallen("quiche"), fallen("quiche-old")) == (["amplification"], [], library)
    least, most = megabytes(
        "weaknesses", server="own", over="h1", attack="window-starvation", bound="as it is"
    )
    assert f"by windows that are shut over HTTP/1.1, which leave {least} to {most} MB" in PAGE
    assert "handshake-stall" not in fallen("nginx")
    of = {it: runs("weaknesses", server="nginx", over="h3", attack=it) for it in fallen("nginx")}
    always = [it for it, of_it in of.items() if all(each["holds"] == 0 for each in of_it)]
    assert (len(of), len(always)) == (8, 7)
    served = sorted(100 * each["served_share"] for it in always for each in of[it])
    assert f"{served[0]:.0f} to {served[-1]:.0f} % of honest requests are served" in PAGE


def test_what_caddy_falls_by_is_the_summary_s() -> None:
    of = {"server": "caddy", "over": "h3"}
    for sentence in (
        f"compressed headers {shares('weaknesses', attack='header-expansion', **of).partition(' to ')[0]} %",
        f"first flights {shares('weaknesses', attack='flood-initial', **of)}",
        f"several in a datagram {shares('weaknesses', attack='coalesced-initials', **of)}",
        "path challenges {} to {} MB".format(*megabytes("weaknesses", attack="path-challenge", **of)),
        "connection IDs {} to {} MB".format(*megabytes("weaknesses", attack="cid-exhaustion", **of)),
    ):
        assert sentence in PAGE, sentence
    open_still = {"handshake-stall", "header-drip", "window-starvation"}
    assert open_still | {"path-challenge", "cid-exhaustion", "header-expansion"} <= set(fallen("caddy"))


def test_what_falls_over_tcp_is_the_summary_s() -> None:
    kept = [
        float(it)
        for server in ("nginx", "caddy")
        for attack, over in (
            ("ack-withholding", "h1"),
            ("ack-withholding", "h2"),
            ("window-starvation", "h1"),
        )
        for it in megabytes("weaknesses-tcp", server=server, attack=attack, over=over)
    ]
    assert f"{min(kept):.0f} to {max(kept):.0f} MB of five hundred connections in the kernel" in PAGE
    resets = {it: runs("weaknesses-tcp", server=it, attack="rapid-reset") for it in ("nginx", "caddy")}
    assert "leave Caddy serving nobody; nginx serves all" in PAGE
    assert [{it["served_share"] for it in resets[name]} for name in ("caddy", "nginx")] == [{0.0}, {1.0}]


def test_controls_fall_but_one_and_not_all_by_harm_to_honest_clients() -> None:
    controls = runs("weaknesses", server="own", bound="weakened", invalid=0.0)
    assert {(it["attack"], it["over"]) for it in controls if it["holds"] > 0} == {("rapid-reset", "h3")}
    fell = [it for it in controls if it["holds"] == 0 and it["attack"] != "amplification"]
    unserved = [it for it in fell if it["served_share"] < 0.95]
    grown = [it for it in fell if it["process_growth_bytes"] + it["kernel_growth_bytes"] > 64e6]
    assert unserved
    assert grown
    assert [it for it in fell if it not in unserved and it not in grown]


def test_the_long_flood_is_the_summary_s() -> None:
    shares = {(server, over): mean("flood-long", "served_share", server=server, over=over)
              for server in ("nginx", "own") for over in ("h2", "h3")}  # fmt: skip
    waits = [mean("flood-long", "delay_restricted_mean_s", server=it, over="h2") for it in ("nginx", "own")]
    assert shares["nginx", "h2"] == shares["own", "h2"] == 1.0
    quic = {server: f"{100 * shares[server, 'h3']:.0f} %" for server in ("nginx", "own")}
    assert f"TLS and TCP, in {waits[0]:.1f} s, and {quic['nginx']} over QUIC" in PAGE
    assert f"Gauntlet's own server everybody, in {1e3 * waits[1]:.0f} ms, and {quic['own']}." in PAGE
    for over in ("h2", "h3"):
        dropped = sorted(it["dropped_packets"] / 1e3 for it in runs("flood-long", server="nginx", over=over))
        assert f"{dropped[0]:.0f},000 to {dropped[-1]:.0f},000" in PAGE, over


def test_what_cookies_are_worth_is_the_summary_s() -> None:
    served = [
        f"{100 * mean('syn-cookies', 'served_share', cookies='off', flood_per_s=it):.0f} %"
        for it in (10_000, 2000)
    ]
    assert f"leave {served[0]} of honest requests served without them, 2,000 leave {served[1]}" in PAGE
    for cookies in ("when-full", "always"):
        for rate in (2000, 10_000):
            of = {"cookies": cookies, "flood_per_s": rate}
            assert mean("syn-cookies", "served_share", **of) == 1.0
            assert wait(mean("syn-cookies", "delay_restricted_mean_s", **of)).startswith(("2.9", "3."))
    assert f"{SUMMARY.flows('syn-cookies').num_rows} runs" in PAGE


def test_what_early_data_saves_is_the_summary_s() -> None:
    ratios = [
        instructions(over, resumption="0-rtt") / instructions(over, resumption="ticket")
        for over in ("h2", "h3")
    ]
    assert (
        f"executes {ratios[0]:.2f} of what a ticket alone takes over TLS and TCP, and {ratios[1]:.2f}" in PAGE
    )
    assert not [it for it in SUMMARY.flows("cost").to_pylist() if it["invalid"]]


def test_what_differs_while_nobody_attacks_is_the_summary_s() -> None:
    def ms(kpi: str, over: str) -> float:
        return 1e3 * mean("cost", kpi, over=over, certificate="p-256", **PLAIN)

    def row(*kpis: str) -> str:
        cells = [", ".join(f"{ms(it, over):.2f}" for it in kpis) for over in ("h2", "h3")]
        return f" | {cells[0]} | {cells[1]} |"

    ends = ("server_cpu_a_handshake_s", "client_cpu_a_handshake_s")
    assert f"until the client's handshake is over{row('handshake_median_s')}" in PAGE
    assert f"to the last byte of its answer{row('request_median_s')}" in PAGE
    assert f"kernel included (means): server, client{row(*ends)}" in PAGE
    more = {it: ms(it, "h3") - ms(it, "h2") for it in (*ends, "handshake_median_s", "request_median_s")}
    waits = more["handshake_median_s"] + more["request_median_s"]
    both = more[ends[0]] + more[ends[1]]
    assert f"waits {waits:.1f} ms longer over QUIC, and the two processes compute {both:.1f} ms" in PAGE
    assert f"the server {more[ends[0]]:.1f}, the client {more[ends[1]]:.1f}" in PAGE


@pytest.mark.parametrize("claim", ["handshake-longer-over-quic", "request-alike"])
def test_intervals_of_what_differs_while_nobody_attacks_are_the_verdicts(claim: str) -> None:
    decided = CLAIMS[claim]
    shown = " [".join(f"{decided[it]:.2f}" for it in ("value", "low"))
    assert f"{shown} to {decided['high']:.2f}]" in PAGE


def test_rsa_by_computing_time_is_that_of_the_runs() -> None:
    said = []
    for over in ("h2", "h3"):
        of = {
            it: {run["repetition"]: run["server_cpu_a_handshake_s"] for run in found}
            for it in ("rsa-2048", "p-256")
            if (found := runs("cost", over=over, certificate=it, **PLAIN))
        }
        times = sorted(of["rsa-2048"][it] / of["p-256"][it] for it in of["p-256"])
        said.append(f"{times[0]:.1f} to {times[-1]:.1f}")
    assert f"({said[0]} and {said[1]} in the runs)" in PAGE


IN_PATH = (
    *("quiet", "echo", "echo-late", "echo-held", "replay", "replay-late", "replay-held"),
    *("flipped", "reset", "guesses", "retry", "versions", "swapped"),
)


def session(experiment: str, protocol: str) -> str:
    """How long a session takes with its message, and how many come where not all do."""
    came = 1 - mean(experiment, "message_loss_ratio", protocol=protocol)
    if came == 0:
        return "none"
    took_s = mean(experiment, "message_delay_with_setup_s", protocol=protocol)
    took = f"{1e3 * took_s:.1f} ms" if took_s < 0.01 else f"{1e3 * took_s:.0f} ms"
    return (
        took
        if came == 1
        else f"{took}, {100 * came:.0f} %"
        if came < 0.995
        else f"{took}, {100 * came:.1f} %"
    )


@pytest.mark.parametrize("experiment", IN_PATH)
def test_the_table_of_the_path_is_the_summary_s(experiment: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("|") and f"(`{experiment}`)" in line]
    cells = [session(experiment, it) for it in ("tls-cubic", "quic-quinn-cubic", "quic-s2n-cubic")]
    assert [it.strip() for it in row.split("|")[2:-1]] == cells


def test_what_a_slow_server_shows_is_the_summary_s() -> None:
    alike = [it["value"] for it in CLAIMS["slow-server-alike"]["parts"]]
    assert f"over QUIC {min(alike):.2f} to {max(alike):.2f} of the time" in PAGE
    behind = [it["value"] for it in CLAIMS["slow-server-queues-below-capacity"]["parts"]]
    assert "at 0.85 of what it can do twice as long as at 0.23" in PAGE
    assert {round(it) for it in behind} == {2}
    enough = CLAIMS["slow-attacker-explains-twenty-times"]
    assert f"{enough['measured']}, where at least 15 were asked for, so it is {enough['verdict']}" in PAGE
    played = sum(
        len(set(SUMMARY.flows(it)["run"].to_pylist())) for it in ("slow-server", "slow-server-flooded")
    )
    assert f"`--only slow-server --only slow-server-flooded`, {played} runs" in PAGE


WHOLE = {
    "unit": "visit",
    "split": "session",
    "packets": 0,
    "world": "closed",
    "without": "none",
    "padding": "none",
}


def named(kpi: str, attack: str, learnt: str, tried: str = "", **other: Any) -> float:
    """In percent, of visits as they are unless something else is asked for."""
    return 100 * mean("sites", kpi, attack=attack, learnt=learnt, tried=tried or learnt, **WHOLE | other)


def right(attack: str, learnt: str, tried: str = "", **other: Any) -> str:
    return f"{named('micro_f1', attack, learnt, tried, **other):.0f}"


def test_the_table_of_visits_is_the_summary_s() -> None:
    rows = {
        "visits, by a forest": [right("forest", it) for it in ("h2", "h3")],
        "by a network": [right("cnn", it) for it in ("h2", "h3")],
        "by nearest neighbours": [right("knn", it) for it in ("h2", "h3")],
        "by a forest from the first fifty packets, the first ten": [
            ", ".join(right("forest", it, packets=count) for count in (50, 10)) for it in ("h2", "h3")
        ],
        "by a forest that has learnt over the other protocol": [
            right("forest", "h3", "h2"),
            right("forest", "h2", "h3"),
        ],
        "by a forest without packets with data, or of QUIC those behind the handshake": [
            right("forest", "h2", without="tcp-data"),
            right("forest", "h3", without="quic-data"),
        ],
        "by a forest where packets are filled up: TLS records as if they were, QUIC by PADDING": [
            right("forest", "h2", padding="simulated"),
            right("forest", "h3-padded", padding="stack"),
        ],
        "windows of ten packets, as the study has them, by a network": [
            right("cnn", it, unit="window", split="none") for it in ("h2", "h3")
        ],
    }
    for head, cells in rows.items():
        assert f"| {head} | {' | '.join(cells)} |" in PAGE.splitlines(), head


def test_what_is_said_of_visits_is_the_summary_s() -> None:
    scale = traffic_sites._FULL
    assert (scale.monitored, scale.repetitions, scale.others) == (10, 12, 40)
    assert scale.sessions * scale.visits == 16
    by_attack = [it["measured"] for it in CLAIMS["quic-harder-to-learn"]["parts"]]
    assert f"By the forest its macro F1 is {by_attack[1]} of that over TLS and TCP" in PAGE
    assert f"by the network {by_attack[2]}." in PAGE
    assert f"By them it is {by_attack[0].split()[0]}." in PAGE
    without = right("forest", "h3", without="quic-data"), right("forest", "h3", without="quic-handshake")
    assert (
        f"without it the forest is right in {without[0]} %, without the handshake in {without[1]} %" in PAGE
    )
    cost = [
        100 * mean("sites", f"{it}_overhead", attack="forest", learnt="h3-padded") for it in ("byte", "time")
    ]
    left = right("forest", "h3-padded", padding="stack")
    bytes_, longer = (f"{it:.0f} %" for it in cost)
    said = f"{bytes_} more bytes over QUIC and visits that take {longer} longer leave the forest {left} %"
    assert f"{said} and nearest neighbours {right('knn', 'h3-padded', padding='stack')} %" in PAGE
    collapse = [f"{it['value']:.2f}" for it in CLAIMS["cross-protocol-collapse"]["parts"]]
    assert f"the forest keeps {collapse[2]} and {collapse[3]} of what it names over its own" in PAGE
    assert (right("knn", "h3", "h2"), right("knn", "h2", "h3")) == ("14", "15")
    assert "nearest neighbours name 14 and 15 %." in PAGE
    for over in ("h2", "h3"):
        open_world = {
            it: named(it, "forest", over, world="open") for it in ("found", "alarms", "precision_20")
        }
        assert round(open_world["found"]) == 90 and round(open_world["precision_20"]) == 8
        assert 45 < open_world["alarms"] < 55
    assert "the forest finds 90 % of the visits" in PAGE and "8 % of its alarms are right" in PAGE


def test_what_was_foretold_and_found_is_the_summary_s() -> None:
    of = {"over": "h2", "load": 1.15}
    completed = [mean("prediction", f"{it}completed_per_s", **of) for it in ("foretold_", "")]
    late = [mean("prediction", f"{it}p99_s", **of) for it in ("foretold_", "")]
    foretold = (
        f"{completed[0]:.0f} sessions a second and, after a flood of nineteen seconds, a 99th percentile of "
        f"{late[0]:.1f} s are foretold"
    )
    learnt = MANIFEST["benches"]["prediction"]["machine"]["learnt"]["h2"]
    capacity = prediction.Costs(*learnt).capacity_per_s
    assert f"at 0.3 and 0.6 of what they say it can do, {capacity:.0f} sessions a second over TLS" in PAGE
    assert prediction.LEARNT == (0.3, 0.6) and prediction.AHEAD_S + prediction.CLIENT.sends_s + 1 == 19
    assert 1 - capacity / completed[1] > 1 / 8
    found = f"it completes all {completed[1]:.0f} with {1e3 * late[1]:.1f} ms"
    assert f"At 1.15 over TLS and TCP {foretold}, and {found}" in PAGE
    ratios = {
        over: [f"{mean('prediction', 'p99_ratio', over=over, load=load):.2f}" for load in (0.45, 0.8, 0.95)]
        for over in ("h2", "h3")
    }
    first, second = (f"{', '.join(it[:2])} and {it[2]}" for it in ratios.values())
    assert f"over TLS and TCP {first} of what is found, over QUIC {second}." in PAGE


def test_what_is_looked_at_beside_the_bench_is_said_as_it_was_found() -> None:
    """The file is what `benchmarks/what_packets_tell.py --json` printed of the visits of the summary."""
    looked = json.loads((STUDY.home / "what_packets_tell.json").read_text(encoding="utf-8"))
    causes = (STUDY.home / "causes.toml").read_text(encoding="utf-8").replace("\n", " ")

    def both(what: str) -> tuple[str, str]:
        return f"{looked[f'HTTP/2, {what}']:.0f}", f"{looked[f'HTTP/3, {what}']:.0f}"

    first, whole = (both(f"nearest by counts of sizes, {it}") for it in ("first 300", "all packets"))
    ordered = both("nearest by sizes in order, first 300")
    usual = both("windows named by who says the most frequent site")
    heart = both("windows named by who knows those of other sessions by heart")
    shared, once = both("windows that another site has, too")[0], both("windows that come once")[1]
    bulk = both("windows of full packets and acknowledgements")[0]
    across = {f"{share:.0f}" for what, share in looked.items() if what.startswith("learnt ")}
    counts, ways = (
        f"{looked[f'padded, {it}']:.0f} %"
        for it in ("nearest by counts of sizes, all packets", "forest by packets each way")
    )
    assert (set(usual), across) == ({"17"}, {"56"})
    for sentence in (
        "who says the most frequent site throughout is right in 17 %",
        f"they name {first[0]} % over HTTP/2 and {first[1]} % over HTTP/3",
        f" and of whole visits {whole[0]} and {whole[1]} %",
        f"Over HTTP/2 {shared} % of windows are packet for packet what another site has, too, and {bulk} %",
        f"over HTTP/3 {once} % come once and never again. Who",
        f"knows those of other sessions by heart names {heart[0]} and {heart[1]} %",
        "by the bytes that come in alone a forest names 56 % either way",
        f"of each size the nearest visits name {counts}, and by how many go each way alone a",
        f"go each way alone a forest names {ways}",
    ):
        assert sentence in PAGE, sentence
    for sentence in (
        f"name {first[0]} % over HTTP/2 and {first[1]} % over HTTP/3",
        f"by the same sizes in order {ordered[0]} and {ordered[1]} %",
        f"Over HTTP/2 {shared} % of windows are packet for packet",
        f"over HTTP/3 {once} % come once",
        "By the bytes that come in alone a forest names 56 % of visits",
        f"visits name {counts} ",
        f"forest names {ways}",
    ):
        assert sentence in causes, sentence
