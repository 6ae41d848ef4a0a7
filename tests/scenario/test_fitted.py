"""Fits give back the parameters of what their models made; fitted links are drawn by seed, and compared."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, Trace, load_scenario
from gauntlet.scenario.fitted import autoregressive, comparison, gilbert_elliott, link_model, markov
from gauntlet.scenario.fitted.autoregressive import Autoregressive
from gauntlet.scenario.fitted.fit import fit, samples
from gauntlet.scenario.fitted.gilbert_elliott import GilbertElliott
from gauntlet.scenario.fitted.markov import Markov
from gauntlet.scenario.fitted.series import Floats, Proportional
from gauntlet.scenario.trace_files import write_csv


def test_outages_are_counted() -> None:
    out = np.array([False] * 6 + [True] * 2 + [False] * 10 + [True] * 4)
    # Twice bad of 16 good steps, twice good again of 6 bad ones.
    assert gilbert_elliott.count_states(out) == (2 / 16, 2 / 6)
    assert gilbert_elliott.count_states(np.zeros(5, bool)) == (0.0, 1.0)


def test_a_chain_is_as_often_bad_and_for_as_long_as_its_chances_say() -> None:
    flags = gilbert_elliott.bad_states(0.02, 0.1, 200_000, np.random.default_rng(1))
    p, r = gilbert_elliott.count_states(flags)
    # About 3,300 spells: a standard deviation of 1.7 % of p and r; five of them on either side.
    assert p == pytest.approx(0.02, rel=5 * 0.0175)
    assert r == pytest.approx(0.1, rel=5 * 0.0175)


def test_lost_packets_give_the_chain_that_lost_them() -> None:
    """Elliott's chain, whose bad state does not lose all: from losses alone, one packet a step."""
    made = GilbertElliott(p=0.02, r=0.1, loss_good=0.01, loss_bad=0.6)
    rng = np.random.default_rng(2)
    losses = (rng.random(20_000) < made.draw(20_000, rng)).astype(float)
    assert gilbert_elliott.packets_of(losses, 10e6, 1.0) == 1
    found = gilbert_elliott.fit(losses, 1)
    # About 330 bursts, of which some cannot be told from chance: a standard deviation of about 8 %.
    assert found.p == pytest.approx(0.02, rel=0.3)
    assert found.r == pytest.approx(0.1, rel=0.3)
    assert found.loss_good == pytest.approx(0.01, abs=0.004)
    assert found.loss_bad == pytest.approx(0.6, abs=0.06)


def test_shares_of_lost_packets_give_the_chain_and_steps_that_were_not_seen_do_not_matter() -> None:
    made = GilbertElliott(p=0.05, r=0.2, loss_good=0.002, loss_bad=0.2)
    rng = np.random.default_rng(3)
    losses = rng.binomial(100, made.draw(20_000, rng)) / 100
    losses[rng.random(20_000) < 0.1] = np.nan
    assert gilbert_elliott.packets_of(losses, 1e6, 1.0) == 100
    assert gilbert_elliott.packets_of(losses, 6e6, 1.0) == 500
    found = gilbert_elliott.fit(losses, 100)
    assert found.p == pytest.approx(0.05, rel=0.1)
    assert found.r == pytest.approx(0.2, rel=0.1)
    assert found.loss_good == pytest.approx(0.002, abs=0.0002)
    assert found.loss_bad == pytest.approx(0.2, abs=0.005)


@pytest.mark.parametrize(("loss_good", "error"), [(0.0, 0.0), (0.002, 0.0004)])
def test_losses_in_few_steps_are_not_spread_over_all(loss_good: float, error: float) -> None:
    """Bad seconds of a drive test lose unlike shares, some next to nothing: they are no good state's losses.
    Where there are some in every second, they are."""
    rng = np.random.default_rng(14)
    bad = gilbert_elliott.bad_states(0.06, 0.3, 1000, rng)
    shares = np.where(bad, rng.choice([0.004, 0.012, 0.03], 1000), loss_good)
    losses = np.round(rng.binomial(600, shares) / 600, 4)
    found = gilbert_elliott.fit(losses, 600)
    assert found.loss_good == pytest.approx(loss_good, abs=error)
    # The mean of what 150 to 180 bad steps lost has a standard deviation of about 0.001.
    assert found.loss_bad == pytest.approx(0.0153, abs=0.004)
    # Of steps that lose 0.4 % some may be good ones that lose 0.2 % on average.
    assert found.p / (found.p + found.r) == pytest.approx(np.mean(bad), abs=0.06)


