"""Which options of an ssh configuration a transport honours: what the user set, one by one, against `ssh -G`. Pure.

asyncssh's are those that its documentation names (2.24), without what its optional libraries would add; a test holds
them against the library. paramiko's are those that paramiko_.py reads. OpenSSH honours all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.remote.transports.ssh_config import Effective

HONOURED = "honoured"
LEFT_OUT = "left out"
"""It is for an interactive session, and is not wanted in one of ours, whatever the transport."""
REPLACED = "by our own rule"
IGNORED = "ignored"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARAMIKO = _names(
    "hostname port user hostkeyalias identityfile identitiesonly userknownhostsfile globalknownhostsfile"
)
_ASYNCSSH = _PARAMIKO | _names(
    "addressfamily bindaddress canonicaldomains canonicalizefallbacklocal canonicalizehostname canonicalizemaxdots "
    "canonicalizepermittedcnames casignaturealgorithms certificatefile ciphers compression hostkeyalgorithms "
    "identityagent kbdinteractiveauthentication kexalgorithms macs passwordauthentication preferredauthentications "
    "proxycommand proxyjump pubkeyauthentication rekeylimit sendenv setenv tag tcpkeepalive"
)
_INTERACTIVE = _names(
    "remotecommand requesttty localforward remoteforward dynamicforward clearallforwardings exitonforwardfailure "
    "localcommand permitlocalcommand forwardagent forwardx11 forwardx11trusted forwardx11timeout xauthlocation "
    "gatewayports tunnel tunneldevice sessiontype stdinnull forkafterauthentication escapechar "
    "enableescapecommandline visualhostkey loglevel logverbose syslogfacility permitremoteopen streamlocalbindmask "
    "streamlocalbindunlink"
)
_OURS = _names(
    "stricthostkeychecking serveraliveinterval serveralivecountmax connecttimeout batchmode controlmaster "
    "controlpersist hashknownhosts updatehostkeys fingerprinthash numberofpasswordprompts"
)
_NO_MATTER = frozenset({"host"})


@dataclass(frozen=True, slots=True)
class Option:
    """One option that the user's files, or the system's, set otherwise than ssh itself would."""

    name: str
    value: str
    state: str


def options(transport: str, config: Effective, untouched: Effective) -> tuple[Option, ...]:
    """Tell what becomes of each option that is set.

    Args:
        config: `ssh -G` of the host.
        untouched: the same without any configuration file.
    """
    names = [name for name in config if config[name] != untouched.get(name) and name not in _NO_MATTER]
    return tuple(Option(name, " ".join(config[name]), _state(transport, name)) for name in names)


def _state(transport: str, name: str) -> str:
    if name in _INTERACTIVE:
        return LEFT_OUT
    if name in _OURS and not (transport == "openssh" and name in ("connecttimeout", "controlpersist")):
        return REPLACED
    known = {"asyncssh": _ASYNCSSH, "paramiko": _PARAMIKO}.get(transport)
    return HONOURED if known is None or name in known else IGNORED
