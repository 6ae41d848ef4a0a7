"""From matrix to runs: order, ids, factors, and what the seeds share."""

import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.errors import UserError
from gauntlet.experiment import RunSpec, expand, plan_run, seeds
from gauntlet.experiment.load import Experiment

from .conftest import CONSTANT, RAIL, Parse


def by_id(experiment: Experiment) -> dict[str, RunSpec]:
    return {run.id: run for run in expand(experiment)}


def test_order_and_ids(parse: Parse) -> None:
    ids = [run.id for run in expand(parse(CONSTANT))]
    assert len(ids) == len(set(ids)) == 2 * 2 * 2 * 2
    assert ids[0] == "tcp-cubic_delay-25ms_loss-0pct_rep-001"
    assert ids[1] == "tcp-cubic_delay-25ms_loss-0pct_rep-002"
    assert ids[2] == "tcp-cubic_delay-25ms_loss-1pct_rep-001"
    assert ids[-1] == "udp_delay-50ms_loss-1pct_rep-002"
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in ids)


def test_factors_are_in_base_units_and_labels_are_for_people(parse: Parse) -> None:
    run = by_id(parse(CONSTANT))["tcp-cubic_delay-25ms_loss-1pct_rep-002"]
    assert run.factors == {"protocol": "tcp-cubic", "channel_delay_s": 0.025, "loss": 0.01, "repetition": 2}
    assert run.labels == {
        "protocol": "TCP CUBIC",
        "channel_delay_s": "25 ms",
        "loss": "1 %",
        "repetition": "2",
    }


def test_protocols_and_conditions_ride_the_same_stretch(parse: Parse) -> None:
    runs = expand(parse(RAIL))
    for repetition in (1, 2):
        rides = {(run.link_seed, run.start_s) for run in runs if run.factors["repetition"] == repetition}
        assert len(rides) == 1
    assert len({run.start_s for run in runs}) == 2


def test_protocols_share_the_draws_of_a_condition(parse: Parse) -> None:
    runs = by_id(parse(RAIL))
    tcp, udp = (runs[f"{name}_delay-25ms_loss-1pct_rep-001"] for name in ("tcp-cubic", "udp"))
    assert tcp.seed == udp.seed
    assert plan_run(tcp)["timeline"] == plan_run(udp)["timeline"]
    others = [run.seed for run in runs.values() if run.factors["protocol"] == "udp"]
    assert len(set(others)) == len(others)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("repetitions = 2", "repetitions = 5"),
        ('["tcp-cubic", "udp"]', '["sctp", "udp", "tcp-cubic"]'),
        ('["0%", "1%"]', '["0.1%", "1%", "0%"]'),
    ],
)
def test_what_is_added_changes_nothing_that_was_there(parse: Parse, before: str, after: str) -> None:
    small, large = by_id(parse(RAIL)), by_id(parse(RAIL, (before, after)))
    assert len(large) > len(small)
    assert all(large[name] == run for name, run in small.items())


def test_another_seed_is_another_experiment(parse: Parse) -> None:
    one, other = by_id(parse(RAIL)), by_id(parse(RAIL, ("seed = 7", "seed = 8")))
    assert one.keys() == other.keys()
    assert all(one[name].seed != other[name].seed for name in one)
    assert all(one[name].start_s != other[name].start_s for name in one)


@given(st.integers(0, 2**53 - 1), st.integers(1, 10_000), st.text(), st.text())
def test_seeds_fit_json_and_separate(experiment_seed: int, repetition: int, one: str, other: str) -> None:
    first = seeds.run_seed(experiment_seed, repetition, one)
    assert 0 <= first < 2**53
    assert (first == seeds.run_seed(experiment_seed, repetition, other)) == (one == other)
    assert first != seeds.link_seed(experiment_seed, repetition)


def test_greedy_means_the_lines_maximum(parse: Parse) -> None:
    runs = by_id(parse(CONSTANT))
    assert runs["tcp-cubic_delay-25ms_loss-0pct_rep-001"].flows[0].rate_bps is None
    assert runs["udp_delay-25ms_loss-0pct_rep-001"].flows[0].rate_bps == 5_200_000
    slower = by_id(parse(CONSTANT, ('rate = "max"', 'rate = "5.1Mbit/s"')))
    assert {run.flows[0].rate_bps for run in slower.values()} == {5_100_000}


