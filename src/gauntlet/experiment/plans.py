"""From runs to what a guest plays: the runs of a plan (docs/formats/plan.md)."""

from typing import Any

from gauntlet.experiment import drops, external, networks, timelines, workloads
from gauntlet.experiment.protocols import protocol
from gauntlet.experiment.runspec import FlowSpec, RunSpec


def plan_run(spec: RunSpec) -> dict[str, Any]:
    """One run of a plan: a pure function of the spec (and of the trace file where it names one)."""
    return {"id": spec.id, "timeline": timelines.timeline(spec), **plan_apart_from_link(spec)}


def plan_apart_from_link(spec: RunSpec) -> dict[str, Any]:
    """The same without the id and without the timeline, which runs with equal links share."""
    scripted = drops.scripted(spec)
    changes = [dict(change) for change in (spec.link.own or {}).get("route_changes", ())]
    return {
        "seed": spec.seed,
        "limit_s": spec.limit_s,
        "network": {"preset": spec.link.network} if spec.link.own is None else spec.link.own["network"],
        "sysctls": dict(spec.sysctls),
        "flows": [_flow(spec, flow, index) for index, flow in enumerate(spec.flows)],
        "record": dict(spec.record),
        **({"route_changes": changes} if changes else {}),
        **({"offload": True} if spec.link.offload == "on" else {}),
        **({"drops": scripted} if scripted else {}),
        **({"in_path": [dict(node) for node in spec.in_path]} if spec.in_path else {}),
        **({"processor": dict(spec.processor)} if spec.processor else {}),
        **({} if spec.memory_mib is None else {"memory_mib": spec.memory_mib}),
    }


def _flow(spec: RunSpec, flow: FlowSpec, index: int) -> dict[str, Any]:
    if flow.external is not None:
        stack, stack_params = external.STACK, external.started(flow.external)
    else:
        chosen = protocol(flow.protocol)
        stack, stack_params = chosen.stack, {**chosen.stack_params, **flow.options}
    sender, receiver = networks.endpoints(spec.link.network, flow, index)
    return {
        "id": f"f{index}",
        "stack": stack,
        "stack_params": stack_params,
        "app": flow.app,
        "app_params": workloads.app(flow.app).params(flow),
        "from": sender,
        "to": receiver,
        "start_s": flow.start_s,
    }
