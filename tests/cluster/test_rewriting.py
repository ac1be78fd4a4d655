"""Command lines of containers, for processes that share this machine."""

import pytest
from testcluster.machine.rewriting import Paths, expanded, listening_at


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("--config=/etc/kai/config.yaml", "--config=/f/config.yaml"),
        ("/etc/kai", "/f"),
        ("/etc/kai/more/a,/tmp/b", "/g/a,/h/b"),
        ("/etc/kai2 /my/tmp/x", "/etc/kai2 /my/tmp/x"),
    ],
)
def test_mounted_paths_become_folders_of_this_machine(text: str, found: str) -> None:
    paths = Paths({"/etc/kai": "/f", "/etc/kai/more/": "/g", "/tmp": "/h"})
    assert paths.rewritten(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (":8080", "127.9.0.1:8080"),
        ("--listen-address=0.0.0.0:8080,:81", "--listen-address=127.9.0.1:8080,127.9.0.1:81"),
        ("10.0.0.1:8080", "10.0.0.1:8080"),
        ("kai-sched:8080", "kai-sched:8080"),
    ],
)
def test_a_pod_listens_at_its_own_address(text: str, found: str) -> None:
    assert listening_at("127.9.0.1", text) == found


def test_references_are_expanded_as_by_the_kubelet() -> None:
    assert expanded("$(A)-$$(A)-$(B)", {"A": "1"}) == "1-$(A)-$(B)"
