"""Draws the pictures of docs/howto/pictures.md: a generated week of three teams on twelve nodes.

    tools/simulation_pictures.py            writes docs/howto/pictures-*.png
    tools/simulation_pictures.py --page     also writes docs/howto/pictures-page.png; needs Chromium

The same code gives the same pictures with the same versions of matplotlib and Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from kai.sim.generators import Quantiles, generate
from kai.sim.simulate import Failures, Life, simulate
from kai.sim.timeline import Timeline
from kai.sim.workload import NodePool

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "howto"
DAY_S = 86_400.0


def week() -> Timeline:
    workload = generate(
        seed=4,
        days=7,
        load=0.95,
        nodes=[NodePool("node", 12, gpus=8)],
        gpus={0.25: 2, 0.5: 2, 1: 6, 2: 2, 4: 1, 8: 2, 16: 1},
        queues={"vision": 3, "speech": 2, "research": 1},
        durations=Quantiles.log_normal(median_s=3600, sigma=1.4, longest_s=2 * DAY_S),
        daily_swing=0.7,
        weekend=0.4,
        burst=4,
    )
    return simulate(workload, life=Life(checkpoint_s=1800, failures=Failures(mean_days_between=15)))


def still(timeline: Timeline) -> None:
    for name, figure in (
        ("queues", timeline.plot.queues()),
        ("nodes", timeline.plot.nodes()),
        ("cards", timeline.plot.nodes(at_s=2.5 * DAY_S)),
    ):
        # Without the version of matplotlib, so that files differ only if the drawing differs.
        figure.savefig(FOLDER / f"pictures-{name}.png", dpi=80, metadata={"Software": None})


async def photograph(timeline: Timeline) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "unit" / "sim" / "pictures"))
    from browser import opened

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "week.html"
        timeline.to_html(file, title="A week of three teams")
        async with opened(file, dark=True) as tab:
            await tab.value("kai.drawAll(true)")
            clip = {"x": 0, "y": 0, "width": 1385, "height": 1420, "scale": 0.6}
            shot = await tab.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
            (FOLDER / "pictures-page.png").write_bytes(base64.b64decode(shot["data"]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true", help="also draw the page; needs Chromium")
    options = parser.parse_args()
    timeline = week()
    still(timeline)
    if options.page:
        asyncio.run(photograph(timeline))


if __name__ == "__main__":
    main()
