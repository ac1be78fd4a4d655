"""Measures `kai run all` on a real API server with simulated nodes (docs/internals/cluster.md).

    python tests/bench/live SCENE [--pods N] [--nodes 500] [-- options of kai run]

SCENE is fill, shares, starting-shares (whose pods run as well), gang, waiting or large. Starts a
cluster of its own, and prints what was measured as JSON.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import fill
import gang
import large
import shares
import waiting
from scene import Report, scene

SCENES = {
    "fill": fill.run,
    "shares": shares.run,
    "starting-shares": partial(shares.run, starts=True),
    "gang": gang.run,
    "waiting": waiting.run,
}
PODS = {"shares": 8_000, "starting-shares": 8_000}


async def main(given: argparse.Namespace) -> Report:
    if given.scene == "large":
        with tempfile.TemporaryDirectory() as folder:
            return await large.run(Path(folder), given.pods or 140_000, tuple(given.run))
    async with scene(tuple(given.run), fair_queuing=given.fair_queuing) as cluster:
        return await SCENES[given.scene](
            cluster, given.pods or PODS.get(given.scene, 4_000), given.nodes
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("scene", choices=[*SCENES, "large"])
    parser.add_argument("--pods", type=int, help="4,000; for shares 8,000; for large 140,000")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--fair-queuing", action="store_true", help="with the server's own limits")
    arguments = sys.argv[1:]
    # Arguments after "--" are for kai run: argparse accepts no list after options.
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:ends])
    given.run = arguments[ends + 1 :]
    print(json.dumps(asyncio.run(main(given)), indent=1))
