"""The page of a simulation: its contents, and how a browser shows it."""

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, opened
from conftest import HOUR, teams

from fakes.scenarios import in_a_loop
from kai.errors import InvalidInputError
from kai.sim import page, series
from kai.sim.simulate import simulate
from kai.sim.timeline import Timeline

needs_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def element(text: str, name: str) -> str:
    found = re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return found.group(1)


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Unpacked like in the page's own program: columns, and the other values."""
    about = json.loads(element(text, "about"))
    raw = zlib.decompress(base64.b64decode(element(text, "data")))
    columns, at = {}, 0
    for name, kind, length, is_steps in about["columns"]:
        column = np.frombuffer(raw, f"<{kind}", length, at)
        columns[name] = np.cumsum(column, dtype=column.dtype) if is_steps else column
        at += -(-column.nbytes // 4) * 4
    assert at == len(raw)
    return about, columns


def test_the_page_has_every_row_of_the_timeline(morning: Timeline) -> None:
    about, columns = unpacked(page.html(morning))
    tick_s = about["tick_s"]
    jobs = morning.workload.jobs
    order = np.argsort(jobs.arrival_s, kind="stable")
    assert about["names_joined"].split("\n") == [jobs.name[i] for i in order]
    assert columns["job_arrival"] * tick_s == pytest.approx(jobs.arrival_s[order])
    end_s = morning.jobs["end_s"][order]
    ended = ~np.isnan(end_s)
    assert (columns["job_took"] == page.NEVER).tolist() == (~ended).tolist()
    took_s = columns["job_took"][ended] * tick_s
    assert took_s == pytest.approx((end_s - jobs.arrival_s[order])[ended], abs=tick_s)
    assert len(columns["stay_node"]) == len(morning.stays["node"])
    gpu_s = columns["job_gpus"][columns["stay_job"]] * columns["stay_length"] * tick_s
    assert gpu_s.sum() == pytest.approx(morning.jobs["held_gpu_s"].sum(), rel=1e-6)
    rows = about["queue_rows"]
    for i, queue in enumerate(series.queues_by_use(morning)):
        assert about["queues"][i] == morning.queue_names[queue]
        at_s, held = series.queue_steps(morning, queue, "allocated_gpus")
        assert columns["queue_at"][rows[i] : rows[i + 1]] * tick_s == pytest.approx(at_s)
        assert columns["queue_held"][rows[i] : rows[i + 1]] == pytest.approx(held, abs=1e-3)


def test_with_past_usage_the_page_shows_it(morning: Timeline) -> None:
    about, columns = unpacked(page.html(with_past(morning)))
    timeline = with_past(morning)
    rows = about["usage_rows"]
    assert rows[-1] == len(columns["usage_at"]) == len(columns["usage_part"]) > 10
    assert about["gpus"] == timeline.workload.gpus == 24
    for i, queue in enumerate(series.queues_by_use(timeline)):
        at_s, part = series.queue_steps(timeline, queue, "gpu", "usage")
        assert columns["usage_at"][rows[i] : rows[i + 1]] * about["tick_s"] == pytest.approx(at_s)
        assert columns["usage_part"][rows[i] : rows[i + 1]] == pytest.approx(part, abs=1e-6)
    assert unpacked(page.html(morning))[0]["usage_rows"] == [0, 0, 0, 0]


def with_past(timeline: Timeline) -> Timeline:
    return simulate(timeline.workload, usage={"windowSize": "1h", "fetchInterval": "1m"})


def test_the_same_timeline_gives_the_same_page(morning: Timeline) -> None:
    again = simulate(morning.workload, life=_life_of_the_morning())
    assert page.html(again) == page.html(morning)


def _life_of_the_morning() -> Any:
    from kai.sim.simulate import Life, Outage

    return Life(outages=[Outage("n-2", 5 * HOUR, 6 * HOUR)])


def test_the_page_loads_nothing_from_elsewhere(morning: Timeline) -> None:
    text = page.html(morning)
    assert re.findall(r"\b(?:src|href)\s*=|@import|url\(", text) == []
    assert "default-src 'none'" in text


def test_names_of_the_workload_are_escaped() -> None:
    bad = "</script><script>alert(1)</script>"
    jobs = teams().jobs
    workload = replace(teams(), name=bad, jobs=replace(jobs, name=(bad, *jobs.name[1:])))
    text = page.html(simulate(workload))
    assert bad not in text
    assert unpacked(text)[0]["names_joined"].startswith(bad)


def test_the_numbers_are_a_table(morning: Timeline) -> None:
    text = page.html(morning)
    metrics = morning.metrics()
    assert f"<td>evictions of pods</td><td>{metrics.evictions}</td>" in text
    assert f"<td>{metrics.held_gpu_hours:,.1f}</td>" in text
    assert "8 jobs in 3 queues on 3 nodes with 24 GPUs" in text


def test_an_unwritable_page_raises_one_sentence(morning: Timeline, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no such file or directory"):
        morning.to_html(tmp_path / "no" / "page.html")


PIXELS = """[...document.querySelectorAll("canvas.picture")].map((canvas) => {
  const c = canvas.getContext("2d"), d = c.getImageData(0, 0, canvas.width, canvas.height).data;
  const found = new Set();
  for (let i = 0; i < d.length; i += 4)
    if (d[i + 3]) found.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return found.size;
})"""
INK = """(() => {
  const canvas = document.getElementById("queue-picture"), c = canvas.getContext("2d");
  const d = c.getImageData(0, 0, canvas.width, canvas.height).data;
  let dark = 0;
  for (let i = 0; i < d.length; i += 4)
    if (d[i + 3] > 200 && d[i] + d[i + 1] + d[i + 2] < 150) dark++;
  return dark;
})()"""
TIP = """((x, y) => {
  const canvas = document.getElementById("job-picture");
  canvas.scrollIntoView();
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.x + x, clientY: box.y + y}));
  return document.getElementById("tip").textContent;
})"""


@needs_a_browser
@pytest.mark.parametrize("dark", [False, True])
@in_a_loop
async def test_a_browser_draws_every_picture(
    *, morning: Timeline, tmp_path: Path, dark: bool
) -> None:
    morning.to_html(tmp_path / "page.html")
    async with opened(tmp_path / "page.html", dark=dark) as tab:
        assert await tab.value("document.querySelectorAll('canvas.picture').length") == 5
        assert min(await tab.value(PIXELS)) >= 3  # two queues and their gaps are the minimum
        ground = "getComputedStyle(document.body).backgroundColor"
        assert await tab.value(ground) == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
        assert tab.errors == []
        assert tab.requests == [(tmp_path / "page.html").as_uri()]


@needs_a_browser
@in_a_loop
async def test_keys_move_zoom_and_reset_the_picture(*, morning: Timeline, tmp_path: Path) -> None:
    morning.to_html(tmp_path / "page.html")
    async with opened(tmp_path / "page.html") as tab:

        async def window() -> tuple[float, float]:
            low, high = await tab.value("[kai.view.t0, kai.view.t1]")
            return low, high

        await tab.value("document.getElementById('job-picture').focus()")
        whole = await window()
        assert whole == (0, morning.end_s)
        await tab.key("+")
        low, high = await window()
        assert high - low == pytest.approx(0.7 * morning.end_s)
        await tab.key("ArrowRight")
        assert (await window())[0] == pytest.approx(low + 0.1 * (high - low))
        await tab.key("0")
        assert await window() == whole
        assert tab.errors == []


@needs_a_browser
@in_a_loop
async def test_a_job_is_found_by_name_and_described(*, morning: Timeline, tmp_path: Path) -> None:
    morning.to_html(tmp_path / "page.html")
    async with opened(tmp_path / "page.html") as tab:
        assert (await tab.value(f"{TIP}(400, 5)")).startswith("long, queue vision")
        await tab.value("kai.find('gang')")
        text = await tab.value("document.getElementById('found').textContent")
        assert text.startswith("gang, queue research; 2 GPUs for each of 3 pod(s)")
        assert "starts after 1 s" in text
        await tab.value("kai.find('nothing')")
        text = await tab.value("document.getElementById('found').textContent")
        assert text == "no such job"
        assert tab.errors == []


@needs_a_browser
@in_a_loop
async def test_the_cluster_at_a_moment_equals_the_timeline(
    *, morning: Timeline, tmp_path: Path
) -> None:
    morning.to_html(tmp_path / "page.html")
    async with opened(tmp_path / "page.html") as tab:
        for at_s in (0.5 * HOUR, 1.5 * HOUR, 2.5 * HOUR, 5.5 * HOUR):
            await tab.value(f"kai.view.at = {at_s}, kai.drawAll(true)")
            text = await tab.value("document.getElementById('moment-text').textContent")
            cards = series.cards_at(morning, at_s)
            held = sum(part for card in cards for _, part in card.parts)
            assert f"{held:g} of {len(cards)} GPUs held" in text


QUEUE_TIP = TIP.replace("job-picture", "queue-picture")
HAS_KEY = "getComputedStyle(document.getElementById('past-key')).display !== 'none'"


@needs_a_browser
@in_a_loop
async def test_a_line_shows_past_usage(*, morning: Timeline, tmp_path: Path) -> None:
    """And only where the past counts."""
    past = with_past(morning)
    past.to_html(tmp_path / "past.html")
    simulate(morning.workload).to_html(tmp_path / "page.html")
    async with opened(tmp_path / "past.html") as tab:
        assert await tab.value(HAS_KEY)
        ink = await tab.value(INK)
        text = await tab.value(f"{QUEUE_TIP}(400, 50)")
        assert tab.errors == []
    name = text.split(",")[0]
    at_s, part = series.queue_steps(past, past.queue_names.index(name), "gpu", "usage")
    left, width = 120, 1385 - 130 - 32  # about; the line is nearly flat there
    moment_s = (400 - left) / width * past.end_s
    expected = part[np.searchsorted(at_s, moment_s, "right") - 1] * 24
    found = re.search(r"used in the past: ([\d.]+) GPUs", text)
    assert found is not None, text
    assert float(found[1]) == pytest.approx(expected, abs=1.5)
    async with opened(tmp_path / "page.html") as tab:
        assert not await tab.value(HAS_KEY)
        assert await tab.value(INK) < ink
        assert "used in the past" not in await tab.value(f"{QUEUE_TIP}(400, 50)")


@needs_a_browser
@in_a_loop
async def test_a_timeline_without_jobs_has_a_page(*, empty: Timeline, tmp_path: Path) -> None:
    empty.to_html(tmp_path / "page.html")
    async with opened(tmp_path / "page.html") as tab:
        assert tab.errors == []
