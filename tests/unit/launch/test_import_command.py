"""A launch line becomes a profile, and the profile gives the line back; nothing is run and no secret is kept."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import yaml_file
from console.errors import UsageError
from console.launch import flag_reading, flag_table, flags
from console.launch.command import render, shell_line
from console.launch.import_command import Imported, import_command
from console.launch.library import Library
from console.launch.loader import Inputs, ResolvedProfile, resolve
from console.launch.profile import Profile, scalar_of
from console.launch.record import profile_sha256
from console.launch.secrets import Secrets, is_secret_value, looks_secret
from console.launch.shell_words import Operator, split
from console.validation import Invalid

CASES = Path(__file__).parents[2] / "data" / "cases"
REFUSED = {"B11-abbrev", "B12-underscore", "B13-vllm-flags"}
SHORT = {"E08-graph-bs"}
"""Lines with an abbreviation: their flags do not come back as they were typed."""
LAUNCHES = sorted(
    path.stem for path in CASES.glob("*.txt") if path.read_text("utf-8").partition("\n")[0].find("-m sglang.launch") > 0
)
STORY = """\
EAGLE3_DEBUG=1 SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 nohup ~/ml-env/bin/python3 -m sglang.launch_server \\
  --model-path /shared/kimi-k2.5-int4 --trust-remote-code --tp-size 8 --mem-fraction-static 0.88 \\
  --host 0.0.0.0 --port 8000 --num-continuous-decode-steps 4 --disable-custom-all-reduce --disable-cuda-graph \\
  --speculative-algorithm EAGLE3 --speculative-draft-model-path /data/eagle3/output_100k_sglang/4 \\
  --speculative-eagle-topk 1 --speculative-num-draft-tokens 6 --speculative-num-steps 5 \\
  > /data/eagle3/synth_100k/logs/sglang_eagle3_debug.log 2>&1 &
