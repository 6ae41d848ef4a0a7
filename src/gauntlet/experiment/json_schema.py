"""The experiment file as JSON Schema, for editors: made from the models that read the file.

It knows every key, its kind of quantity with its units, its choices, and which application takes which keys.
What depends on more than one key (an application that lacks one that it needs, a protocol that cannot carry
it) is left to `gauntlet run`.
"""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from gauntlet.experiment import protocols, workloads
from gauntlet.experiment.network_section import AXES as NETWORK_AXES
from gauntlet.experiment.network_section import NetworkSection
from gauntlet.experiment.scenario_section import ScenarioSection
from gauntlet.experiment.schema import (
    FLOW_KEYS,
    LINK_KEYS,
    Condition,
    ExperimentFile,
    FlowSection,
    LinkSection,
)
from gauntlet.experiment.server import NONE, ServerSection

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors of TOML read (Taplo, and Even Better TOML with it)."""

_OWN = "^[a-z0-9][a-z0-9._+-]*$"
"""Keys of protocols, several flows' with + between, and of the experiment's own stacks."""

Schema = dict[str, Any]


class _Draft7(GenerateJsonSchema):
    """As pydantic makes it, with references where draft 7 has them."""

    schema_dialect = DIALECT


def experiment_schema() -> Schema:
    """The schema of an experiment file, as plain data."""
    file = _of(ExperimentFile)
    sections: dict[str, Schema] = {
        "scenario": _of(ScenarioSection),
        "network": _of(NetworkSection),
        "link": _of(LinkSection),
        "server": _server(),
        "workload": _flow(),
        "flow": {"type": "array", "items": _flow(), "minItems": 1},
        "sysctl": _of(Condition)["properties"]["sysctl"],
    }
    needs = {
        "scenario": sections["scenario"].pop("required", []),
        "workload": sections["workload"].pop("required", []),
    }
    sections["flow"]["items"].pop("required", None)
    properties = {**file["properties"], **sections, "matrix": _matrix(sections)}
    return {
        "$schema": DIALECT,
        "title": "Experiment of Gauntlet",
        **{key: file[key] for key in ("type", "additionalProperties", "required")},
        "properties": {key: properties[key] for key in _keys(ExperimentFile)},
        "allOf": [_one_kind_of_flow(), _one_kind_of_network(), _known_protocols(), *_needed(needs)],
    }


def _of(model: type[BaseModel]) -> Schema:
    """A model without references, its keys described by what stands below them in the source."""
    schema = model.model_json_schema(by_alias=True, schema_generator=_Draft7)
    definitions = schema.pop("$defs", {})
    resolved: Schema = _resolved(schema, definitions)
    for name, text in _documented(model).items():
        resolved["properties"][model.model_fields[name].alias or name]["description"] = text
    for property_ in resolved["properties"].values():
        if "default" in property_ and ("pattern" in property_ or "anyOf" in property_):
            # A default is in base units, and the file has text with a unit.
            del property_["default"]
    return resolved


def _keys(model: type[BaseModel]) -> list[str]:
    """The keys of a model as files have them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _documented(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings of a model's fields, in one line each."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in itertools.pairwise(body.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }


def _resolved(part: Any, definitions: Mapping[str, Any]) -> Any:
    """A part of a schema with definitions in place of references, without titles and defaults that only
    repeat names and None.
    """
    if isinstance(part, list):
        return [_resolved(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        found = definitions[part["$ref"].rpartition("/")[2]]
        return _resolved({**found, **{key: part[key] for key in part if key != "$ref"}}, definitions)
    kept = {key: value for key, value in part.items() if not (key == "default" and value is None)}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    if "anyOf" in kept:
        # An optional key may be left out; TOML has no null to write.
        choices = [choice for choice in kept.pop("anyOf") if choice != {"type": "null"}]
        if len(choices) == 1:
            return _resolved({**choices[0], **kept}, definitions)
        kept["anyOf"] = choices
    return {key: _resolved(value, definitions) for key, value in kept.items()}


def _server() -> Schema:
    """The server, whose processor may be a word."""
    server = _of(ServerSection)
    costs = server["properties"]["processor"]
    about = {"description": costs.pop("description")}
    server["properties"]["processor"] = {**about, "anyOf": [{"const": NONE}, costs]}
    return server


def _flow() -> Schema:
    """A flow: the keys of other applications are refused, as `FlowSection` does it."""
    flow = _of(FlowSection)
    for key, choices in (("app", workloads.APPS), ("protocol", protocols.PROTOCOLS)):
        flow["properties"][key] = {**flow["properties"][key], "anyOf": [{"enum": [*choices]}]}
    flow["properties"]["protocol"]["anyOf"].append({"pattern": _OWN})
    flow["allOf"] = [
        {
            "if": {"properties": {"app": {"const": app.name}}, "required": ["app"]},
            "then": {"properties": dict.fromkeys(_keys_of_others(app), False)},
        }
        for app in workloads.APPS.values()
    ]
    return flow


def _keys_of_others(app: workloads.App) -> list[str]:
    return sorted(workloads.ALL_KEYS - {*app.keys, *app.optional})


def _matrix(sections: Mapping[str, Schema]) -> Schema:
    """Axes: lists of what their keys take, bare, behind the section's name, or in a table of that name."""
    link, flow = sections["link"]["properties"], sections["workload"]["properties"]
    flow = {key: flow[key] for key in FLOW_KEYS if key != "protocol"}
    scenario = {key: _axis(value) for key, value in sections["scenario"]["properties"].items()}
    value = _axis(sections["sysctl"]["additionalProperties"])
    bare = {**{key: _axis(flow[key]) for key in flow}, **{key: _axis(link[key]) for key in LINK_KEYS}}
    network = sections["network"]["properties"]
    tables: dict[str, Schema] = {
        "network": {"type": "object", "additionalProperties": {"type": ["array", "object"]}},
        "link": _table({key: _axis(link[key]) for key in LINK_KEYS}),
        "server": _table({key: _axis(value) for key, value in sections["server"]["properties"].items()}),
        "workload": _table({key: _axis(flow[key]) for key in flow}),
        "sysctl": {"type": "object"},
    }
    dotted = {
        f"{section}.{key}": axis
        for section in ("link", "server", "workload")
        for key, axis in tables[section]["properties"].items()
    } | {f"network.{key}": _axis(network[key]) for key in NETWORK_AXES}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "protocols": _axis(
                {"type": "string", "anyOf": [{"enum": [*protocols.PROTOCOLS]}, {"pattern": _OWN}]}
            )
            | {"minItems": 0},
            "scenario": {
                "anyOf": [
                    _axis({"type": "string"}),
                    {"type": "object", "properties": scenario, "additionalProperties": {"type": "array"}},
                ]
            },
            **bare,
            **tables,
            "network": {"anyOf": [bare["network"], tables["network"]]},
            **dotted,
        },
        "patternProperties": {
            r"^(network|scenario)\..+$": {"type": "array", "minItems": 1},
            r"^sysctl\..+$": value,
        },
    }


def _axis(value: Schema) -> Schema:
    """A list of values of a key."""
    items = {key: part for key, part in value.items() if key != "default"}
    return {"type": "array", "minItems": 1, "uniqueItems": True, "items": items}


def _table(properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _one_kind_of_flow() -> Schema:
    """[workload] for one flow, [[flow]] for several, or [load] for a test that has its own."""
    return {"oneOf": [{"required": [section]} for section in ("workload", "flow", "load")]}


def _one_kind_of_network() -> Schema:
    """[scenario], or a [network] of one's own."""
    return {"oneOf": [{"required": ["scenario"]}, {"required": ["network"]}]}


def _known_protocols() -> Schema:
    """Without stacks of its own an experiment has only the protocols that everyone has."""
    one = "|".join(protocols.PROTOCOLS)
    known = {"items": {"pattern": rf"^({one})(\+({one}))*$"}}
    flow = {"properties": {"protocol": {"enum": [*protocols.PROTOCOLS]}}}
    return {
        "if": {"not": {"required": ["stack"]}},
        "then": {
            "properties": {
                "matrix": {"properties": {"protocols": known}},
                "workload": flow,
                "flow": {"items": flow},
            }
        },
    }


def _needed(needs: Mapping[str, list[str]]) -> list[Schema]:
    """Keys that a section needs unless an axis of the matrix gives them."""
    return [
        {
            "if": {"properties": {"matrix": _without(section, key)}},
            "then": {"properties": _in_section(section, {"required": [key]})},
        }
        for section, keys in needs.items()
        for key in keys
    ]


def _without(section: str, key: str) -> Schema:
    """A matrix that does not vary a key of a section, however it is written."""
    axes: Schema = {f"{section}.{key}": False, section: {"not": {"type": "object", "required": [key]}}}
    if section == "scenario":
        axes[section] = {"type": "object", "properties": {key: False}}
    else:
        axes[key] = False
    return {"properties": axes}


def _in_section(section: str, schema: Schema) -> Schema:
    return {section: schema, "flow": {"items": schema}} if section == "workload" else {section: schema}
