"""What goes to the workers of a cluster and comes back: plans by key, files by hash, bundles by seal."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import RunError
from gauntlet.executor import wire
from gauntlet.executor.bundle import Bundle
from gauntlet.executor.plan import RunPlan, canonical
from gauntlet.executor.play import Job, Played

ENGINE = {"ground": "virtual", "kernel_sha256": "a" * 64, "guest_sha256": "b" * 64}
CODE = {"code": "c" * 64, "numpy": "2.1", "measures": "d" * 64}
PLAN = RunPlan({"seed": b"7", "flows": b"[]"}, {"/home/a/own.py": "e" * 64}, {"python": "3.11.7"})


def job(into: Path, plan: RunPlan = PLAN) -> Job:
    """A job of this engine."""
    return Job(plan, plan.key(ENGINE), into)


def sealed(folder: Path, key: str) -> Played:
    """A run that was played, with a file in a folder."""
    (folder / "qlog").mkdir(parents=True)
    (folder / "record.json").write_bytes(b"{}")
    (folder / "qlog" / "client.qlog").write_bytes(b"1")
    bundle = Bundle.seal(folder, key, made_with=CODE, facts={"virtual_s": 1.0})
    return Played(bundle, "", bundle.facts)


def test_a_plan_arrives_as_it_was_with_its_key(tmp_path: Path) -> None:
    sent = wire.order(job(tmp_path), ENGINE, {"/home/a/own.py": True})
    assert wire.plan_of(sent) == PLAN
    assert not any(isinstance(value, Path) for value in sent.values())


@pytest.mark.parametrize(
    "change",
    [
        {"parts": {"seed": b"8", "flows": b"[]"}},
        {"files": {}},
        {"libraries": {"python": "3.12.0"}},
        {"engine": {**ENGINE, "guest_sha256": "0" * 64}},
    ],
)
def test_a_plan_that_is_not_that_of_its_key_is_not_played(tmp_path: Path, change: Mapping[str, Any]) -> None:
    with pytest.raises(RunError, match="not that of its key"):
        wire.plan_of({**wire.order(job(tmp_path), ENGINE, {}), **change})


def test_a_bundle_comes_back_whole(tmp_path: Path) -> None:
    asked = job(tmp_path / "here")
    came = wire.answer(sealed(tmp_path / "there", asked.key))
    played = wire.played_of(came, asked)
    assert played.bundle is not None
    assert played.bundle.folder == tmp_path / "here"
    there = {path.name: path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file()}
    here = {path.name: path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()}
    assert here == there
    assert len(here) == 3


def test_a_bundle_that_was_changed_on_the_way_is_no_run(tmp_path: Path) -> None:
    asked = job(tmp_path / "here")
    came = wire.answer(sealed(tmp_path / "there", asked.key))
    came["bundle"]["record.json"] = b'{"outcome": "ok"}'
    with pytest.raises(RunError, match=r"damaged: record\.json"):
        wire.played_of(came, asked)


def test_the_bundle_of_another_run_is_refused(tmp_path: Path) -> None:
    other = replace(PLAN, libraries={})
    came = wire.answer(sealed(tmp_path / "there", other.key(ENGINE)))
    with pytest.raises(RunError, match="the bundle of another run"):
        wire.played_of(came, job(tmp_path / "here"))


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "a/../../outside"])
def test_no_file_of_a_bundle_leaves_its_folder(tmp_path: Path, name: str) -> None:
    came = {"bundle": {name: b"x"}, "reason": "", "facts": {}}
    with pytest.raises(RunError, match="no place in it"):
        wire.played_of(came, job(tmp_path / "here"))
    assert list(tmp_path.rglob("outside")) == []


def test_a_run_that_failed_comes_back_with_its_reason(tmp_path: Path) -> None:
    came = wire.answer(Played(None, "the disk is full", {"virtual_s": 2.0}))
    assert wire.played_of(came, job(tmp_path / "here")) == Played(
        None, "the disk is full", {"virtual_s": 2.0}
    )


def test_only_wanted_files_are_sent_and_none_that_changed(tmp_path: Path) -> None:
    files = {}
    for name in ("client.py", "server.py"):
        (tmp_path / name).write_text(name)
        files[str(tmp_path / name)] = sha256(name.encode()).hexdigest()
    wanted = [files[str(tmp_path / "client.py")]]
    assert wire.content(files, wanted) == {wanted[0]: b"client.py"}
    assert wire.content(files, []) == {}
    (tmp_path / "client.py").write_text("changed")
    with pytest.raises(RunError, match=r"client\.py is not what it was when the runs were planned"):
        wire.content(files, wanted)


def test_workers_offer_what_a_campaign_asks_for_exactly_when_nothing_differs() -> None:
    campaign = {"engine": ENGINE, "code": CODE}
    assert wire.difference(campaign, campaign) is None
    for part, name, word in (
        ("engine", "kernel_sha256", "kernel image"),
        ("engine", "guest_sha256", "guest program"),
        ("code", "measures", "version of Gauntlet"),
        ("code", "numpy", "numpy"),
    ):
        other = {**campaign, part: {**campaign[part], name: "0" * 64}}
        said = wire.difference(other, campaign)
        assert said is not None
        assert said.startswith(f"has another {word} (000000000000…; the campaign's is ")
        assert wire.resource(other) != wire.resource(campaign)
    turned = {"code": dict(reversed(CODE.items())), "engine": dict(reversed(ENGINE.items()))}
    assert wire.resource(turned) == wire.resource(campaign)
    assert canonical(turned) == canonical(campaign)