"""


def imported(text: str, version: str | None = None) -> Imported:
    return import_command(text, "line.sh", "p", version)


def refusals(text: str, version: str | None = None) -> list[str]:
    with pytest.raises(Invalid) as caught:
        imported(text, version)
    return [str(problem) for problem in caught.value.problems]


def line_of(profile: Profile, wrap: bool = True) -> str:
    return shell_line(render(ResolvedProfile(profile, (), profile_sha256(profile), {}, Secrets())), wrap=wrap)


def flags_of(words: list[str]) -> set[str]:
    """Each flag with what follows it, as one text."""
    found: list[str] = []
    for word in words:
        found.append(word) if word.startswith("--") else found.append(f"{found.pop()} {word}")
    return set(found)


def test_the_storys_line() -> None:
    made = imported(STORY)
    assert yaml_file.dump(made.data) == (
        "name: p\n"
        "python: ${home}/ml-env/bin/python3\n"
        "log_path: /data/eagle3/synth_100k/logs/sglang_eagle3_debug.log\n"
        "model_path: /shared/kimi-k2.5-int4\n"
        "trust_remote_code: true\n"
        "tp_size: 8\n"
        "mem_fraction_static: 0.88\n"
        "host: 0.0.0.0\n"
        "port: 8000\n"
        "num_continuous_decode_steps: 4\n"
        "disable_custom_all_reduce: true\n"
        "disable_cuda_graph: true\n"
        "speculative:\n"
        "  algorithm: EAGLE3\n"
        "  draft_model_path: /data/eagle3/output_100k_sglang/4\n"
        "  eagle_topk: 1\n"
        "  num_draft_tokens: 6\n"
        "  num_steps: 5\n"
        "env:\n"
        "  EAGLE3_DEBUG: '1'\n"
        "  SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN: '1'\n"
    )
    assert made.notes == ()
    assert imported(line_of(made.profile)).profile == made.profile


def test_there_are_launch_lines_to_try() -> None:
    assert len(LAUNCHES) >= 10
    assert set(LAUNCHES) >= REFUSED


@pytest.mark.parametrize("stem", [stem for stem in LAUNCHES if stem not in REFUSED | SHORT])
def test_a_launch_line_of_the_field_comes_back_with_the_same_flags(stem: str) -> None:
    text = (CASES / f"{stem}.txt").read_text("utf-8")
    made = imported(text)
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    start = words.index("sglang.launch_server") + 1
    end = words.index(">") if ">" in words else len(words)
    argv = list(render(ResolvedProfile(made.profile, (), "", {}, Secrets())).argv)
    asked_for = flags_of(words[start:end])
    assert asked_for <= flags_of(argv[3:])
    assert flags_of(argv[3:]) - asked_for <= {"--tp-size 1", "--port 30000"}, "SGLang's own defaults, said"
    for wrap in (True, False):
        assert imported(line_of(made.profile, wrap)).profile == made.profile


@pytest.mark.parametrize("stem", sorted(REFUSED))
def test_a_line_that_works_by_luck_or_not_at_all_is_refused_with_what_to_write(stem: str) -> None:
    told = refusals((CASES / f"{stem}.txt").read_text("utf-8"))
    assert all("write --" in each or "vLLM" in each for each in told)
    assert all(each.startswith("line.sh:1:") for each in told)


@pytest.mark.parametrize(
    ("typed", "key", "full"),
    [
        ("--tp", "tp_size", "tp-size"),
        ("--tensor-parallel-size", "tp_size", "tp-size"),
        ("--tensor-par", "tp_size", "tp-size"),
        ("--dp", "dp_size", "dp-size"),
        ("--ep", "ep_size", "ep-size"),
    ],
)
def test_an_alias_and_the_beginning_of_one_flag_alone_are_taken_and_said(typed: str, key: str, full: str) -> None:
    made = imported(f"python -m sglang.launch_server --model-path /m {typed} 8")
    assert made.data[key] == 8
    assert f"{typed} is taken for --{full}, and written so" in made.notes
    assert f"--{full} 8" in line_of(made.profile)


def test_a_flag_by_two_of_its_names_is_one_that_stands_twice() -> None:
    made = imported("python -m sglang.launch_server --model-path /m --tp-size 2 --tp 8 --mem-fraction 0.9")
    assert (made.data["tp_size"], made.data["mem_fraction_static"]) == (8, 0.9)
    assert any("--tp-size stands twice" in each for each in made.notes)
    made = imported("python -m sglang.launch_server --model-path /m --api-k sk-0123456789abcdefghij")
    assert made.data["api_key"] == "${SGLANG_API_KEY}", "no value is kept by a short name either"


def test_each_flag_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, seen = flag_reading.read, []
    monkeypatch.setattr(flag_reading, "read", lambda flag, *known: seen.append(flag) or read(flag, *known))
    line = "python -m sglang.launch_server --model-path /m --tp 8 --mem-fraction 0.9 --trust-remote-code --no-such x"
    assert imported(line).data["tp_size"] == 8
    assert seen == [
        "model-path",
        "tp",
        "tp-size",
        "mem-fraction",
        "mem-fraction-static",
        "trust-remote-code",
        "no-such",
    ]


def test_what_could_be_several_flags_is_refused_as_sglang_does() -> None:
    line = "python -m sglang.launch_server --model-path /m --speculative-algorithm EAGLE3 --speculative-draft /d"
    assert refusals(line, "0.5.2") == [
        "line.sh:1:79: --speculative-draft could be --speculative-draft-model, --speculative-draft-model-path, "
        "--speculative-draft-model-revision: write --speculative-draft-model-path (3 flags of SGLang 0.5.2 begin so)"
    ]
    assert imported(line, "0.5.1").data["speculative"]["draft_model_path"] == "/d", "there it is one flag"
    (told,) = refusals("python -m sglang.launch_server --model-path /m --pp 2")
    assert "--pp could be --pp-async-batch-depth, --pp-max-micro-batch-size, --pp-size" in told
    with pytest.raises(UsageError, match="no release"):
        imported(line, "main")


FULL = """\
# start it
set -e
export MODEL=/models/target HF_HOME=/hf
OUT="/srv/my logs"
mkdir -p "$OUT"
cd /work && \\
CUDA_VISIBLE_DEVICES=2,3 A='x y' B="$MODEL/b" C=$'a\\x01b' HF_TOKEN=hf_0123456789abcdefghij OTHER="$SECRET" \\
  exec python3.11 -u -m sglang.launch_server --model $MODEL --port=1 --port 2 --chunked-prefill-size=-1 \\
  --cuda-graph-bs 1 2 4 --api-key sk-0123456789abcdefghij --json-model-override-args '{"a": 1}' \\
  2>&1 | tee -a "$OUT/x.log" &
