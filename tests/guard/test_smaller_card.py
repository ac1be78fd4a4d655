"""A program under the guard gets the same answers as one alone on a card of the share's size: the
same calls succeed, the same are refused with the same code, and the same memory is free.

`KAI_SEED` is the first sequence of calls, `KAI_GUARD_SEQUENCES` how many there are.
"""

from __future__ import annotations

import os

import pytest
from pretended import MIB, Machine

SEED = int(os.environ.get("KAI_SEED", "1"))
SEQUENCES = int(os.environ.get("KAI_GUARD_SEQUENCES", "12"))
SHARE = 400 * MIB

PLAY = """
import ctypes, random
from ctypes import byref, c_size_t, c_uint64, c_void_p
import driver as cu
MIB = 1 << 20
rng = random.Random({seed})
cu.start()
streams = [cu.stream(), cu.stream()]
held, pools, contexts = [], [cu.pool(), cu.pool()], []
size = lambda: rng.choice((1, 4096, MIB, rng.randrange(1, 60 * MIB), 3 * MIB + 1))

def linear():
    return ("cuMemFree_v2", cu.alloc(size()))

def pitched():
    pointer, pitch = c_uint64(), c_size_t()
    width, height = c_size_t(rng.randrange(1, 5000)), c_size_t(rng.randrange(1, 3000))
    cu.call("cuMemAllocPitch_v2", byref(pointer), byref(pitch), width, height, 4)
    return ("cuMemFree_v2", pointer)

def of_pool():
    pointer, stream = c_uint64(), rng.choice(streams)
    cu.call("cuMemAllocAsync", byref(pointer), c_size_t(size()), stream)
    return rng.choice((("cuMemFreeAsync", pointer, stream), ("cuMemFree_v2", pointer)))

def of_own_pool():
    pointer, stream = c_uint64(), rng.choice(streams)
    cu.call("cuMemAllocFromPoolAsync", byref(pointer), c_size_t(size()), rng.choice(pools), stream)
    return ("cuMemFreeAsync", pointer, stream)

def physical():
    return ("cuMemRelease", cu.create(2 * MIB * rng.randrange(1, 20)))

def array():
    made = c_void_p()
    width, height = rng.randrange(1, 3000), rng.randrange(3000)
    form = cu.ArrayDescriptor(width, height, cu.FLOAT, rng.choice((1, 2, 4)))
    cu.call("cuArrayCreate_v2", byref(made), byref(form))
    return ("cuArrayDestroy", made)

def graph():
    made = cu.executable(cu.graph_of(*(size() for _ in range(rng.randrange(1, 4)))))
    held.append(("cuGraphExecDestroy", made))
    for _ in range(rng.randrange(1, 3)):
        cu.call(rng.choice(("cuGraphLaunch", "cuGraphUpload")), made, rng.choice(streams))

def launch_again():
    graphs = [each for name, each, *_ in held if name == "cuGraphExecDestroy"]
    if graphs:
        cu.call("cuGraphLaunch", rng.choice(graphs), None)

def module():
    made = c_void_p()
    cu.call("cuModuleLoadData", byref(made), b"x" * rng.randrange(1, 3 * MIB))
    return ("cuModuleUnload", made)

def heap():
    cu.call("cuCtxSetLimit", rng.choice((1, 2)), c_size_t(rng.randrange(1, 80 * MIB)))

def give():
    if held:
        name, *arguments = held.pop(rng.randrange(len(held)))
        cu.call(name, *arguments)

def wait():
    cu.call("cuStreamSynchronize", rng.choice(streams))

def trim():
    cu.call("cuMemPoolTrimTo", rng.choice(pools), c_size_t(rng.choice((0, 40 * MIB))))

def trim_graphs():
    cu.call("cuDeviceGraphMemTrim", 0)

def keep():
    pool, threshold = rng.choice(pools), c_uint64(rng.choice((0, 64 * MIB)))
    cu.call("cuMemPoolSetAttribute", pool, 4, byref(threshold))

def new_pool():
    at = rng.randrange(len(pools))
    cu.call("cuMemPoolDestroy", pools[at])
    pools[at] = cu.pool()

ACTIONS = (linear, linear, pitched, of_pool, of_pool, of_own_pool, physical, array, graph,
           launch_again, module, heap, give, give, give, give, wait, trim, trim_graphs, keep,
           new_pool)
for step in range({steps}):
    action = rng.choice(ACTIONS)
    state = rng.getstate()
    try:
        made = action()
        code = 0
    except cu.Failed as failed:
        made, code = None, failed.code
    rng.setstate(state)
    rng.random()
    if made:
        held.append(made)
    print(step, action.__name__, code, cu.info())
"""


@pytest.mark.parametrize("seed", range(SEED, SEED + SEQUENCES))
def test_a_share_is_a_smaller_card(machine: Machine, seed: int) -> None:
    script = PLAY.format(seed=seed, steps=250)
    machine.more["STUB_CONTEXT"] = str(10 * MIB)
    machine.memory = SHARE
    small = machine.run(script).splitlines()
    machine.folder.joinpath("book").unlink()
    machine.memory = 3 * SHARE
    share = machine.run(script, limit=str(SHARE)).splitlines()
    for on_small, in_share in zip(small, share, strict=True):
        assert in_share == on_small
    if seed == 1:  # of so many calls, some are
        assert any(line.split()[2] == "2" for line in small), "nothing was refused"
