"""The form of profiles as a JSON Schema, for editors that complete and check YAML, such as yaml-language-server."""

from __future__ import annotations

from typing import Any

from console.launch.profile import Profile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """One file's form. No key is required in it, for `extends` may bring any; null takes an inherited key away.

    What needs more than one value to tell (references, paths, secrets, several nodes) is `profiles validate`'s to say.
    """
    schema = Profile.model_json_schema()
    forms = [schema, *(each for name, each in schema["$defs"].items() if name != "PatchChoice")]
    for form in forms:
        form.pop("required", None)
        form["properties"] = {key: _or_null(each) for key, each in form.get("properties", {}).items()}
    choice = schema["$defs"]["PatchChoice"]
    schema["$defs"]["PatchChoice"] = {"anyOf": [{"type": "string"}, choice]}
    return {"$schema": DIALECT, **schema, "title": "spec-console launch profile"}


def _or_null(form: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in form.items() if key not in ("title", "default")}
    choices = plain.get("anyOf", [plain])
    if {"type": "null"} in choices:
        return plain
    told = {"description": plain.pop("description")} if "description" in plain else {}
    return {**told, "anyOf": [*plain.get("anyOf", [plain]), {"type": "null"}]}