"""


def test_everything_that_may_stand_around_a_launch(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="control character"):
        imported(FULL)
    made = imported(FULL.replace("a\\x01b", "it\\x27s"))
    assert made.data == {
        "name": "p",
        "python": "python3.11",
        "cwd": "/work",
        "log_path": "/srv/my logs/x.log",
        "gpus": [2, 3],
        "model_path": "/models/target",
        "chunked_prefill_size": -1,
        "port": 2,
        "args": {"cuda-graph-bs": [1, 2, 4], "json-model-override-args": '{"a": 1}'},
        "env": {
            "MODEL": "/models/target",
            "HF_HOME": "/hf",
            "A": "x y",
            "B": "/models/target/b",
            "C": "it's",
            "PYTHONUNBUFFERED": "1",
        },
        "secret_env": {"HF_TOKEN": "${HF_TOKEN}", "OTHER": "${SECRET}"},
        "api_key": "${SGLANG_API_KEY}",
    }
    told = "\n".join(made.notes)
    for word in ("set", "mkdir", "tee", "--port stands twice", "--model is taken for --model-path", "appends"):
        assert word in told
    assert "0123456789" not in told + yaml_file.dump(made.data)
    (tmp_path / "p.yaml").write_text(yaml_file.dump(made.data))
    environ = {"HF_TOKEN": "a", "SECRET": "b", "SGLANG_API_KEY": "c"}
    assert resolve("p", Library((tmp_path,)), Inputs({}, environ)).profile == made.profile


def test_sglang_serve() -> None:
    made = imported("/v/bin/sglang serve /m --model-type llm --enable-metrics > logs/a.log")
    assert made.data["python"] == "/v/bin/python3"
    assert (made.data["model_path"], made.data["log_path"]) == ("/m", "${logs}/a.log")
    assert "python" not in imported("sglang serve org/model").data
    assert "--model-type" in refusals("sglang serve /m --model-type diffusion")[0]


P = "python -m sglang.launch_server --model-path /m"


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (f"{P} --port $PORT", "1:55", "$PORT is not known here"),
        (f"{P} --port $(id)", "1:55", "$(id) is for a shell to run"),
        (f"{P} --port `id`", "1:55", "`id` is for a shell to run"),
        (f"{P} --port ${{X:-1}}", "1:55", "is for a shell to run"),
        (
            f"A=$B {P}",
            "1:1",
            "",
        ),
        (f"A=x$B {P}", "1:1", "$B is not known here"),
        (f"source /v/bin/activate && {P}", "1:1", "source is no launch of SGLang, and nothing here is run"),
        (f"numactl -N 0 {P}", "1:1", "numactl is no launch"),
        (f"{P}; rm -rf /", "1:49", "rm is no launch"),
        (f"{P} | grep x", "1:50", "a pipe"),
        (f"{P}\n{P}", "2:1", "a second launch"),
        (f"{P} || exit 1", "1:48", "|| is for a shell"),
        (f"({P})", "1:1", "( is for a shell"),
        (f"{P} <<EOF\nx\nEOF", "1:48", "<< cannot be taken"),
        ("python server.py --port 1", "1:1", "a profile starts a module"),
        ("echo hello", "", "no launch in it"),
        ("python -m sglang.launch_server /m --port 1", "1:32", "/m: no flag stands before it"),
        (f"{P} --trust-remote-code yes", "1:68", "yes: --trust-remote-code takes no value"),
        (f"{P} --port 1 2", "1:57", "2: --port takes one value"),
        (f"{P} --port", "1:48", "--port wants a value"),
        (f"{P} --port x", "1:48", "port: wants a whole number"),
        (f"{P} --nnodes 2", "1:48", "more than one node needs dist_init_addr"),
        (f"{P} --chat-template sk-0123456789abcdefghij", "1:48", "looks like a secret"),
        (f"{P} --ssl-keyfile-password x", "1:48", "a secret by a flag"),
        (f"{P} > ~bob/x.log", "1:50", "~bob is for a shell"),
        (f"export X; {P}", "1:8", "its value is not known here"),
    ],
)
def test_what_a_profile_cannot_say_is_refused_with_its_place(text: str, place: str, told: str) -> None:
    if not told:
        assert imported(text).data["secret_env"] == {"A": "${B}"}
        return
    problems = refusals(text)
    assert any(told in each and each.startswith(f"line.sh:{place}") for each in problems), problems
    assert "0123456789" not in "".join(problems)


@pytest.mark.parametrize("text", ["'", '"', "$(", "`", "a $'", "${"])
def test_what_is_not_closed_is_told_with_its_place(text: str) -> None:
    with pytest.raises(UsageError, match=r"line\.sh:1:\d+: .* is not closed"):
        imported(f"{P} {text}")


def test_a_flag_that_no_release_has_is_kept_and_said() -> None:
    made = imported(f"{P} --my-own-flag 3")
    assert made.data["args"] == {"my-own-flag": 3}
    assert "--my-own-flag: not among the" in "".join(made.notes)


@given(st.text(max_size=200))
def test_no_text_does_more_than_being_refused(text: str) -> None:
    for candidate in (text, f"{P} {text}", f"A={text} {P} --port '{text}"):
        try:
            imported(candidate)
        except UsageError:
            continue


@pytest.mark.parametrize("text", ["\n", "a ", "--a ", "$(", "'a'", "\\\n", "$x", "A=1 ", "{", "a|"])
def test_a_long_text_takes_no_long_time(text: str) -> None:
    started = time.process_time()
    with contextlib.suppress(UsageError):
        imported(f"{P} --x {text * (100_000 // len(text) - 60)}")
    assert time.process_time() - started < 10, "a generous bound: a square of it would take minutes"
    with pytest.raises(UsageError, match="larger than"):
        imported(text * 100_001)


@given(st.lists(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=12)))
def test_words_are_those_of_a_shell(words: list[str]) -> None:
    line = " ".join(map(shlex.quote, words))
    found = split(line, "-")
    assert [each.text for each in found if not isinstance(each, Operator)] == words


def test_quoting_is_that_of_bash() -> None:
    line = r"""a\ b "c d\"\$\\ \x" 'e"f'"g"$'h\n\x41\'\101' i\
