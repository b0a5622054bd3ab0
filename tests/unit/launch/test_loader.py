"""Merging, overrides, and every error at once with its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.errors import UsageError
from console.launch.command import render
from console.launch.library import Library, NoSuchProfile
from console.launch.loader import Inputs, ResolvedProfile, resolve
from console.launch.profile import ProbeSpec, Profile
from console.launch.record import canonical_json, profile_record
from console.launch.schema import json_schema
from console.probe import workload
from console.validation import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    Resolved = Callable[..., ResolvedProfile]
    Write = Callable[[dict[str, str]], Library]

VARIABLES = {"python": "python3", "logs": "/logs"}


def said(error: Invalid) -> list[str]:
    """The problems, with the file's folder cut off."""
    return [f"{Path(problem.where).name}: {str(problem)[len(problem.where) + 2 :]}" for problem in error.problems]


def failing(resolved: Resolved, text: str, **inputs: object) -> list[str]:
    with pytest.raises(Invalid) as caught:
        resolved(text, **inputs)
    assert caught.value.exit_code == 2
    return said(caught.value)


def test_a_minimal_profile_gets_python_log_and_port(resolved: Resolved) -> None:
    profile = resolved("model_path: /m\n").profile
    assert (profile.name, profile.python, profile.log_path) == ("p", "/opt/venv/bin/python3", "/srv/logs/p.log")
    assert profile.port == 30000


def test_every_error_is_reported_at_once_with_place_and_nearest_key(resolved: Resolved) -> None:
    text = (
        "model_path: ~/m\n"
        "tp_sizes: 8\n"
        "speculative:\n"
        "  algorithm: EAGLE3\n"
        "  num_step: 5\n"
        "args: {tp: 8, foo_bar: 1}\n"
        "log_path: ${lgs}/x\n"
        "gpus: [0, 0]\n"
        "env: {CUDA_VISIBLE_DEVICES: '1'}\n"
        "baseline: {profile: b, varies: [speculative.num_stops]}\n"
    )
    assert failing(resolved, text) == [
        "p.yaml:1:1: model_path: ~ is a shell's word and no shell reads this: write an absolute path, or ${home}/…",
        "p.yaml:2:1: unknown key 'tp_sizes' (nearest: tp_size)",
        "p.yaml:5:3: unknown key 'num_step' in speculative (nearest: num_steps)",
        "p.yaml:6:8: args.tp: the profile has a key for --tp: write tp_size",
        "p.yaml:6:15: args.foo_bar: flags have hyphens: write foo-bar",
        "p.yaml:7:1: log_path: unknown variable ${lgs}; "
        "this node has: drafts, logs, models, name, python (nearest: logs)",
        "p.yaml:8:1: gpus: an index stands twice",
        "p.yaml:9:7: env.CUDA_VISIBLE_DEVICES: gpus says it already",
        "p.yaml:10:33: baseline.varies.0: a profile has no key 'speculative.num_stops' (nearest: num_steps)",
    ]


