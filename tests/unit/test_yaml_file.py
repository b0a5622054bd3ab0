from __future__ import annotations

import pytest

from console import yaml_file
from console.errors import UsageError


def test_it_knows_where_each_key_stands():
    located = yaml_file.load("a: 1\nb:\n  c: [1, {d: 2}]\n", "x.yaml")
    assert located.data == {"a": 1, "b": {"c": [1, {"d": 2}]}}
    assert located.where(("b", "c", 1, "d")) == "x.yaml:3:11"
    assert located.where(("b", "nothing")) == "x.yaml:2:1"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "x.yaml:1:5: not valid YAML"),
        ("a: 1\na: 2\n", "x.yaml:2:1: the key 'a' stands twice"),
        ("a: &x [*x]\n", "x.yaml:1:8: an alias"),
        ("[" * 100 + "]" * 100, "nested deeper"),
        ("a: !!timestamp x\n", "x.yaml:1:4: not a usable value"),
        ("a: !!python/object/apply:os.system [x]\n", "the tag"),
        ("? [a]\n: 1\n", "a key must be plain text"),
    ],
)
def test_bad_yaml_is_named_with_its_place(text, says):
    with pytest.raises(UsageError, match=r"x\.yaml") as caught:
        yaml_file.load(text, "x.yaml")
    assert says in caught.value.message