def test_a_distribution_that_is_not_kept_is_named(tmp_path: Path) -> None:
    found = measured(tmp_path)
    model = fit(found, found.trace)
    assert comparison.compare(model, *samples(found.trace, 1.0), seed=1)["far"] == {}
    always = model.loss_down.model_copy(update={"loss_good": 0.0006})
    spread = model.model_copy(update={"loss_down": always})
    far = comparison.compare(spread, *samples(found.trace, 1.0), seed=1)["far"]
    assert set(far) == {"loss_down", "loss_up"}
    # Good for 5 of 6 steps, and these were lossless.
    assert far["loss_down"] == pytest.approx(0.83, abs=0.05)
    told = model.calibrated.model_copy(update={"far": {"loss_down": 0.834}})
    link_model.write(model.model_copy(update={"calibrated": told}), tmp_path / "model.toml")
    assert load_scenario(str(tmp_path / "model.toml")).title == (
        "Link fitted to own.csv, unlike it in loss down (distance 0.83)"
    )


def test_a_loss_that_never_changes_has_one_state() -> None:
    found = gilbert_elliott.fit(np.full(100, 0.05), 100)
    assert (found.p, found.loss_good) == (0.0, 0.05)
    assert set(found.draw(50, np.random.default_rng(1)).tolist()) == {0.05}


STEPS = [[0.9, 0.1, 0.0], [0.05, 0.8, 0.15], [0.0, 0.3, 0.7]]


def test_a_markov_chain_goes_the_way_in_which_time_went() -> None:
    """Up step by step, and down at once; never the other way round."""
    found = markov.fit(np.array([1.0, 2.0, 3.0] * 20), 8)
    assert found.transitions == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_a_markov_chain_is_given_back() -> None:
    made = Markov.model_validate(
        {"values": [[value] * 11 for value in (1e6, 5e6, 10e6)], "transitions": STEPS}
    )
    found = markov.fit(made.draw(60_000, np.random.default_rng(4)), 8)
    assert [own[0] for own in found.values] == [1e6, 5e6, 10e6]
    # The rarest classes have 15,000 steps: a standard deviation of at most 0.004; five on either side.
    assert np.array(found.transitions) == pytest.approx(np.array(STEPS), abs=0.02)


def test_classes_of_many_values_keep_the_distribution() -> None:
    values = np.random.default_rng(5).lognormal(15, 0.7, 20_000)
    found = markov.fit(values, 8)
    assert len(found.values) == 8
    drawn = found.draw(20_000, np.random.default_rng(6))
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(values, share), rel=0.1)


def test_a_class_that_most_values_share_is_one() -> None:
    values = np.concatenate([np.full(900, 5.0), np.arange(100.0)])
    found = markov.fit(values, 4)
    assert all(sum(row) == pytest.approx(1) for row in found.transitions)
    drawn = found.draw(5000, np.random.default_rng(1))
    assert np.median(drawn) == 5


def made_by(weights: list[float], deviation: float, count: int, seed: int) -> Floats:
    model = Autoregressive(
        logarithmic=True, mean=15.0, weights=weights, deviation=deviation, least=0.0, most=1e30
    )
    return model.draw(count, np.random.default_rng(seed))


def test_an_autoregression_is_given_back() -> None:
    found = autoregressive.fit(made_by([0.6, 0.25], 0.2, 40_000, 7), order=2)
    # The standard deviation of a weight is about sqrt((1 - 0.25**2) / 40,000) = 0.005; five on either side.
    assert found.weights == pytest.approx([0.6, 0.25], abs=0.025)
    assert found.deviation == pytest.approx(0.2, rel=0.02)
    assert found.mean == pytest.approx(15, abs=0.04)
    assert found.logarithmic


def test_the_order_is_found() -> None:
    assert len(autoregressive.fit(made_by([0.1, 0.0, 0.7], 0.2, 20_000, 8)).weights) >= 3
    assert autoregressive.fit(made_by([0.8], 0.2, 20_000, 9)).weights[0] == pytest.approx(0.8, abs=0.03)


