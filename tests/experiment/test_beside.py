"""A flow in the background that changes its transport with the flows that are judged is told of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.experiment import expand, load_experiment
from gauntlet.experiment.beside import varying_beside

ROOT = Path(__file__).parents[2]


def test_what_varies_beside_what_is_judged_is_named() -> None:
    runs: list[Sequence[Mapping[str, Any]]] = [
        [{"protocol": it, "app": "periodic"}, {"protocol": it, "app": "bulk", "background": True}]
        for it in ("sctp", "tcp-bbr")
    ]
    (sentence,) = varying_beside(runs)
    assert "(bulk) changes its protocol" in sentence
    assert 'protocol = "tcp-cubic"' in sentence


def test_a_background_that_stays_or_that_is_itself_compared_is_nothing_to_say() -> None:
    def beside(judged: str, background: str) -> Sequence[Mapping[str, Any]]:
        return [{"protocol": judged}, {"protocol": background, "background": True}]

    assert varying_beside(beside(it, "tcp-cubic") for it in ("sctp", "tcp-bbr")) == []
    assert varying_beside(beside("udp", it) for it in ("sctp", "tcp-bbr")) == []


def test_the_upload_beside_etcs_keeps_its_transport() -> None:
    file = ROOT / "experiments" / "etcs-beside-upload.toml"
    assert len(file.read_text().splitlines()) <= 20
    specs = expand(load_experiment(file))
    assert len({spec.flows[0].protocol for spec in specs}) == 3
    assert {spec.flows[1].protocol for spec in specs} == {"tcp-cubic"}
    assert varying_beside([vars(flow) for flow in spec.flows] for spec in specs) == []
