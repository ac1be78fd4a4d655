"""Command lines and variables of containers, for processes that share this machine.

paths = Paths({"/etc/kai": "/tmp/m/pod-1/config"})
paths.rewritten("--config=/etc/kai/config.yaml")    # --config=/tmp/m/pod-1/config/config.yaml
listening_at("127.9.0.1", ":8080")                  # 127.9.0.1:8080
expanded("$(NAME).svc", {"NAME": "admission"})      # admission.svc
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^()$]+)\))")
_ANY_ADDRESS = r"(?:0\.0\.0\.0|\[::\])?:\d+"
_ADDRESSES = re.compile(rf"(--[\w-]+=)?({_ANY_ADDRESS}(?:,{_ANY_ADDRESS})*)")


class Paths:
    """`folders`: the folder of this machine for each mount path."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = {path.rstrip("/"): folder for path, folder in folders.items()}
        longest_first = sorted(self._folders, key=len, reverse=True)
        mounts = "|".join(map(re.escape, longest_first))
        self._mounted = re.compile(rf"(?<![\w./-])({mounts})(?![\w.-])") if mounts else None

    def rewritten(self, text: str) -> str:
        """The text with paths of this machine."""
        if self._mounted is None:
            return text
        return self._mounted.sub(lambda found: self._folders[found[1]], text)


def listening_at(ip: str, argument: str) -> str:
    """An argument with addresses of all interfaces, such as ":8080" or "--listen=0.0.0.0:8080,:81",
    for one address. Others are unchanged."""
    found = _ADDRESSES.fullmatch(argument)
    if found is None:
        return argument
    ports = [each.rpartition(":")[2] for each in found[2].split(",")]
    return (found[1] or "") + ",".join(f"{ip}:{port}" for port in ports)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """As the kubelet: $(NAME) becomes the value of a known variable, $$ becomes $."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)