def test_values_of_zero_have_no_logarithm_and_stay_within_what_was_measured() -> None:
    values = np.maximum(np.random.default_rng(10).normal(0.02, 0.01, 5000), 0)
    found = autoregressive.fit(values, order=1)
    assert not found.logarithmic
    drawn = found.draw(5000, np.random.default_rng(1))
    assert drawn.min() >= 0
    assert drawn.max() <= values.max()


def measured(folder: Path, seconds: int = 4000) -> Scenario:
    """A link at 1 Hz: three rates, a delay that wanders, losses in bursts, outages; up is half of down."""
    rng = np.random.default_rng(11)
    chain = Markov.model_validate(
        {"values": [[value] * 11 for value in (1e6, 5e6, 10e6)], "transitions": STEPS}
    )
    rate_bps = chain.draw(seconds, rng)
    delay_s = np.round(
        Autoregressive(logarithmic=True, mean=-3.5, weights=[0.9], deviation=0.1, least=0.001, most=0.5).draw(
            seconds, rng
        ),
        6,
    )
    loss = GilbertElliott(p=0.05, r=0.25, loss_good=0.0, loss_bad=0.1).draw(seconds, rng)
    out = gilbert_elliott.bad_states(0.01, 0.2, seconds, rng)
    loss = np.where(out, 1.0, loss)
    columns = {
        "t_s": np.arange(float(seconds)),
        "rate_down_bps": rate_bps,
        "rate_up_bps": rate_bps / 2,
        "delay_down_s": delay_s,
        "delay_up_s": delay_s,
        "loss_down": loss,
        "loss_up": loss,
        "queue_limit_bytes": np.full(seconds, 256_000),
    }
    path = folder / "own.csv"
    write_csv(Trace.from_columns({key: own.tolist() for key, own in columns.items()}, seconds, "own"), path)
    return load_scenario(str(path))


def test_a_link_is_fitted_written_read_and_drawn(tmp_path: Path) -> None:
    found = measured(tmp_path)
    model = fit(found, found.trace)
    assert [getattr(model, name).model for name in link_model.QUANTITIES] == [
        "markov", "proportional", "markov", "proportional", "gilbert-elliott", "proportional",
    ]  # fmt: skip
    assert model.rate_up == Proportional(of="rate_down", ratio=0.5)
    assert (model.step_s, model.queue_limit_bytes) == (1.0, 256_000)
    assert model.outages.p == pytest.approx(0.01, rel=0.6)
    assert model.outages.r == pytest.approx(0.2, rel=0.4)
    link_model.write(model, tmp_path / "model.toml")
    assert link_model.read(tmp_path / "model.toml") == model

    drawn = load_scenario(str(tmp_path / "model.toml"), seed=5)
    assert (drawn.kind, drawn.duration_s) == ("fitted", 4000)
    assert drawn.title == "Link fitted to own.csv"
    assert drawn.trace.table.equals(load_scenario(str(tmp_path / "model.toml"), seed=5).trace.table)
    for seed in (5, 6):
        other = load_scenario(str(tmp_path / "model.toml"), {"queue_limit": "64kB"}, seed=seed).trace
        assert other.at(0).queue_limit_bytes == 64_000
        same = other.column("rate_down_bps").tolist() == drawn.trace.column("rate_down_bps").tolist()
        assert same == (seed == 5)
    assert load_scenario(str(tmp_path / "model.toml"), {"duration": "10min"}).duration_s == 600
    # Over an hour the mean of this chain has a standard deviation of about 4 %; four of them on either side.
    assert drawn.trace.mean("rate_down_bps") == pytest.approx(found.trace.mean("rate_down_bps"), rel=0.17)


def with_rates(folder: Path, rates: Callable[[Floats], tuple[Floats, Floats]]) -> Scenario:
    """The link with the rates down and up that a rule makes of its own."""
    found = measured(folder)
    table = found.trace.table.to_pydict()
    down_bps, up_bps = rates(found.trace.column("rate_down_bps"))
    table.update(rate_down_bps=down_bps.tolist(), rate_up_bps=up_bps.tolist())
    path = folder / "other.csv"
    write_csv(Trace.from_columns(table, found.duration_s, "other"), path)
    return load_scenario(str(path))