def test_a_missing_key_is_named(resolved: Resolved) -> None:
    assert failing(resolved, "port: 1\n") == ["p.yaml:1:1: the key 'model_path' is missing"]
    assert failing(resolved, "model_path: /m\nspeculative: {num_steps: 2}\n") == [
        "p.yaml:2:1: the key 'algorithm' is missing in speculative"
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("host: no", "host: wants text; YAML reads no, off, yes and on as true or false: put the text in quotes"),
        ("tp_size: yes", "tp_size: wants a whole number; YAML reads no, off, yes and on as true or false"),
        ("trust_remote_code: 'yes'", "trust_remote_code: wants true or false"),
        ("mem_fraction_static: 1e-1", "mem_fraction_static: wants a number; YAML reads '1e-1' as text: write 0.1"),
        ("context_length: 1e5", "context_length: wants a whole number; YAML reads '1e5' as text: write 100000"),
        ("env: {A: 010}", "env.A: wants text; YAML reads this as the number 8: put it in quotes, as it should stand"),
        ("revision: 2024-01-01", "revision: YAML reads 2024-01-01 as a date: put it in quotes"),
        ("sweep: {page_size: [.nan]}", "sweep.page_size.0: not a finite number"),
        ("port: 70000", "port: must be at most 65535"),
        ("gpus: 3", "gpus: wants a list, such as [a, b]"),
        ('host: "a\\eb"', "host: holds a control character"),
        (
            "args: {x: {a: 1}}",
            "args.x: wants text, a number, true (the bare flag), false (left out) or a list of text and numbers",
        ),
        ("args: {x: [--port]}", "args.x: '--port' in a list would be read as a flag"),
        ("patches: [../x]", "patches.0: '../x' is not a patch id (small letters, digits, hyphens)"),
        (
            "probe: {prompt: 3}",
            "probe.prompt: wants the name of a prompt set, a text, or a list of input ids such as [5, 17, 300]",
        ),
        ("dist_init_addr: 'x'", "dist_init_addr: 'x' is not an address, such as 10.0.0.1:20000"),
        ("log_path: logs/x.log", "log_path: 'logs/x.log' is not an absolute path"),
        ("host: --x", "host: '--x' is not one word"),
    ],
)
def test_values_of_the_wrong_kind_are_told_with_the_yaml_rule_behind_them(
    resolved: Resolved, line: str, told: str
) -> None:
    (problem,) = failing(resolved, f"model_path: /m\n{line}\n")
    assert problem.partition(": ")[2] == told


def test_extends_merges_mappings_and_null_takes_away(write: Write) -> None:
    library = write(
        {
            "base": "description: base\nmodel_path: /m\nport: 1\ntp_size: 8\nenv: {A: a, B: b}\n"
            "args: {x: 1, y: true}\n",
            "mid": "extends: base\nport: 2\nenv: {B: null, C: c}\n",
            "top": "extends: mid\nargs: {x: null}\ntp_size: null\ngpus: [1]\n",
        }
    )
    found = resolve("top", library, Inputs(VARIABLES, {}))
    profile = found.profile
    assert (profile.port, profile.tp_size, profile.gpus) == (2, 1, (1,))
    assert profile.env == {"A": "a", "C": "c"}
    assert profile.args == {"y": True}
    assert (profile.name, profile.description, profile.extends) == ("top", "", "mid")
    assert [Path(source).name for source in found.sources] == ["top.yaml", "mid.yaml", "base.yaml"]


def test_an_error_is_placed_in_the_file_that_made_it(write: Write) -> None:
    library = write({"base": "model_path: /m\nenv:\n  A: 1\n", "p": "extends: base\nport: x\n"})
    with pytest.raises(Invalid) as caught:
        resolve("p", library, Inputs(VARIABLES, {}))
    assert [line.partition(": ")[0] for line in said(caught.value)] == ["base.yaml:3:3", "p.yaml:2:1"]


def test_a_circle_of_extends_is_refused_by_name(write: Write) -> None:
    library = write({"a": "extends: b\n", "b": "extends: c\n", "c": "extends: a\n"})
    with pytest.raises(UsageError, match=r"c\.yaml:1:1: .*a → b → c → a"):
        resolve("a", library)


def test_an_unknown_profile_names_the_nearest(write: Write) -> None:
    library = write({"kimi-eagle3": "model_path: /m\n", "p": "extends: kimi-eagle\n"})
    with pytest.raises(NoSuchProfile) as caught:
        resolve("kimi-eagel3", library)
    assert caught.value.hint == "Nearest: kimi-eagle3."
    told = r"p\.yaml:1:1: extends: no profile is called 'kimi-eagle' \(nearest: kimi-eagle3\)"
    with pytest.raises(Invalid, match=told):
        resolve("p", library)


