# spec-console overlay: serves patched copies of a few sglang modules; the installed tree stays as it is.
"""Put on PYTHONPATH as `sitecustomize.py` beside `manifest.json` and `files/`; every spawned Python imports it first.

A module is served only while the hash of its original is the planned one. A process that has imported all of them says
so in one line, and once more for each that it may never import and does; a refusal is told at once. Imports nothing of
ours; Python 3.8 and newer.
"""

import contextlib
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _say(text):
    with contextlib.suppress(OSError):
        os.write(1, f"[SPEC_CONSOLE_OVERLAY] pid={os.getpid()} {text}\n".encode())


class _Loader(importlib.machinery.SourceFileLoader):
    """The patched copy under the original's name: `__file__` is the original, tracebacks show the copy's lines."""

    def __init__(self, name, path, copy):
        super().__init__(name, path)
        self._copy = copy

    def get_code(self, fullname):
        with open(self._copy, "rb") as file:
            return compile(file.read(), self._copy, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, manifest):
        self._root = manifest["root"]
        self._files = {_module(each["path"]): each for each in manifest["files"]}
        self._counted = {name for name, each in self._files.items() if each["sha256_before"]}
        self._awaited = {name for name in self._counted if not self._files[name].get("lazy")}
        self._served = []

    def find_spec(self, fullname, path=None, target=None):
        file = self._files.get(fullname)
        if file is None:
            return None
        original = os.path.join(self._root, file["path"])
        why = self._why_not(file, original, path)
        if why:
            _say(f"refused={fullname} why={why}")
            return None
        copy = os.path.join(_HERE, "files", file["path"])
        place = original if os.path.exists(original) else copy
        self._count(fullname)
        return importlib.util.spec_from_file_location(fullname, place, loader=_Loader(fullname, place, copy))

    def _why_not(self, file, original, path):
        if path and os.path.realpath(next(iter(path))) != os.path.realpath(os.path.dirname(original)):
            return "another-tree"
        return None if _sha256(original) == file["sha256_before"] else "original-changed"

    def _count(self, fullname):
        if fullname in self._counted and fullname not in self._served:
            self._served.append(fullname)
            if self._awaited.issubset(self._served):
                _say(f"served={len(self._served)} of={len(self._counted)} modules={','.join(sorted(self._served))}")


def _module(path):
    return "sglang." + path[: -len(".py")].replace("/", ".")


def _sha256(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return None


def _chain():
    """Run the sitecustomize that would have been found without us."""
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _install():
    with open(os.path.join(_HERE, "manifest.json"), "rb") as file:
        sys.meta_path.insert(0, _Finder(json.loads(file.read().decode("utf-8"))))


try:
    _install()
except (OSError, ValueError, KeyError) as error:
    _say(f"refused=all why={type(error).__name__}")
_chain()
