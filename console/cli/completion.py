"""completion bash|zsh|fish: a script for the shell, which asks `spec-console complete` at each Tab."""

from __future__ import annotations

import click

from console.cli._shared import Options, emit, shared_options

_BASH = r"""# spec-console: in ~/.bashrc put  source <(spec-console completion bash)
_spec_console() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("${COMP_WORDS[0]/#\~\//$HOME/}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _spec_console spec-console
"""

_ZSH = r"""#compdef spec-console
# spec-console: in ~/.zshrc, after compinit, put  source <(spec-console completion zsh)
_spec_console() {
    local -a found
    found=("${(@f)$("${words[1]/#\~\//$HOME/}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( $#found )); then
        compadd -- "${(@)found}"
    else
        _files
    fi
}
if [[ "$funcstack[1]" == _spec_console ]]; then
    _spec_console "$@"
else
    compdef _spec_console spec-console
fi
"""

_FISH = r"""# spec-console: spec-console completion fish > ~/.config/fish/completions/spec-console.fish
function __spec_console_complete
    set -l typed (commandline -opc)
    set -l now (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
    set -l found ($program complete --notes -- $typed[2..-1] "$now" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$now"
    end
end
complete -c spec-console -f -a '(__spec_console_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command("completion")
@click.argument("shell", type=click.Choice(tuple(SCRIPTS)))
@shared_options
def COMMAND(options: Options, shell: str) -> int:
    """Print a script that completes words in SHELL. It knows verbs, flags, nodes, profiles and runs."""
    if options.as_json:
        emit(options, True, None, {"shell": shell, "script": SCRIPTS[shell]})
    else:
        click.echo(SCRIPTS[shell], nl=False)
    return 0
