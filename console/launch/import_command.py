"""A launch line becomes a profile: `python -m sglang.launch_server …` or `sglang serve …`, with all that stands around.

Flags get the profile's keys, under their full names: the profile does not keep an abbreviation, which the next release
may take for another, and one that could be several flags is refused as SGLang refuses it. Nothing is run, and the value
of a secret is never kept: a reference to the console's environment stands in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.launch import flag_reading, flag_table
from console.launch.cross_checks import cross_checks
from console.launch.flag_reading import dashed
from console.launch.flags import ALIASES, SECRET_KEYS, TYPED_FLAGS, flag_of, is_secret
from console.launch.loader import DEFAULT_LOG
from console.launch.profile import Profile, scalar_of
from console.launch.secrets import MASK, is_secret_value, looks_secret, reference
from console.launch.shell_launch import ShellLaunch, look
from console.launch.shell_words import Word
from console.validation import Invalid, Path_, Problem, check, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.launch.flag_reading import Reading

DEFAULT_MODULE = "sglang.launch_server"
_SECRET_NAMES = {"api_key": "SGLANG_API_KEY", "admin_api_key": "SGLANG_ADMIN_API_KEY"}
"""The variable that a key is referred to by, where the line had the key itself."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A profile in its file's form, without secrets, and what a reader should know of how it was made."""

    data: dict[str, Any]
    profile: Profile
    notes: tuple[str, ...]


def import_command(text: str, source: str, name: str, version: str | None = None) -> Imported:
    """Make a profile of the one launch in a text.

    Args:
        text: shell lines; hostile, never run.
        source: what to call it in errors.
        name: the profile's.
        version: the SGLang release whose flags it is read by; None: all that were read.

    Raises:
        UsageError: a quote is not closed, or the text is too large.
        Invalid: everything else that is wrong, at once, each with its place.
    """
    launch, problems = look(text, source)
    return _Import(launch, problems, source, name, version).run()


@dataclass(slots=True)
class _Flag:
    name: str
    """As written, without dashes."""
    word: Word
    read: Reading
    """Of the flag that is meant: see `_Import._meant`."""
    values: list[Word] = field(default_factory=list)

    @property
    def full(self) -> str:
        return self.read.flag