def test_directions_that_were_rounded_are_still_drawn_together(tmp_path: Path) -> None:
    """As a log in kbit/s has them."""

    def rates(rate_bps: Floats) -> tuple[Floats, Floats]:
        down_bps = rate_bps * np.random.default_rng(12).uniform(0.9, 1.1, len(rate_bps))
        return np.round(down_bps, -3), np.round(0.2137 * down_bps, -3)

    found = with_rates(tmp_path, rates)
    assert np.ptp(found.trace.column("rate_up_bps") / found.trace.column("rate_down_bps")) > 1e-3
    model = fit(found, found.trace)
    assert isinstance(model.rate_up, Proportional)
    # Every step has it within half of 1 kbit/s.
    assert model.rate_up.ratio == pytest.approx(0.2137, rel=1e-4)
    assert comparison.compare(model, *samples(found.trace, 1.0), seed=1)["drawn_apart"] == {}


def test_directions_that_the_model_draws_apart_are_named(tmp_path: Path) -> None:
    def rates(rate_bps: Floats) -> tuple[Floats, Floats]:
        shares = np.random.default_rng(13).uniform(0.2, 0.21, len(rate_bps))
        return rate_bps, np.round(rate_bps * shares, -3)

    found = with_rates(tmp_path, rates)
    model = fit(found, found.trace)
    assert isinstance(model.rate_up, Markov)
    compared = comparison.compare(model, *samples(found.trace, 1.0), seed=1)
    together = compared["correlation_of_rates"]
    assert compared["drawn_apart"] == {"rate": together["measured"]}
    assert together["measured"] > 0.99
    assert abs(together["fitted"]) < 0.1


@pytest.mark.parametrize("method", ["markov", "autoregressive"])
def test_fitted_and_measured_distributions_stand_side_by_side(tmp_path: Path, method: str) -> None:
    found = measured(tmp_path)
    model = fit(found, found.trace, method=method)  # type: ignore[arg-type]
    compared = comparison.compare(model, *samples(found.trace, 1.0), seed=1)
    assert (compared["measured_steps"], compared["fitted_steps"]) == (4000, 40_000)
    delay = compared["quantities"]["delay_down"]
    assert delay["distance"] < 0.1
    assert delay["fitted"]["p50"] == pytest.approx(delay["measured"]["p50"], rel=0.1)
    assert delay["fitted"]["step_to_step"] > 0.7
    for which in ("measured", "fitted"):
        assert compared["outages"][which]["mean_length_s"] == pytest.approx(5, rel=0.4)
        assert compared["correlation_of_rates"][which] == 1
    rate = compared["quantities"]["rate_down"]
    # A chain keeps the three rates; an autoregression smears them, and the distance says so.
    assert (rate["distance"] < 0.05) == (method == "markov")


def test_what_cannot_be_fitted_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="never changes"):
        fit(load_scenario("constant"), load_scenario("constant").trace)
    found = measured(tmp_path, 50)
    with pytest.raises(UserError, match=r"known for 50 s, which is 50 steps of 1 s; a fit needs 60"):
        fit(found, found.trace)
    assert fit(found, found.trace, step_s=0.5).step_s == 0.5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("step_s = 1.0", "step_s = 0", ["step_s", "greater than 0"]),
        ('model = "markov"', 'model = "markoff"', ["rate_down", "markoff"]),
        ('of = "rate_down"', 'of = "rate_dawn"', ["rate_up is proportional to 'rate_dawn'"]),
        ("[outages]\np = ", "[outages]\np = 1", ["outages.p"]),
    ],
)
def test_a_model_with_a_mistake_is_named(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    found = measured(tmp_path)
    path = tmp_path / "model.toml"
    link_model.write(fit(found, found.trace), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as refused:
        load_scenario(str(path))
    for word in ["model.toml", *words]:
        assert word in str(refused.value)


def test_chances_that_do_not_add_up_and_weights_that_grow_are_refused() -> None:
    with pytest.raises(ValueError, match="add up to 1"):
        Markov.model_validate({"values": [[1.0] * 11], "transitions": [[0.5]]})
    with pytest.raises(ValueError, match="rows of 1 chances"):
        Markov.model_validate({"values": [[1.0] * 11], "transitions": [[0.5, 0.5]]})
    with pytest.raises(ValueError, match="grows without end"):
        Autoregressive(logarithmic=False, mean=0, weights=[1.01], deviation=1, least=0, most=1)
