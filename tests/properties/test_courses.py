"""After any faults, each pod that can be bound is bound, and nothing is left of the others.

Random worlds in virtual time (courses_world.py): a simulated API server with Kubernetes' own
controllers, one process with the scheduler role that binds pods directly or by BindRequests, and a
binder in the same process or in another one. Answers are lost, writes are refused, watches are
late, pods are deleted and created again, processes are killed and leases lost. Then the faults end.
Each bug that they found has a situation in tests/unit/controllers/pods.

What breaking the product on purpose is caught by, within 400 worlds:

| Change | Caught by |
| --- | --- |
| the request that binds a pod is not shielded | a bound pod lacks its devices |
| undoing is not shielded | an exception leaves the courses |
| the next course of a pod does not wait | two courses of one pod write at once |
| labels, ConfigMaps or users of claims stay | something is reserved for a pod that waits |
| reservation pods, or allocations, are not released | the same |
| a lost answer causes no doubt | a pod is sent to a second node |
| assumptions of parked pods or spared victims stay | an assumption is left |
| failed BindRequests stay, or a group is created only once | a pod waits, or has no group |

Not caught: decisions for nodes that changed are not checked; a binder does not confirm a binding;
a failure or another try keeps what had overtaken its course (`Course.clear_error`); a claim keeps
the node that was selected for its volume.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from courses_world import World

FIRST = int(os.environ.get("KAI_SEED", "0"))
WORLDS = int(os.environ.get("KAI_WORLDS", "400"))
TOGETHER = 50
FOLDER = Path(__file__).parent
SEEDS = [str(seed) for seed in range(12)]

# For a Python without the packages of the HTTP client, which the worlds do not use.
RUN = """
import importlib.util, runpy, sys, types
class Unused(types.ModuleType):
    def __getattr__(self, name):
        return type(name, (Exception,), {})
for name in ("aiohttp", "multidict", "yaml", "yarl"):
    if importlib.util.find_spec(name) is None:
        sys.modules[name] = Unused(name)
folder = sys.argv.pop(1)
sys.path.insert(0, folder)
runpy.run_path(folder + "/courses_world.py", run_name="__main__")
"""


@pytest.mark.parametrize("first", range(FIRST, FIRST + WORLDS, TOGETHER))
def test_courses_end_as_they_should(first: int) -> None:
    wrong = {}
    for seed in range(first, min(first + TOGETHER, FIRST + WORLDS)):
        world = World(seed)
        world.run()
        if world.problems:
            wrong[seed] = list(dict.fromkeys(world.problems))
    assert wrong == {}, "python tests/properties/courses_world.py SEED shows what happened"


def test_the_worlds_contain_what_they_are_for() -> None:
    """Without bound pods, faults and restarts the properties would hold for nothing."""
    seen: set[str] = set()
    words = (
        *("binding: done", "binding: lost", "binding: conflict", "BindRequest", "NotLeading"),
        *("ends", "does not lead", "taken back", "refused", "replaced", "failed", "False"),
        *("bound", "evicted", "spared", "ConfigMap", "gpu-reservation", "PersistentVolumeClaim"),
        *("ResourceClaim", "extended-resources", "PodGroup", "eviction"),
    )
    for seed in range(60):
        world = World(seed)
        world.run()
        seen.update(word for word in words for line in world.trace if word in line)
    assert set(words) - seen == set()


def test_a_broken_promise_is_noticed() -> None:
    """An API server that binds a pod to another node than the one in the request."""
    noticed = 0
    for seed in range(10):
        world = World(seed)
        real = world.server.apply

        def wrong(write, *, dry_run=False, real=real):  # type: ignore[no-untyped-def]
            if write.subresource == "binding":
                body = {**write.body, "target": {**write.body["target"], "name": "n0"}}
                write = type(write)(write.lane, "create", "Pod", write.namespace, write.name, body,
                                    "binding")  # fmt: skip
            return real(write, dry_run=dry_run)

        world.server.apply = wrong  # type: ignore[method-assign]
        world.run()
        noticed += any("which was not decided" in each for each in world.problems)
    assert noticed


# ---- the same seed, the same trace ---------------------------------------------------------------


@cache
def trace(python: str, hash_seed: int) -> bytes:
    paths = [str(FOLDER.parents[1] / "python"), str(FOLDER.parent)]
    done = subprocess.run(
        [python, "-c", RUN, str(FOLDER), *SEEDS],
        capture_output=True,
        env={
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONHASHSEED": str(hash_seed),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_trace_does_not_depend_on_hashes() -> None:
    first = trace(sys.executable, 1)
    assert first.count(b"\n") > 1000
    assert trace(sys.executable, 2) == first


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_the_trace_does_not_depend_on_the_interpreter(version: str) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    assert trace(python, 3) == trace(sys.executable, 1)


def interpreter(version: str) -> str | None:
    """A Python of this version that runs."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for each in (shutil.which(f"python{version}"), *map(str, installed)):
        if each is not None:
            asked = [each, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
            done = subprocess.run(asked, capture_output=True, text=True)
            if done.stdout.strip() == version:
                return each
    return None
