"""The forms of profiles and of nodes.yaml as JSON Schema, for editors that complete and check YAML.

yaml-language-server is one. Both come from the forms that validate, so they cannot say anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.config import LOCAL, NodeConfig
from console.launch import profile
from console.launch.key_notes import field_notes
from console.launch.profile import Profile

if TYPE_CHECKING:
    from pydantic import BaseModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """One file's form. No key is required in it, for `extends` may bring any; null takes an inherited key away.

    What needs more than one value to tell (references, paths, secrets, several nodes) is `profiles validate`'s to say.
    """
    schema = Profile.model_json_schema()
    forms = {"Profile": schema, **{name: each for name, each in schema["$defs"].items() if name != "PatchChoice"}}
    for name, form in forms.items():
        form.pop("required", None)
        form["properties"] = {key: _or_null(each) for key, each in form.get("properties", {}).items()}
        _describe(form, getattr(profile, name))
    choice = schema["$defs"]["PatchChoice"]
    schema["$defs"]["PatchChoice"] = {"anyOf": [{"type": "string"}, choice]}
    return {"$schema": DIALECT, **schema, "title": "spec-console launch profile"}


def nodes_schema() -> dict[str, Any]:
    """The form of nodes.yaml: node name → its keys. A list of words may be written as the one word."""
    form = NodeConfig.model_json_schema()
    for name, field in form["properties"].items():
        if field.get("type") == "array" and name != "exec_prefix" and name != "sets":
            field["type"] = ["array", "string"]
    _describe(form, NodeConfig)
    entry = {"anyOf": [form, {"type": "null"}]}
    return {
        "$schema": DIALECT,
        "title": "spec-console nodes",
        "description": f"Nodes by name; `{LOCAL}` is this machine.",
        "type": "object",
        "additionalProperties": entry,
    }


def _describe(form: dict[str, Any], model: type[BaseModel]) -> None:
    for key, note in field_notes(model).items():
        form["properties"][key].setdefault("description", note)


def _or_null(form: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in form.items() if key not in ("title", "default")}
    choices = plain.get("anyOf", [plain])
    if {"type": "null"} in choices:
        return plain
    told = {"description": plain.pop("description")} if "description" in plain else {}
    return {**told, "anyOf": [*plain.get("anyOf", [plain]), {"type": "null"}]}