def test_the_maximum_of_an_own_trace_is_that_of_the_direction(parse: Parse, tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
    (tmp_path / "own.csv").write_text(f"{header}\n0,1e6,4e6,0,0,0,0,64000\n5,2e6,8e6,0,0,0,0,64000\n")
    changes = (
        ('"constant"\nrate = "5.2Mbit/s"', '"own.csv"'),
        ('loss = ["0%", "1%"]', 'direction = ["up", "down"]'),
    )
    runs = expand(parse(CONSTANT, *changes, folder=tmp_path))
    udp = {
        run.factors["direction"]: run.flows[0].rate_bps for run in runs if run.factors["protocol"] == "udp"
    }
    assert udp == {"up": 2_000_000, "down": 8_000_000}


def test_axes_of_every_section(parse: Parse) -> None:
    axes = (
        'scenario.rate = ["1Mbit/s", "2Mbit/s"]\n'
        '"sysctl.net.core.rmem_max" = [212992, 1000000]\n'
        'workload.packet = ["100B", "1448B"]\n'
        'direction = ["up", "down"]\n'
    )
    experiment = parse(CONSTANT, ('rate = "5.2Mbit/s"', ""), ('loss = ["0%", "1%"]\n', axes))
    runs = by_id(experiment)
    assert len(runs) == 2 * 2 * 16 * 2
    run = runs["udp_delay-25ms_rate-2Mbits_net.core.rmem-max-1000000_packet-100B_direction-down_rep-001"]
    assert run.factors["scenario.rate"] == "2Mbit/s"
    assert run.factors["packet_bytes"] == 100
    assert run.sysctls["net.core.rmem_max"] == "1000000"
    plan = plan_run(run)
    assert plan["timeline"][0]["rate_bps"] == 2_000_000
    assert plan["flows"][0]["app_params"] == {
        "rate_bps": 2_000_000,
        "message_size_bytes": 100,
        "duration_s": 120.0,
    }
    assert plan["flows"][0]["from"] == "server"


def test_a_factor_has_one_type(parse: Parse) -> None:
    changes = (('loss = ["0%", "1%"]', 'rate = ["1Mbit/s", "max"]'), ('rate = "max"\nd', "d"))
    runs = expand(parse(CONSTANT, *changes))
    assert {run.factors["rate"] for run in runs} == {"1 Mbit/s", "max"}


def test_ids_fit_file_systems(parse: Parse) -> None:
    wide = f'"sysctl.net.core.{"x" * 200}" = [1]\n'
    with pytest.raises(UserError, match="longer than 200"):
        expand(parse(CONSTANT, ('loss = ["0%", "1%"]\n', wide)))


def test_flows_side_by_side_take_their_protocols_in_order(parse: Parse) -> None:
    flows = '[[flow]]\napp = "bulk"\nsize = "1MB"\n[[flow]]\napp = "bulk"\nsize = "1MB"\ntunnel = "c"\n'
    text = (
        RAIL.partition("[workload]")[0].replace('["tcp-cubic", "udp"]', '["tcp-bbr+sctp", "tcp-bbr"]') + flows
    )
    run = by_id(parse(text))["tcp-bbr-with-sctp_delay-25ms_loss-0pct_rep-001"]
    assert run.labels["protocol"] == "TCP BBR + SCTP"
    sent = [(flow["stack"], flow["from"], flow["to"]) for flow in plan_run(run)["flows"]]
    assert sent == [("tcp", "tc1", "tsb1"), ("sctp", "tc2", "tsc1")]


VBR = 'app = "vbr"\nmean_on = "1.2s"\nmean_off = "1800ms"'


def test_an_on_off_source_is_greedy_where_a_stream_is(parse: Parse) -> None:
    runs = by_id(parse(CONSTANT, ('app = "cbr"', VBR)))
    sent = {
        name: plan_run(runs[f"{name}_delay-25ms_loss-0pct_rep-001"])["flows"][0]
        for name in ("tcp-cubic", "udp")
    }
    assert {flow["app"] for flow in sent.values()} == {"vbr"}
    assert sent["udp"]["app_params"] == {
        "peak_rate_bps": 5_200_000,
        "message_size_bytes": 1448,
        "mean_on_s": 1.2,
        "mean_off_s": 1.8,
        "duration_s": 120.0,
    }
    assert sent["tcp-cubic"]["app_params"] == {**sent["udp"]["app_params"], "peak_rate_bps": None}


def test_an_on_off_source_keeps_to_a_rate_above_the_line(parse: Parse) -> None:
    runs = by_id(parse(CONSTANT, ('app = "cbr"', VBR), ('rate = "max"', 'rate = "9Mbit/s"')))
    plan = plan_run(runs["tcp-cubic_delay-25ms_loss-0pct_rep-001"])
    assert plan["flows"][0]["app_params"]["peak_rate_bps"] == 9_000_000


def test_means_of_an_on_off_source_can_be_varied(parse: Parse) -> None:
    changes = (('app = "cbr"', VBR), ('loss = ["0%", "1%"]', 'mean_off = ["1s", "2s"]'))
    runs = expand(parse(CONSTANT, *changes))
    assert {run.factors["mean_off_s"]: run.flows[0].mean_off_s for run in runs} == {1.0: 1.0, 2.0: 2.0}


def test_a_transfer_may_have_a_rate(parse: Parse) -> None:
    bulk = 'app = "bulk"\nsize = "1MB"'
    paced = (
        ('app = "cbr"\nrate = "max"\nduration = "2min"', f'{bulk}\nrate = "2.6Mbit/s"'),
        ('"udp"', '"sctp"'),
    )
    (run, *_) = expand(parse(CONSTANT, *paced))
    assert plan_run(run)["flows"][0]["app_params"] == {
        "size_bytes": 1_000_000,
        "message_size_bytes": 1448,
        "rate_bps": 2_600_000,
    }
    slow = expand(parse(CONSTANT, *paced, ('"2.6Mbit/s"', '"8kbit/s"')))[0]
    assert slow.limit_s > 1000 + 1, "the transfer is granted the time that its rate takes"
    (greedy, *_) = expand(parse(CONSTANT, *paced, ('"2.6Mbit/s"', '"max"')))
    assert "rate_bps" not in plan_run(greedy)["flows"][0]["app_params"]


def test_hosts_of_the_dual_network(parse: Parse) -> None:
    changes = (('["tcp-cubic", "udp"]', '["sctp"]'), ('app = "cbr"', 'app = "cbr"\nhomes = 2'))
    dual = expand(parse(RAIL, *changes, ("[workload]", '[link]\nnetwork = "rail-d34-dual"\n[workload]')))
    plan = plan_run(dual[0])
    assert plan["network"] == {"preset": "rail-d34-dual"}
    assert (plan["flows"][0]["from"], plan["flows"][0]["to"]) == ("tc1", "ts")
    assert plan["flows"][0]["stack_params"] == {"homes": 2}
    assert plan["timeline"] == plan_run(expand(parse(RAIL, *changes))[0])["timeline"]


def test_flows_may_fix_their_protocols(parse: Parse) -> None:
    flows = (
        '[[flow]]\napp = "cbr"\nrate = "64kbit/s"\nduration = "10s"\nprotocol = "udp"\n'
        '[[flow]]\napp = "bulk"\nsize = "1MB"\nprotocol = "sctp"\nstreams = 4\nsend_buffer = "1MB"\n'
    )
    text = CONSTANT.partition("[workload]")[0].replace('protocols = ["tcp-cubic", "udp"]\n', "") + flows
    runs = expand(parse(text))
    assert {run.factors["protocol"] for run in runs} == {"udp+sctp"}
    assert plan_run(runs[0])["flows"][1]["stack_params"] == {"streams": 4, "send_buffer_bytes": 1_000_000}


def test_periodic_messages_by_count_or_duration(parse: Parse) -> None:
    workload = 'app = "periodic"\nsize = "1kB"\ninterval = "3s"\ncount = 40\nconnection = "fresh"\n'
    changes = ('app = "cbr"\nrate = "max"\nduration = "2min"\n', workload)
    tls = ('["tcp-cubic", "udp"]', '["tls-bbr", "tls-sctp"]')
    run, *others = expand(parse(CONSTANT, changes, tls))
    (planned,) = plan_run(run)["flows"]
    assert (planned["stack"], planned["stack_params"]) == ("tls", {"congestion_control": "bbr"})
    params = {"message_size_bytes": 1000, "interval_s": 3.0, "duration_s": 120.0, "connection": "fresh"}
    assert planned["app_params"] == params
    assert plan_run(others[-1])["flows"][0]["stack_params"] == {"transport": "sctp"}
    assert run.limit_s > 120 + 1
    by_time = expand(parse(CONSTANT, changes, tls, ("count = 40", 'duration = "2min"')))[0]
    assert plan_run(by_time)["flows"][0]["app_params"] == params
    with pytest.raises(UserError, match="either the key 'count' or the key 'duration'"):
        parse(CONSTANT, changes, tls, ("count = 40\n", ""))


@pytest.mark.parametrize("key", ["keys", "qlog"])
def test_secrets_and_events_are_kept_on_request_only(key: str, parse: Parse) -> None:
    assert key not in plan_run(expand(parse(CONSTANT))[0])["record"]
    asked = parse(CONSTANT, ("[workload]", f"[record]\n{key} = true\n\n[workload]"))
    assert plan_run(expand(asked)[0])["record"][key] is True


def test_runs_survive_json(parse: Parse) -> None:
    for run in expand(parse(RAIL)):
        assert RunSpec.from_json(json.loads(json.dumps(run.to_json()))) == run


@pytest.mark.parametrize("text", [CONSTANT, RAIL])
def test_each_repetition_draws_a_delay_that_its_protocols_share(parse: Parse, text: str) -> None:
    runs = expand(
        parse(text, ('"25ms", "50ms"', '"25ms±5ms", "50ms"'), ("repetitions = 2", "repetitions = 8"))
    )
    spread = [run for run in runs if run.factors["channel_delay_s"] == 0.025]
    drawn = {
        repetition: {
            run.link.channel_delay_s or run.scenario.params["delay"]
            for run in spread
            if run.factors["repetition"] == repetition
        }
        for repetition in range(1, 9)
    }
    delays_s = [delay_s for found in drawn.values() for delay_s in found]
    assert len(delays_s) == 8, "one delay a repetition, whatever the protocol and the loss"
    assert min(delays_s) < 0.024 and max(delays_s) > 0.026
    assert all(0.020 <= delay_s <= 0.030 for delay_s in delays_s)
    assert spread[0].labels["channel_delay_s"] == "25 ms ± 5 ms"
    assert spread[0].id == "tcp-cubic_delay-25ms-5ms_loss-0pct_rep-001"
    plain = by_id(parse(text))
    assert all(plain[run.id] == run for run in runs if run.id in plain), "a fixed delay is drawn from nothing"


def test_the_delays_of_a_seed_stay_what_they_were(parse: Parse) -> None:
    spread = parse(CONSTANT, ('"25ms", "50ms"', '"25ms±5ms"'))
    delays_s = [run.scenario.params["delay"] for run in expand(spread)[:2]]
    assert delays_s == [0.022690383, 0.020053243], "published results were made with these"


def test_stratified_repetitions_spread_over_the_line_and_all_protocols_ride_the_same(parse: Parse) -> None:
    changes = (
        ('chunk = "10min"', 'chunk = "10min"\nstratified = true'),
        ("repetitions = 2", "repetitions = 8"),
    )
    runs = expand(parse(RAIL, *changes))
    starts: dict[int, set[float]] = {}
    for run in runs:
        starts.setdefault(int(run.factors["repetition"]), set()).add(run.start_s)
    assert {len(each) for each in starts.values()} == {1}
    spread = sorted(start for each in starts.values() for start in each)
    by_chance = sorted({run.start_s for run in expand(parse(RAIL, changes[1]))})
    assert spread != by_chance
    assert len(set(spread)) == 8
    assert max(after - before for before, after in itertools.pairwise(spread)) < 0.4 * spread[-1]
    fewer = expand(parse(RAIL, changes[0], ("repetitions = 2", "repetitions = 3")))
    assert {run.id: run.start_s for run in fewer}.items() <= {run.id: run.start_s for run in runs}.items()


def test_stratified_without_a_chunk_is_said(parse: Parse) -> None:
    with pytest.raises(UserError, match="'stratified' is about where a chunk begins; add chunk"):
        expand(parse(CONSTANT, ('name = "constant"', 'name = "constant"\nstratified = true')))


def test_the_memory_of_guests_is_part_of_a_run_that_names_it(parse: Parse) -> None:
    usual = expand(parse(CONSTANT))[0]
    larger = expand(parse(CONSTANT, ("repetitions = 2", 'repetitions = 2\nmemory = "1GiB"')))[0]
    assert plan_run(larger) == plan_run(usual) | {"memory_mib": 1024}
    assert RunSpec.from_json(json.loads(json.dumps(larger.to_json()))) == larger
    assert "memory_mib" not in usual.to_json(), "runs are written as they were before there was the key"