def test_a_file_that_is_not_there_is_told_with_the_nearest_beside_it(tmp_path: Path) -> None:
    (tmp_path / "evening.yaml").write_text("runbook: 1\n")
    with pytest.raises(NoSuchProfile) as caught:
        resolve(str(tmp_path / "evening.yml"), Library(()))
    assert (caught.value.message, caught.value.hint) == (
        f"there is no file {tmp_path}/evening.yml",
        f"Nearest: {tmp_path}/evening.yaml.",
    )
    with pytest.raises(NoSuchProfile, match=r"there is no file .*/nowhere/x\.yml"):
        resolve(str(tmp_path / "nowhere" / "x.yml"), Library(()))


def test_a_mistyped_extends_hides_no_other_error_and_invents_none(resolved: Resolved) -> None:
    """What is missing may stand in the profile that was meant."""
    text = "extends: nowhere\nprot: 1\nspeculative: {num_steps: x}\nnnodes: 2\nenv: {A: 1}\n"
    assert failing(resolved, text) == [
        "p.yaml:1:1: extends: no profile is called 'nowhere'",
        "p.yaml:2:1: unknown key 'prot' (nearest: port)",
        "p.yaml:3:15: speculative.num_steps: wants a whole number; YAML reads 'x' as text",
        "p.yaml:5:7: env.A: wants text; YAML reads this as the number 1: put it in quotes, as it should stand",
    ]