class _Import:
    def __init__(
        self, launch: ShellLaunch, problems: list[Problem], source: str, name: str, version: str | None
    ) -> None:
        self.launch = launch
        self.source = source
        self.version = version
        self.parsers = flag_table.parsers(version)
        if version is not None and not self.parsers:
            raise UsageError(f"{version!r} is no release whose flags are known", "For instance 0.5.20.")
        self.data: dict[str, Any] = {"name": name}
        self.places: dict[Path_, Word] = {}
        self.problems = problems
        self.notes = list(launch.notes)

    def run(self) -> Imported:
        if self.launch.program is None:
            raise Invalid(f"{self.source}: not imported", self.problems)
        self._program(self.launch.program)
        self._env()
        for flag in self._flags():
            self._flag(flag)
        self._text(("cwd",), self.launch.cwd)
        self._log()
        data = self.data
        profile, problems = check(Profile, {"python": "${python}", "log_path": DEFAULT_LOG, **data}, self._where)
        problems = [replace(each, message=each.message.partition("; YAML reads")[0]) for each in problems]
        problems += [Problem(path, self._where(path), f"{dotted(path)}: {text}") for path, text in cross_checks(data)]
        self.problems += [each for each in problems if each.path not in {p.path for p in self.problems if p.path}]
        if profile is None or self.problems:
            raise Invalid(f"{self.source}: not imported", self.problems)
        return Imported(_in_order(data), profile, tuple(dict.fromkeys(self.notes)))

    def _where(self, path: Path_) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self._at(self.places[path[:length]])
        return self.source

    def _at(self, word: Word) -> str:
        return f"{self.source}:{word.line}:{word.column}"

    def _refuse(self, word: Word, text: str, path: Path_ = ()) -> None:
        self.problems.append(Problem(path, self._at(word), text))

    def _put(self, path: Path_, value: Any, word: Word) -> None:
        node = self.data
        for part in path[:-1]:
            node = node.setdefault(str(part), {})
        node[str(path[-1])] = value
        self.places[path] = word

    def _literal(self, word: Word) -> str:
        """The word's text; a variable that only a shell knows is refused, a file pattern stays as it stands."""
        for each in word.pieces:
            if each.kind == "variable":
                self._refuse(word, f"${each.text} is not known here: write its value, or assign it above the launch")
            if each.kind == "pattern" and each.text.strip("{}[]"):
                self.notes.append(f"{self._at(word)}: {word.text[:60]} is kept as it stands; a shell would match files")
        return word.text

    def _text(self, path: Path_, word: Word | None) -> None:
        if word is not None:
            self._put(path, self._literal(word), word)

    def _program(self, program: Word) -> None:
        name = self._literal(program)
        if self.launch.module:
            self._put(("python",), name, program)
            if self.launch.module != DEFAULT_MODULE:
                self._put(("module",), self.launch.module, program)
            return
        folder = name.rpartition("/")[0]
        if folder:
            self._put(("python",), f"{folder}/python3", program)
        used = f"{folder}/python3" if folder else "the node's ${python}"
        self.notes.append(f"`sglang serve` becomes `-m {DEFAULT_MODULE}` of {used}")

    def _env(self) -> None:
        for name, word in self.launch.env.items():
            variable = next((each.text for each in word.pieces if each.kind == "variable"), "")
            if (variable and _is_only(word)) or (not variable and (looks_secret(name) or is_secret_value(word.text))):
                self._secret(("secret_env", name), variable or name, word)
                continue
            text = self._literal(word)
            devices = text.split(",")
            if name == "CUDA_VISIBLE_DEVICES" and all(each.isdecimal() and each == str(int(each)) for each in devices):
                self._put(("gpus",), [int(each) for each in devices], word)
            else:
                self._put(("env", name), text, word)

    def _secret(self, path: Path_, variable: str, word: Word) -> None:
        self._put(path, f"${{{variable}}}", word)
        self.notes.append(f"{dotted(path)} refers to ${variable}: export it where the console runs; no value is kept")

    def _log(self) -> None:
        log = self.launch.log
        if log is None:
            return
        text = self._literal(log)
        if text.startswith(("/", "${")):
            self._put(("log_path",), text, log)
            return
        cwd = str(self.data.get("cwd", ""))
        if cwd:
            self._put(("log_path",), f"{cwd}/{text.removeprefix('./')}", log)
        else:
            self._put(("log_path",), f"${{logs}}/{text.rpartition('/')[2]}", log)
            self.notes.append(f"the log {text} is relative to a folder that the line does not say: ${{logs}} is taken")

    def _flags(self) -> Iterator[_Flag]:
        """The flags in order, the last of each alone; a model before them is `sglang serve`'s."""
        found: list[_Flag] = []
        for word in self.launch.words:
            text = word.text
            if text.startswith("--") and len(text) > 2:
                name, equals, _ = text[2:].partition("=")
                found.append(_Flag(name, word, self._meant(name), [_after_equals(word)] if equals else []))
            elif found:
                found[-1].values.append(word)
            elif not self.launch.module:
                found.append(_Flag("model-path", word, self._meant("model-path"), [word]))
            else:
                self._refuse(word, f"{text[:60]}: no flag stands before it")
        last = {each.full: each for each in found}
        for each in found:
            kept = last[each.full]
            if kept is not each:
                self.notes.append(f"--{each.full} stands twice: the last one counts ({self._at(kept.word)})")
        yield from last.values()

    def _meant(self, name: str) -> Reading:
        """Read the flag that `name` means: it, the one that profiles have a key for, or the only one that begins so."""
        read = flag_reading.read(_own(name), self.parsers, self.version)
        if read.standing == "abbreviation" and len(read.candidates) == 1:
            return flag_reading.read(_own(read.full), self.parsers, self.version)
        return read

    def _flag(self, flag: _Flag) -> None:
        name = flag.full
        if name != flag.name:
            self.notes.append(f"--{flag.name} is taken for --{name}, and written so")
        if not self.launch.module and name == "model-type":
            self._model_type(flag)
        elif is_secret(name) or is_secret(name.replace("_", "-")):
            self._secret_flag(flag, name)
        else:
            name = self._known(flag)
            key = TYPED_FLAGS.get(name)
            path: Path_ = tuple(key.split(".")) if key else ("args", name)
            value = self._value(flag, name, path)
            if value is not None:
                self._put(path, value, flag.word)
                if name == "config":
                    self.notes.append("--config is kept: what its file says is not read here")

    def _model_type(self, flag: _Flag) -> None:
        if [each.text for each in flag.values] not in (["auto"], ["llm"]):
            self._refuse(flag.word, "--model-type: only language models can be served here")

    def _known(self, flag: _Flag) -> str:
        """Refuse what no SGLang takes, or takes by luck; returns the flag that is meant."""
        read = flag.read
        could = dashed(read.candidates)
        write = f": write --{read.full}" if read.full else ""
        told = {
            "abbreviation": f"--{flag.name} is short for --{read.full}{write} ({read.told})",
            "ambiguous": f"--{flag.name} could be {could}{write} ({read.told})",
            "underscore": f"--{flag.name}: flags have hyphens{write}",
            "of-vllm": f"--{flag.name} is vLLM's"
            + (f"; here: --{read.full}" if read.full else ", and has no like here"),
            "retired": f"--{flag.name} ends the launch: {read.told}",
        }.get(read.standing)
        if told:
            self._refuse(flag.word, told)
            return _own(read.full) if read.full and read.standing not in ("of-vllm", "retired") else flag.full
        if read.standing != "declared":
            known = f"--{flag.name}: {read.told}" if read.told else f"--{flag.name} is not known"
            self.notes.append(f"{known}; kept as it stands")
        return flag.full

    def _secret_flag(self, flag: _Flag, name: str) -> None:
        key = name.replace("-", "_")
        if key not in SECRET_KEYS or len(flag.values) != 1:
            self._refuse(flag.word, f"--{flag.name}: a secret by a flag that a profile cannot give by reference")
            return
        (word,) = flag.values
        variable = next((each.text for each in word.pieces if each.kind == "variable"), "")
        quoted = reference(word.text)
        self._secret((key,), variable or quoted or _SECRET_NAMES[key], flag.word)

    def _value(self, flag: _Flag, name: str, path: Path_) -> Any:
        """The value in the profile's form; None where it was refused."""
        kind = flag_table.kind_of(name, self.version)
        count = len(flag.values)
        most = {"switch": 0, "value": 1, "optional": 1}.get(kind or "", count)
        if count > most:
            stray = flag.values[most].text
            what = MASK if is_secret_value(stray) else stray[:60]
            self._refuse(flag.values[most], f"{what}: --{name} takes {'no value' if most == 0 else 'one value'}")
            return None
        if kind == "value" and not count:
            self._refuse(flag.word, f"--{name} wants a value")
            return None
        if any(is_secret_value(each.text) for each in flag.values):
            self._refuse(flag.word, f"--{name}: the value looks like a secret, which a flag shows to everyone")
            return None
        before = len(self.problems)
        texts = [self._literal(each) for each in flag.values]
        if len(self.problems) > before:
            return None
        if not texts:
            return True
        if path[0] != "args":
            return _typed(texts[0], scalar_of(path))
        return [_number(text) for text in texts] if kind == "list" or count > 1 else _number(texts[0])


