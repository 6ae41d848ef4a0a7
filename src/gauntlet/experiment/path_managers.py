"""The path manager of MPTCP is one of a node: all flows of MPTCP that meet there have its settings."""

from collections.abc import Mapping, Sequence

from gauntlet.errors import UserError
from gauntlet.experiment import protocols
from gauntlet.experiment.networks import endpoints
from gauntlet.experiment.runspec import FlowSpec

_SETTINGS = ("active_paths", "further_subflows")
"""Parameters of the stack, and keys of an experiment, that it keeps."""


def check(network: str, flows: Sequence[FlowSpec], known: Mapping[str, protocols.Protocol]) -> None:
    """Refuse flows of MPTCP that meet in a node and ask it for different settings. Raises UserError."""
    asked: dict[tuple[str, str], tuple[str, object]] = {}
    for index, flow in enumerate(flows):
        protocol = protocols.protocol(flow.protocol, known=known)
        if protocol.stack != "mptcp":
            continue
        params = {**protocol.stack_params, **flow.options}
        for node in endpoints(network, flow, index):
            for key in _SETTINGS:
                other, value = asked.setdefault((node, key), (flow.protocol, params.get(key)))
                if value != params.get(key):
                    raise UserError(
                        f"flows over {other} and {flow.protocol} meet in '{node}' and ask for different "
                        f"'{key}'; a node has one path manager, so give both the same, or other nodes."
                    )