def test_the_first_folder_of_the_search_order_wins(tmp_path: Path) -> None:
    for folder, port in (("near", 1), ("far", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.yaml").write_text(f"model_path: /m\nport: {port}\n")
    (tmp_path / "far" / "other.yaml").write_text("model_path: /m\n")
    library = Library((tmp_path / "near", tmp_path / "missing", tmp_path / "far"))
    assert list(library.names()) == ["other", "p"]
    assert resolve("p", library, Inputs(VARIABLES, {})).profile.port == 1


def test_a_profile_is_found_by_path_and_extends_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("model_path: /m\nport: 7\n")
    (tmp_path / "mine.yaml").write_text("extends: ./base.yaml\n")
    found = resolve(str(tmp_path / "mine.yaml"), Library(()), Inputs(VARIABLES, {}))
    assert (found.profile.name, found.profile.port) == ("mine", 7)


def test_set_is_typed_by_yamls_rules(resolved: Resolved) -> None:
    sets = [
        "speculative.num_steps=2",
        "speculative.algorithm=EAGLE3",
        "gpus=[0, 1]",
        "disable_cuda_graph=true",
        "host=",
    ]
    found = resolved("model_path: /m\nhost: 0.0.0.0\n", sets=[*sets, "args.foo=0.5"], env=["A=1", "B=x=y"])
    profile = found.profile
    assert profile.speculative is not None
    assert profile.speculative.num_steps == 2
    assert (profile.gpus, profile.disable_cuda_graph, profile.host) == ((0, 1), True, None)
    assert profile.args == {"foo": 0.5}
    assert profile.env == {"A": "1", "B": "x=y"}, "--env is text as it stands"
    assert found.overrides["speculative.num_steps"] == 2
    assert found.overrides["env.B"] == "x=y"


def test_a_wrong_set_is_told_with_its_key(resolved: Resolved) -> None:
    told = failing(resolved, "model_path: /m\n", sets=["tp_size=two", "speculative.num_step=2", "prt=1"])
    assert told == [
        "--set prt: unknown key 'prt' (nearest: port)",
        "--set speculative.num_step: the key 'algorithm' is missing in speculative",
        "--set speculative.num_step: unknown key 'num_step' in speculative (nearest: num_steps)",
        "--set tp_size: tp_size: wants a whole number; YAML reads 'two' as text",
    ]


@pytest.mark.parametrize("text", ["tp_size", "=1", "a..b=1", "name=x", "extends=x", "model_path.x=1", "tp_size=[1"])
def test_a_set_that_cannot_be_read_is_refused(resolved: Resolved, text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        resolved("model_path: /m\n", sets=[text])


def test_an_env_that_cannot_be_read_is_refused(resolved: Resolved) -> None:
    with pytest.raises(UsageError, match="--env A"):
        resolved("model_path: /m\n", env=["A"])
    assert failing(resolved, "model_path: /m\n", env=["1A=x"]) == [
        "--env 1A: env.1A: '1A' is not a name of an environment variable"
    ]


def test_variables_use_other_variables_and_doubled_dollars_stay(resolved: Resolved) -> None:
    variables = {"home": "/home/u", "python": "${home}/venv/bin/python", "logs": "${home}/logs", "models": "/m"}
    text = "model_path: ${models}/${name}\nenv: {A: '$${x} $HOME $$'}\n"
    profile = resolved(text, variables=variables).profile
    assert profile.python == "/home/u/venv/bin/python"
    assert profile.model_path == "/m/p"
    assert profile.env["A"] == "${x} $HOME $$"


def test_a_variable_that_needs_itself_is_refused(resolved: Resolved) -> None:
    (told,) = failing(resolved, "model_path: ${a}\n", variables={**VARIABLES, "a": "/x${b}", "b": "${a}"})
    assert told == "p.yaml:1:1: model_path: the variable ${a} needs itself: a → b → a"


def test_a_variable_that_grows_without_end_is_stopped(resolved: Resolved) -> None:
    variables = {**VARIABLES, **{f"v{n}": f"${{v{n + 1}}}" * 40 for n in range(4)}, "v4": "x" * 40}
    (told,) = failing(resolved, "model_path: /${v0}\n", variables=variables)
    assert "grows over" in told


def test_without_a_node_variables_stay_as_written(resolved: Resolved) -> None:
    profile = resolved("model_path: ${models}/x\n", variables=None, environ=None).profile
    assert (profile.model_path, profile.log_path) == ("${models}/x", "${logs}/${name}.log")


def test_a_file_and_its_name_agree(resolved: Resolved) -> None:
    assert failing(resolved, "model_path: /m\nname: other\n") == [
        "p.yaml:2:1: name: the file is called 'p', and a profile is found by its file's name"
    ]


@pytest.mark.parametrize("text", ["", "- a\n", "text\n", "extends: [a]\nmodel_path: /m\n"])
def test_a_file_that_is_no_profile_is_refused(resolved: Resolved, text: str) -> None:
    with pytest.raises(UsageError, match=r"p\.yaml"):
        resolved(text)


SECRET = "model_path: /m\napi_key: ${MY_KEY}\nsecret_env: {HF_TOKEN: '${TOK}'}\nenv: {OTHER_TOKEN: t0p}\n"
ENVIRON = {"MY_KEY": "s3cret", "TOK": "t0ken"}


def test_secrets_are_values_in_the_secrets_alone(resolved: Resolved) -> None:
    found = resolved(SECRET, environ=ENVIRON, env=["X_API_KEY=s3cret"], sets=["secret_env.B=${TOK}"])
    assert dict(found.secrets) == ENVIRON
    told = repr(found.secrets) + canonical_json(profile_record(found.profile)) + repr(found.overrides)
    assert "MY_KEY" in told
    for value in ("s3cret", "t0ken", "t0p"):
        assert value not in told


def test_the_hash_knows_what_runs_and_neither_secrets_nor_prose(resolved: Resolved) -> None:
    first = resolved(SECRET, environ=ENVIRON).sha256
    assert resolved(SECRET + "description: other\n", environ={"MY_KEY": "a", "TOK": "b"}).sha256 == first
    assert resolved(SECRET + "port: 1\n", environ=ENVIRON).sha256 != first
    reordered = "".join(reversed(SECRET.splitlines(keepends=True)))
    assert resolved(reordered, environ=ENVIRON).sha256 == first


@pytest.mark.parametrize("text", ["api_key: hunter2\n", "api_key: 12345\n", "secret_env: {T: 'x${A}'}\n"])
def test_a_literal_secret_is_refused_without_being_repeated(resolved: Resolved, text: str) -> None:
    (told,) = failing(resolved, f"model_path: /m\n{text}")
    assert "by reference" in told
    assert not any(word in told for word in ("hunter2", "12345", "x${A}"))


@pytest.mark.parametrize("flag", ["api-key", "api_key", "--api-key", "api-k", "admin-api-key", "ssl-keyfile-password"])
def test_a_secret_flag_among_free_args_is_refused_without_being_repeated(resolved: Resolved, flag: str) -> None:
    (told,) = failing(resolved, f"model_path: /m\nargs: {{{flag}: hunter2}}\n")
    assert "a secret never stands in the command line" in told
    assert "hunter2" not in told


def test_a_secret_that_is_not_set_is_named(resolved: Resolved) -> None:
    assert failing(resolved, SECRET, environ={"MY_KEY": "x", "TOK": ""}) == [
        "p.yaml:3:14: secret_env.HF_TOKEN: the environment variable TOK is not set here"
    ]


def test_keys_that_are_wrong_together_are_told(resolved: Resolved) -> None:
    told = failing(resolved, SECRET + "args: {config: /c.yaml}\n", environ=ENVIRON, env=["HF_TOKEN=x"])
    assert told == [
        "p.yaml:3:14: secret_env.HF_TOKEN: stands in env too",
        "p.yaml:5:8: args.config: a server takes one --config, and that carries the API key",
    ]


def test_without_an_environment_secrets_are_missing_and_said_so(resolved: Resolved) -> None:
    command = render(resolved(SECRET, environ=None))
    assert command.missing_secrets == ("MY_KEY", "TOK")
    assert command.env["HF_TOKEN"] == "***"


def test_a_probe_is_prompted_by_a_set_a_text_or_input_ids(resolved: Resolved) -> None:
    for written, prompt in (("chat", "chat"), ("'Say: one\ttwo'", "Say: one\ttwo"), ("[5, 17, 300]", (5, 17, 300))):
        assert resolved(f"model_path: /m\nprobe: {{prompt: {written}}}\n").profile.probe.prompt == prompt


def test_a_probes_keys_are_those_of_the_workload(resolved: Resolved) -> None:
    assert set(ProbeSpec.model_fields) == set(workload.KEYS)
    probe = resolved("model_path: /m\nprobe: {concurrency: 8, temperature: 0}\n").profile.probe
    assert probe.given() == {"concurrency": 8, "temperature": 0.0}
    assert workload.workload_from_profile(probe.given()).requests_per_block == 8


def test_what_may_vary_is_a_key_of_profiles_or_of_comparisons(resolved: Resolved) -> None:
    words = "speculative.num_steps, env.NCCL, args.schedule-policy, patches.x, tree.git_head, disable_cuda_graph"
    found = resolved(f"model_path: /m\nbaseline: {{profile: b, varies: [{words}]}}\n").profile
    assert found.baseline is not None
    assert len(found.baseline.varies) == 6


def test_the_form_has_a_json_schema_for_editors() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert schema["properties"].keys() == Profile.model_fields.keys()
    assert "required" not in schema, "extends may bring any key"
    assert "required" not in schema["$defs"]["Speculative"]
    assert {"type": "null"} in schema["properties"]["port"]["anyOf"], "null takes a key away"
    assert {"type": "string"} in schema["$defs"]["PatchChoice"]["anyOf"]
    assert schema["properties"]["sweep"]["anyOf"][0]["additionalProperties"]["type"] == "array"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("context_length: 010000", "context_length: YAML reads 010000 as 4096, in base 8: write 4096, or put the text"),
        ("watchdog_timeout: 1:30", "watchdog_timeout: YAML reads 1:30 as 90, in base 60: write 90, or put the text in"),
        ("args: {x: [0644]}", "args.x.0: YAML reads 0644 as 420, in base 8: write 420, or put the text in quotes"),
        ("args: {x: 10:20:30.5}", "args.x: YAML reads 10:20:30.5 as 37230.5, in base 60"),
        ("revision: 3.10", "revision: wants text; YAML reads this as the number 3.1: put it in quotes, as it should"),
        ("env: {A: 1e3}", ""),
        ("port: 0", "port: must be at least 1"),
        ("args: {x: 0o17, y: '010', z: 1_000}", ""),
    ],
)
def test_numbers_that_yaml_reads_in_another_base_are_told(resolved: Resolved, text: str, told: str) -> None:
    if not told:
        resolved(f"model_path: /m\n{text}\n")
        return
    (problem,) = failing(resolved, f"model_path: /m\n{text}\n")
    assert problem.startswith("p.yaml:2:")
    assert problem.partition(": ")[2].startswith(told)


def test_traps_come_with_the_other_errors_and_in_set_too(resolved: Resolved) -> None:
    assert len(failing(resolved, "model_path: ~/m\ncontext_length: 010000\ntp: 1\n")) == 3
    with pytest.raises(UsageError, match=r"--set port: YAML reads 0777 as 511"):
        resolved("model_path: /m\n", sets=["port=0777"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "nnodes: 2",
            ["nnodes: more than one node needs dist_init_addr", "nnodes: more than one node needs node_rank"],
        ),
        ("nnodes: 2\nnode_rank: 2\ndist_init_addr: 'a:1'", ["node_rank: of 2 nodes the last has rank 1"]),
        ("node_rank: 1", ["node_rank: of 1 node the last has rank 0"]),
        (
            "tp_size: 3\nnnodes: 2\nnode_rank: 0\ndist_init_addr: 'a:1'",
            ["nnodes: tp_size × pp_size (3) is no multiple"],
        ),
        ("nnodes: 1\nnode_rank: 0", []),
        ("tp_size: 4\nnnodes: 2\nnode_rank: 1\ndist_init_addr: 'a:1'", []),
    ],
)
def test_keys_of_several_nodes_belong_together(resolved: Resolved, text: str, told: list[str]) -> None:
    text = f"model_path: /m\n{text if 'tp_size' in text else 'tp_size: 2' + chr(10) + text}\n"
    if not told:
        assert resolved(text).profile.nnodes
        return
    found = [each.partition(": ")[2] for each in failing(resolved, text)]
    assert len(found) == len(told)
    assert all(each.startswith(start) for each, start in zip(sorted(found), sorted(told), strict=True))


