"""Properties for any input: wrong files are refused in a sentence, timelines replay to their traces."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import check_plan, expand, parse_experiment, plan_run
from gauntlet.experiment.schema import FLOW_KEYS, LINK_KEYS, ExperimentSection, RecordSection

from .conftest import CONSTANT

COLUMNS = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
SECTIONS = {
    "experiment": list(ExperimentSection.model_fields),
    "scenario": ["name", "chunk", "start", "bearer", "rate", "delay"],
    "link": list(LINK_KEYS),
    "matrix": ["protocols", "scenario", *LINK_KEYS, *FLOW_KEYS],
    "workload": list(FLOW_KEYS),
    "record": list(RecordSection.model_fields),
    "sysctl": ["net.core.rmem_max"],
}

words = st.sampled_from(
    ["25ms", "1%", "1MB", "2Mbit/s", "max", "udp", "tcp-bbr+udp", "hsr", "up", "", "-1s", "é"]
)
atoms = st.one_of(st.booleans(), st.integers(-(2**40), 2**40), st.floats(-1e6, 1e6), words)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["p", "r", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(held) for held in value) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_value_anywhere_is_taken_or_refused_a_sentence_a_mistake(data: st.DataObject) -> None:
    section = data.draw(st.sampled_from(sorted(SECTIONS)))
    key = data.draw(st.sampled_from(SECTIONS[section]))
    line = f'"{key}" = {toml(data.draw(values))}\n'
    lines = [kept for kept in CONSTANT.splitlines() if not kept.startswith(f"{key} =")]
    head = f"[{section}]"
    if head in lines:
        lines.insert(lines.index(head) + 1, line)
    else:
        lines += [head, line]
    try:
        runs = expand(parse_experiment("\n".join(lines), "own.toml", Path(), repetitions=1))
    except UserError as error:
        told = str(error).splitlines()  # a mistake a line
        assert [line for line in told if not line.startswith("own.toml: ")] == []
        assert len(told) <= 10
    else:
        run = json.loads(json.dumps(plan_run(runs[-1])))
        check_plan(guest.plan([run]))


rows = st.tuples(
    st.integers(8_000, 10**8),
    st.integers(8_000, 10**8),
    st.integers(0, 10**6).map(lambda us: us / 1e6),
    st.integers(0, 10**6).map(lambda us: us / 1e6),
    st.integers(0, 100).map(lambda percent: percent / 100),
    st.integers(0, 100).map(lambda percent: percent / 100),
    st.integers(1600, 10**6),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 50), rows), min_size=1, max_size=12), st.integers(0, 200))
def test_timelines_replay_to_the_trace(steps: list[tuple[int, tuple[float, ...]]], start_s: int) -> None:
    instants, t_s = [], 0
    for gap_s, _ in steps:
        instants.append(t_s)
        t_s += gap_s
    with tempfile.TemporaryDirectory() as folder:
        table = [",".join(map(repr, (at, *row))) for at, (_, row) in zip(instants, steps, strict=True)]
        Path(folder, "own.csv").write_text("\n".join([COLUMNS, *table, ""]))
        text = CONSTANT.replace('"constant"\nrate = "5.2Mbit/s"', f'"own.csv"\nstart = "{start_s}s"')
        text = text.replace('channel_delay = ["25ms", "50ms"]\nloss = ["0%", "1%"]\n', "")
        entries = plan_run(expand(parse_experiment(text, "own.toml", Path(folder)))[0])["timeline"]
    state: dict[str, dict[str, Any]] = {}
    for entry in entries:
        state.setdefault(entry["link"], {}).update(entry)
    for at, (_, row) in zip(instants, steps, strict=True):
        following = min((later for later in instants if later > at), default=10**9)
        if following <= start_s:
            continue
        held: dict[str, dict[str, Any]] = {}
        for entry in entries:
            if entry["at_s"] <= max(0, at - start_s):
                held.setdefault(entry["link"], {}).update(entry)
        assert (held["west>mid"]["rate_bps"], held["east>mid"]["rate_bps"]) == row[:2]
        assert (held["mid>east"]["delay_s"], held["mid>west"]["delay_s"]) == row[2:4]
        assert (held["mid>east"]["loss"], held["mid>west"]["loss"]) == row[4:6]
        assert held["west>mid"]["queue_limit_bytes"] == row[6]