def _own(name: str) -> str:
    """The flag that profiles have a key for, where `name` is another name of it."""
    return flag_of(ALIASES[name]) if name in ALIASES else name


def _is_only(word: Word) -> bool:
    """Is the word one variable and nothing beside it but quotes?"""
    return all(each.kind == "variable" or not each.text for each in word.pieces)


def _after_equals(word: Word) -> Word:
    """What follows the first "=" of a word, its quoting kept."""
    for index, piece in enumerate(word.pieces):
        _, equals, rest = piece.text.partition("=")
        if equals and piece.kind in ("text", "quoted"):
            pieces = (type(piece)(piece.kind, rest), *word.pieces[index + 1 :])
            return Word(tuple(each for each in pieces if each.text), word.line, word.column)
    return word


def _typed(text: str, scalar: type) -> Any:
    """The text as the key's type; what does not fit stays text, for the form to report."""
    if scalar is int and text.lstrip("-").isascii() and text.lstrip("-").isdecimal():
        return int(text)
    if scalar is float:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _number(text: str) -> Any:
    """A free flag's value: a number where it is written back in the same digits, else text."""
    if text.lstrip("-").isascii() and text.lstrip("-").isdecimal() and str(int(text)) == text and len(text) < 18:
        return int(text)
    return text


def _in_order(data: dict[str, Any]) -> dict[str, Any]:
    """Keys in the order of the form, which is that of a file as people write it."""
    return {key: data[key] for key in Profile.model_fields if key in data}