def test_a_sweep_has_axes_of_keys_and_values_that_are_checked_like_set(resolved: Resolved) -> None:
    text = "model_path: /m\nspeculative: {algorithm: EAGLE3}\n"
    good = (
        "sweep: {speculative.num_steps: [1, 2, 5], env.NCCL_PROTO: [LL, Simple], args.x: [1, true], gpus: [[0], [1]]}\n"
    )
    assert resolved(text + good).profile.sweep["speculative.num_steps"] == [1, 2, 5]
    bad = {
        "speculative.num_stops: [1]": "sweep.speculative.num_stops: a profile has no key 'speculative.num_stops'",
        "speculative: [1]": "sweep.speculative: speculative has keys of its own",
        "log_path: [/a]": "sweep.log_path: log_path is not for sweeping",
        "tp_size: 2": "sweep.tp_size: wants a list",
        "tp_size: []": "sweep.tp_size: ",
        "tp_size: [2, x]": "sweep.tp_size.1: wants a whole number",
        "speculative.num_steps: [0]": "sweep.speculative.num_steps.0: must be at least 1",
        "env.A: [1]": "sweep.env.A.0: wants text",
        "args.tp: [1]": "sweep.args.tp.0: the profile has a key for --tp: write tp_size",
        "nnodes: [1, 2]": "sweep.nnodes.1: more than one node needs dist_init_addr",
    }
    for axis, told in bad.items():
        problems = failing(resolved, f"{text}sweep: {{{axis}}}\n")
        assert len(problems) == 1, problems
        assert problems[0].partition(": ")[2].startswith(told), problems
        assert problems[0].startswith("p.yaml:3:")
