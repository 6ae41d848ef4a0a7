"""From flow sections to the flows of a run: which protocol each gets, and what "max" is for it."""

import dataclasses
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment import pages, protocols, sites, workloads
from gauntlet.experiment.runspec import FlowSpec
from gauntlet.experiment.schema import FlowSection

_DIGITS = 6
"""Of drawn beginnings: microseconds."""

MaxRate = Callable[[str], float]
"""The line's highest rate in bit/s for a direction, up or down; in a network of one's own from end to end,
`sender>receiver`.
"""


def flows(
    sections: tuple[FlowSection, ...],
    entry: str | None,
    max_rate_bps: MaxRate,
    known: Mapping[str, protocols.Protocol] = protocols.PROTOCOLS,
    folder: Path = Path(),
    *,
    round_trip_s: float = 0.0,
) -> tuple[FlowSpec, ...]:
    """The flows of a run. `entry` is one of [matrix] protocols; `max_rate_bps` says what "max" is; files are
    looked for in `folder`; `round_trip_s` is the link's longest, for what protocols set by it.

    Raises UserError when protocols and flows do not fit together.
    """
    keys = _assigned(sections, entry)
    chosen = [protocols.protocol(key, known=known) for key in keys]
    made = [
        (section, _flow(section, protocol, max_rate_bps, folder, round_trip_s))
        for section, protocol in zip(sections, chosen, strict=True)
    ]
    return tuple(it for section, flow in made for it in _sessions(flow, section.sessions))


def _sessions(flow: FlowSpec, count: int | None) -> list[FlowSpec]:
    """So many alike, or the flow itself."""
    if count is None:
        return [flow]
    return [dataclasses.replace(flow, session=place) for place in range(count)]


def latest_s(flow: FlowSpec) -> float:
    """When it begins at the latest, whatever is drawn."""
    return flow.start_s + (flow.interval_s or 0.0) * (flow.session is not None)


def begun(flows: tuple[FlowSpec, ...], link_seed: int) -> tuple[FlowSpec, ...]:
    """What a repetition draws for its flows, the same for every protocol: of sessions that are alike each
    begins at a place of the interval, and a site is what a visit finds.
    """
    return tuple(_drawn(flow, index, link_seed) for index, flow in enumerate(flows))


def _drawn(flow: FlowSpec, index: int, link_seed: int) -> FlowSpec:
    if flow.session is not None:
        start_s = round(flow.start_s + _place(link_seed, index, flow), _DIGITS)
        return dataclasses.replace(flow, start_s=start_s)
    site = None if flow.page is None else sites.number(flow.page)
    if site is None:
        return flow
    return dataclasses.replace(flow, **_files(sites.visit(site, link_seed, index)))


def _files(page: pages.Page) -> dict[str, Any]:
    """The keys of a flow that say what a page consists of."""
    return {
        "objects": [file.planned() for file in page],
        "size_bytes": sum(file.size_bytes for file in page),
    }


def _place(link_seed: int, index: int, flow: FlowSpec) -> float:
    return random.Random(f"session {link_seed} {index}").uniform(0.0, flow.interval_s or 0.0)


def held_times(sent: Iterable[FlowSpec], known: Mapping[str, protocols.Protocol]) -> list[str]:
    """A sentence for each time fitted to the round trip that is as long as a flow takes it."""
    names = {plan_name: name for name, plan_name in protocols.OPTIONS.items()}
    held = {
        (flow.protocol, names[key])
        for flow in sent
        for key in protocols.protocol(flow.protocol, known=known).fitted
        if flow.options.get(key) == protocols.LONGEST_S
    }
    return [
        f"{name} of {protocol} is {protocols.LONGEST_S / 86_400:g} days, the longest that a flow takes, "
        "however long the round trip."
        for protocol, name in sorted(held)
    ]


def _assigned(sections: tuple[FlowSection, ...], entry: str | None) -> list[str]:
    """The protocol of each flow: its own, or the next part of the matrix's entry ("tcp-bbr+sctp")."""
    open_flows = sum(section.protocol is None for section in sections)
    parts = entry.split("+") if entry else []
    if open_flows and not parts:
        raise UserError(
            'no protocol is named; add [matrix] protocols = ["tcp-cubic", ...] or a flow\'s protocol.'
        )
    if parts and not open_flows:
        raise UserError(
            "[matrix] protocols has no effect, for every flow names its own; leave one of them out."
        )
    if len(parts) == 1:
        parts = parts * open_flows
    if len(parts) != open_flows:
        raise UserError(
            f"[matrix] protocols: '{entry}' names {len(parts)} protocols, but {open_flows} flow(s) have none "
            "of their own; name one for all or one for each."
        )
    rest = iter(parts)
    return [section.protocol or next(rest) for section in sections]


