"""`cnn`: a convolutional network of the shape of Deep Fingerprinting (Sirinam et al., CCS 2018, appendix A),
in JAX on the processor.

Four blocks of two convolutions with batch normalisation, pooling and dropout, then two dense layers. It sees
the signed sizes of packets where the paper has the directions of Tor's cells, the first 256 where it has
5,000, and has half as many filters in each block: there are fewer visits here, and fewer packets in each.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from gauntlet.traffic.attacks.contract import Attack, Classifier
from gauntlet.traffic.sequences import Floats, Ints, Sequences

PACKETS = 256
"""That it sees, at most; of shorter visits a power of two that holds them, from `_FEWEST` on."""
FILTERS = (16, 32, 64, 128)
"""Of the blocks. The paper has 32, 64, 128 and 256."""
WIDTH = 256
"""Of the dense layers. The paper has 512."""

_KERNEL, _POOL, _STRIDE = 8, 8, 4
_DROPOUT = (0.1, 0.7, 0.5)
"""Behind a block and behind each of the dense layers."""
_FEWEST = 64
_BATCH = 32
EPOCHS = 100
"""Of as many batches as hold the visits. The paper has 30, in batches of 128, of 76,000 visits."""
STEPS = 3000
"""Batches at most: of the windows of some hundred visits these are some 15 epochs."""
_RATE, _DECAY_MEAN, _DECAY_MOST = 0.002, 0.9, 0.999
"""Of Adamax (Kingma and Ba, 2015, section 7.1)."""
_EPSILON = 1e-3
_MOST = 1024
"""Visits over which the means and variances of normalisation are taken once it has learnt; while it learns
they are of the batch. With as few steps as here, running averages would lag behind the weights.
"""
_FULL_BYTES = 1500.0

Tree = Mapping[str, Any]


@cache
def _compiled() -> tuple[Any, Any, Any]:
    """The library, told to work in one thread, so that sums have one order on every machine; a step of
    learning, and the network itself. They are compiled once for each shape of their inputs.
    """
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax

    jax.config.update("jax_platforms", "cpu")
    return jax, jax.jit(partial(_step, jax)), jax.jit(partial(_forward, jax))


def _learn(visits: Sequences, classes: Ints, count: int, seed: int) -> Classifier:
    jax, step, forward = _compiled()
    packets = _FEWEST
    while packets < min(PACKETS, visits.lengths.max(initial=0)):
        packets *= 2
    inputs, wanted = _inputs(visits, packets), classes.astype(np.int32)
    key = jax.random.key(seed % 2**32)
    parameters = _begin(jax, key, packets, count)
    zeros = jax.tree.map(lambda it: it * 0, parameters)
    state = (parameters, zeros, zeros)
    dice = np.random.default_rng(seed)
    for number in range(min(STEPS, EPOCHS * -(-len(inputs) // _BATCH))):
        drawn = dice.integers(len(inputs), size=_BATCH)
        batch = (inputs[drawn], wanted[drawn])
        state = step(state, batch, jax.random.fold_in(key, number + 1), number + 1)
    _, statistics = forward(state[0], None, inputs[dice.permutation(len(inputs))[:_MOST]], None)
    return partial(_scores, state[0], statistics, packets)


def _inputs(visits: Sequences, packets: int) -> Any:
    """A row of signed sizes for each visit, with a channel."""
    return (visits.matrix(packets) / _FULL_BYTES).astype(np.float32)[:, :, None]


def _scores(parameters: Tree, statistics: Tree, packets: int, visits: Sequences) -> Floats:
    jax, _, forward = _compiled()
    inputs = _inputs(visits, packets)
    found = []
    for begin in range(0, len(inputs), _BATCH):
        some = inputs[begin : begin + _BATCH]
        # Batches of one size, so that the network is compiled once.
        whole = np.concatenate([some, np.zeros((_BATCH - len(some), packets, 1), np.float32)])
        logits, _ = forward(parameters, statistics, whole, None)
        found.append(np.asarray(jax.nn.softmax(logits), float)[: len(some)])
    return np.concatenate(found)


def _begin(jax: Any, key: Any, packets: int, classes: int) -> dict[str, Any]:
    """Weights, from Glorot's uniform distribution, and shifts and scales that change nothing."""
    numpy = jax.numpy
    glorot = jax.nn.initializers.glorot_uniform()
    parameters: dict[str, Any] = {}

    def layer(name: str, *shape: int) -> None:
        own = jax.random.fold_in(key, 1_000_000 + len(parameters))
        parameters[f"{name} weights"] = glorot(own, shape, numpy.float32)
        parameters[f"{name} shift"] = numpy.zeros(shape[-1])
        parameters[f"{name} scale"] = numpy.ones(shape[-1])

    channels, length = 1, packets
    for block, filters in enumerate(FILTERS):
        layer(f"block {block} a", _KERNEL, channels, filters)
        layer(f"block {block} b", _KERNEL, filters, filters)
        channels, length = filters, -(-length // _STRIDE)
    layer("dense a", length * channels, WIDTH)
    layer("dense b", WIDTH, WIDTH)
    layer("last", WIDTH, classes)
    return parameters


def _forward(
    jax: Any, parameters: Tree, statistics: Tree | None, inputs: Any, key: Any
) -> tuple[Any, dict[str, Any]]:
    """Logits, and the mean and variance before each normalisation.

    Without `statistics` those of the inputs are taken, without a `key` nothing is dropped.
    """
    numpy, lax = jax.numpy, jax.lax
    kept: dict[str, Any] = {}

    def normalised(name: str, values: Any) -> Any:
        axes = tuple(range(values.ndim - 1))
        kept[name] = (values.mean(axes), values.var(axes)) if statistics is None else statistics[name]
        mean, variance = kept[name]
        scaled = (values - mean) / numpy.sqrt(variance + _EPSILON)
        return scaled * parameters[f"{name} scale"] + parameters[f"{name} shift"]

    def convolved(name: str, values: Any) -> Any:
        return lax.conv_general_dilated(
            values,
            parameters[f"{name} weights"],
            window_strides=(1,),
            padding="SAME",
            dimension_numbers=("NWC", "WIO", "NWC"),
        )

    def dropped(place: int, share: float, values: Any) -> Any:
        if key is None:
            return values
        left = jax.random.bernoulli(jax.random.fold_in(key, place), 1 - share, values.shape)
        return numpy.where(left, values / (1 - share), 0.0)

    values = inputs
    for block in range(len(FILTERS)):
        active: Callable[[Any], Any] = jax.nn.elu if block == 0 else jax.nn.relu
        for half in ("a", "b"):
            name = f"block {block} {half}"
            values = active(normalised(name, convolved(name, values)))
        values = lax.reduce_window(
            values, -numpy.inf, lax.max, (1, _POOL, 1), (1, _STRIDE, 1), padding="SAME"
        )
        values = dropped(block, _DROPOUT[0], values)
    values = values.reshape(values.shape[0], -1)
    for half, share in (("a", _DROPOUT[1]), ("b", _DROPOUT[2])):
        name = f"dense {half}"
        values = jax.nn.relu(normalised(name, values @ parameters[f"{name} weights"]))
        values = dropped(len(FILTERS) + ord(half), share, values)
    logits = values @ parameters["last weights"] * parameters["last scale"] + parameters["last shift"]
    return logits, kept


def _step(jax: Any, state: Any, batch: Any, key: Any, number: Any) -> Any:
    """One step of Adamax on the cross-entropy of a batch."""
    numpy = jax.numpy
    parameters, means, most = state
    inputs, wanted = batch

    def loss(tried: Tree) -> Any:
        logits, _ = _forward(jax, tried, None, inputs, key)
        return -numpy.take_along_axis(jax.nn.log_softmax(logits), wanted[:, None], axis=1).mean()

    slopes = jax.grad(loss)(parameters)
    means = jax.tree.map(lambda old, new: _DECAY_MEAN * old + (1 - _DECAY_MEAN) * new, means, slopes)
    most = jax.tree.map(lambda old, new: numpy.maximum(_DECAY_MOST * old, abs(new)), most, slopes)
    rate = _RATE / (1 - _DECAY_MEAN**number)
    moved = jax.tree.map(lambda it, mean, top: it - rate * mean / (top + 1e-7), parameters, means, most)
    return moved, means, most


CNN = Attack(
    "cnn",
    "convolutional network of Deep Fingerprinting's shape",
    _learn,
    {"jax": "jax"},
    asked_again=True,
)