j "k\
l" $'\u00e9' x=y=z 'a'\''b' "" --f="g h" """
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert [each.text for each in split(line, "-") if not isinstance(each, Operator)] == done.stdout.decode().split(
        "\0"
    )[:-1]


# Profiles with keys that a line can say.

texts = st.text(
    st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]),
    min_size=1,
)
one_words = texts.filter(lambda text: not text.startswith("-") and len(text.split()) == 1 and not is_secret_value(text))
node_paths = st.builds("/{}".format, texts)
NUMBERS = {int: st.integers(1, 9), float: st.floats(0.125, 0.875)}
SPECIAL = {
    "dist_init_addr": st.just("10.0.0.1:20000"),
    "nnodes": st.just(1),
    "node_rank": st.just(0),
    "chunked_prefill_size": st.integers(-1, 1 << 40),
}


def values(key: str) -> st.SearchStrategy[Any]:
    path = tuple(key.split("."))
    scalar = scalar_of(path)
    if path[-1] in SPECIAL:
        return SPECIAL[path[-1]]
    if scalar is bool:
        return st.booleans()
    if scalar in NUMBERS:
        return NUMBERS[scalar]
    return node_paths if path[-1] in ("model_path", "tokenizer_path", "draft_model_path", "token_map") else one_words


names = st.from_regex(r"[A-Z][A-Z_]{0,6}[A-Z]", fullmatch=True).filter(lambda name: not looks_secret(name))
FREE = [
    name
    for name in sorted(flag_table.all_names())
    if not flags.key_for(name)
    and not flags.is_secret(name)
    and name != "help"
    and flag_table.rows(name)[-1].releases[-1] == "0.5.23"
]


def free_value(name: str) -> st.SearchStrategy[Any]:
    items = st.integers(0, 10**6) | one_words.filter(lambda text: not text.isdecimal())
    kind = flag_table.kind_of(name)
    return st.just(True) if kind == "switch" else st.lists(items, min_size=2, max_size=3) if kind == "list" else items


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    keys = draw(st.sets(st.sampled_from(flags.SERVER_KEYS), max_size=8))
    data: dict[str, Any] = {key: draw(values(key)) for key in keys}
    data |= {"name": "p", "model_path": draw(node_paths), "log_path": draw(node_paths)}
    data["python"] = draw(st.sampled_from(["python3", "/v/bin/python3.11", "${python}", "/my env/py"]))
    if draw(st.booleans()):
        chosen = draw(st.sets(st.sampled_from(flags.SPECULATIVE_KEYS), max_size=5)) | {"algorithm"}
        data["speculative"] = {key: draw(values(f"speculative.{key}")) for key in chosen}
    data["args"] = {name: draw(free_value(name)) for name in draw(st.sets(st.sampled_from(FREE), max_size=3))}
    data["env"] = draw(st.dictionaries(names, texts | st.just(""), max_size=3))
    data["secret_env"] = {f"{name}_TOKEN": f"${{{name}_TOKEN}}" for name in draw(st.sets(names, max_size=1))}
    if draw(st.booleans()):
        data["gpus"] = draw(st.lists(st.integers(0, 7), min_size=1, unique=True))
        data["env"].pop("CUDA_VISIBLE_DEVICES", None)
    if draw(st.booleans()):
        data["cwd"] = draw(node_paths)
    return Profile.model_validate(data)


@given(profiles(), st.booleans())
def test_a_profile_and_its_line_say_the_same(profile: Profile, wrap: bool) -> None:
    made = imported(line_of(profile, wrap))
    assert made.profile == profile
    assert made.data["model_path"] == profile.model_path
