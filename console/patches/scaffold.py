"""The two files that a new patch of a user's own begins with: they load, and do something on a Llama target."""

from __future__ import annotations

from console.patches.user import FORM_FILE, RUNTIME_FILE, heading

_FORM = """\
# A patch of your own. docs/patches.md describes every key; `patch test {id} --wheel 0.5.20` tries it on a release.
id: {id}
title: Say how many rows of captured states a target hands on
env: {env} # {env}=1 in the server's environment switches it on

anchors:
  captured:
    kind: if # if | assign | call | def
    forms: [self.capture_aux_hidden_states] # what stands behind `if`, however it is laid out; any one of these
    method: forward
    needs: capture_aux_hidden_states # a file that never names it has no such feature: not applicable
    absent: no model of this file hands on captured states

files:
  - path: srt/models/llama.py
    role: target # read when the target's config names one of these architectures
    architectures: [LlamaForCausalLM]
    inserts:
      - site: my.rows
        anchor: captured
        where: after # before | after; a function (kind: def) takes decorate
        call: record("my.rows", self, aux_hidden_states, forward_batch)

options:
  - name: first
    env: {env}_FIRST
    default: "20"
    meaning: so many records are written
"""
_RUNTIME = '''\
{heading}
"""What the inserted lines call, inside the server: Python 3.8, standard library, no failure to the server.

The import below is replaced by that file's text: nothing of spec-console is needed on the node.
"""

from console.patches.runtime.records import Channel, mode_of, rank, untraced

_CHANNEL = Channel("{env}", 20, 0)


def record(site, owner, value, forward_batch=None):
    try:
        if _CHANNEL.is_chosen(site) and _CHANNEL.is_due(site):
            _CHANNEL.write(f"site={{site}} rank={{rank()}} mode={{mode_of(forward_batch)}} states={{len(value)}}")
    except Exception as error:
        _CHANNEL.report(site, error)


record = untraced(record)
'''


def files(patch_id: str) -> dict[str, str]:
    """Return the texts of a new patch's folder by file name; `patch_id` is one that PatchForm takes."""
    env = patch_id.upper().replace("-", "_")
    env = env if len(env) > 1 else f"PATCH_{env}"
    return {
        FORM_FILE: _FORM.format(id=patch_id, env=env),
        RUNTIME_FILE: _RUNTIME.format(heading=heading(patch_id), env=env),
    }
