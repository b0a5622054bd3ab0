"""A runbook as a file: a profile, its changes, and the steps; written from a plan, read back and walked."""

# no `from __future__ import annotations`: pydantic reads these annotations while the module runs
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from console import new_file, yaml_file
from console.actions.runbook import RunbookPlan, RunbookRequest
from console.errors import Refused, UsageError
from console.launch.layers import parse_env
from console.launch.library import SUFFIXES
from console.launch.secrets import is_secret_value, looks_secret
from console.validation import Invalid, check

Kind = Literal["free", "patch", "baseline", "launch", "probe", "shapes", "compare", "stop", "revert"]
MARK = "runbook"
"""The key by which a file is a runbook and not a profile; its value is the form's number."""
_HEAD = "# Walked by: spec-console runbook NODE {name}\n"


class RunbookFile(BaseModel):
    """The form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runbook: Annotated[StrictInt, Field(ge=1, le=1)]
    profile: StrictStr
    steps: Annotated[tuple[Kind, ...], Field(min_length=1)]
    sets: tuple[StrictStr, ...] = ()
    env: tuple[StrictStr, ...] = ()
    allow: tuple[StrictStr, ...] = ()
    delivery: Literal["overlay", "in-place"] | None = None


def is_runbook(word: str) -> bool:
    """Tell whether `word` is the path of a runbook file; a profile may be given by its path too."""
    if not ("/" in word or word.endswith(SUFFIXES)) or not Path(word).expanduser().is_file():
        return False
    data = yaml_file.load_file(Path(word).expanduser()).data
    return isinstance(data, dict) and MARK in data


def read(path: Path) -> RunbookFile:
    """Read a runbook file. Raises UsageError, Invalid: every error with file, line and column."""
    located = yaml_file.load_file(path.expanduser())
    form, problems = check(RunbookFile, located.data, located.where)
    if form is None or problems:
        raise Invalid(str(path), problems)
    return form


def write(path: Path, plan: RunbookPlan) -> None:
    """Write what a plan would walk, without the steps that it skips.

    Raises:
        UsageError: the name is no YAML file's, or it cannot be written.
        Refused: it is there already, or a secret would stand in it.
    """
    new_file.write(path.expanduser(), text_of(path, plan))


def text_of(path: Path, plan: RunbookPlan) -> str:
    """Return what `write` would write. Raises UsageError and Refused as it does, but for what is on the disk."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: a runbook is a .yaml file")
    request = plan.request
    for each in request.env:
        override = parse_env(each)
        if looks_secret(str(override.path[-1])) or is_secret_value(override.value):
            raise Refused(f"--env {override.path[-1]} looks like a secret", "Put it into the profile's secret_env.")
    given: dict[str, Any] = {
        MARK: 1,
        "profile": request.profile,
        "sets": list(request.sets),
        "env": list(request.env),
        "allow": list(request.allow),
        "delivery": request.delivery,
        "steps": [step.kind for step in plan.steps if step.state != "skipped"],
    }
    return _HEAD.format(name=path.name) + yaml_file.dump({key: value for key, value in given.items() if value})


def request_of(form: RunbookFile, more: RunbookRequest) -> RunbookRequest:
    """Return the file's request with what the command line adds."""
    return RunbookRequest(
        profile=form.profile,
        sets=(*form.sets, *more.sets),
        env=(*form.env, *more.env),
        allow=(*form.allow, *more.allow),
        start=more.start,
        gpus=more.gpus,
        delivery=more.delivery or form.delivery,
        steps=form.steps,
        skip=more.skip,
        insert=more.insert,
    )