def _flow(
    section: FlowSection,
    protocol: protocols.Protocol,
    max_rate_bps: MaxRate,
    folder: Path,
    round_trip_s: float,
) -> FlowSpec:
    key = protocol.key
    usual = workloads.DIRECTIONS.get(section.kind or "", workloads.app(section.app).direction)
    direction = section.direction or usual
    page: pages.Page = ()
    if section.http is not None and section.page is not None:
        pages.check_http(section.http, key, protocol.stack)
        site = sites.number(section.page)
        page = pages.load(section.page, folder) if site is None else sites.usual(site)
        pages.check_graph(section.http, page)
    files: dict[str, Any] = _files(page) if page else {"size_bytes": section.size}
    options: dict[str, Any] = {key: fit.value_s(round_trip_s) for key, fit in protocol.fitted.items()}
    for name, plan_name in protocols.OPTIONS.items():
        value = getattr(section, name)
        if value is not None and name not in protocol.options:
            raise UserError(
                f"the flow key '{name}' means nothing to {key}; leave it out or give it its own flow."
            )
        if value is not None:
            options[plan_name] = value
    return FlowSpec(
        protocol=key,
        app=section.app,
        direction=direction,
        tunnel=section.tunnel,
        start_s=section.start,
        packet_bytes=section.packet,
        rate_bps=_rate_bps(
            section,
            protocol,
            max_rate_bps,
            direction if section.from_ is None else f"{section.from_}>{section.to}",
        ),
        duration_s=section.duration,
        mean_on_s=section.mean_on,
        mean_off_s=section.mean_off,
        interval_s=section.interval,
        count=section.count,
        kind=section.kind,
        bound_s=section.bound,
        freshness=section.freshness,
        codec=section.codec,
        frame_rate_hz=section.frame_rate,
        gop_frames=section.gop,
        playout_s=section.playout,
        warm_up_s=section.warm_up,
        reopen_after_s=section.reopen_after,
        reopen_most=section.reopen_most,
        connection=section.connection,
        pages=section.pages,
        page=section.page,
        **files,
        http=section.http,
        connections=section.connections,
        options=options,
        external=_external(section, protocol, options),
        name=section.name,
        judge=None if section.judge is None else section.judge.to_json(),
        background=section.background or None,
        sender=section.from_,
        receiver=section.to,
    )


def _external(
    section: FlowSection, protocol: protocols.Protocol, options: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The programs that carry the flow: the application's, else the protocol's."""
    app = workloads.app(section.app)
    own = app.own_programs and protocol.external is not None and protocol.key not in protocols.PROTOCOLS
    if app.stacks is not None and not own and not (protocol.stack in app.stacks and protocol.reliable):
        raise UserError(
            f"the application '{app.name}' cannot be carried by {protocol.key}; it needs a reliable protocol "
            f"of the stack {' or '.join(sorted(app.stacks))}."
        )
    stack = app.external or protocol.external
    if stack is None:
        return None
    if app.external is not None and options:
        raise UserError(
            f"the application '{app.name}' does not take '{next(iter(options))}'; leave that key out."
        )
    return stack.to_json({**protocol.stack_params, **options}, receiver_opens=app.receiver_opens)


def _rate_bps(
    section: FlowSection, protocol: protocols.Protocol, max_rate_bps: MaxRate, direction: str
) -> int | None:
    """What is offered: a reliable stack that is to send what the line can carry at best sends all it can.

    An on-off source with a number for its rate keeps to it, above the line's best too: its pauses make up
    for it. So does video, which is no greedy source at any rate.
    """
    if section.rate is None:
        return None
    if section.app == "video" and section.rate == "max":
        raise UserError(
            "the application 'video' needs a number for its 'rate'; a source has a bit rate of its own."
        )
    if (section.mean_off is not None or section.app == "video") and section.rate != "max":
        return int(section.rate)
    line_bps = round(max_rate_bps(direction))
    rate = line_bps if section.rate == "max" else int(section.rate)
    return None if protocol.reliable and rate >= line_bps else rate
