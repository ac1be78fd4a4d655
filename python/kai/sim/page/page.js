// The page of a simulation: pictures on canvases that share one window of time.
//
// All rows are in memory as typed arrays. What a frame draws is bounded by its pixels: the Gantt
// chart fills pixels of an image where a row is thinner than two pixels, the map of nodes adds up
// what pods hold in each pixel column, and lines keep the least and most value of a column.
"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const about = JSON.parse($("about").textContent);
  const NEVER = 0xffffffff;
  const data = await unpack($("data").textContent, about.columns);
  const { jobs, runs, stays, series, evictions } = arrange(data);
  const end = about.end_s;
  const view = { t0: 0, t1: end, r0: 0, r1: 1, at: about.moment_s, found: -1 };
  const shown = about.queues.map(() => true);
  const pictures = [];
  const timings = {};
  let theme = {}, shades = [], wanted = false;

  // ---- data ------------------------------------------------------------------------------------

  async function unpack(text, columns) {
    const raw = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const kinds = { u4: Uint32Array, f4: Float32Array, u2: Uint16Array, u1: Uint8Array };
    const found = {};
    let at = 0;
    for (const [name, kind, length, steps] of columns) {
      const column = new kinds[kind](buffer, at, length);
      if (steps) for (let i = 1; i < length; i++) column[i] += column[i - 1];
      found[name] = column;
      at += Math.ceil(column.byteLength / 4) * 4;
    }
    return found;
  }

  function seconds(ticks) {
    const made = new Float64Array(ticks.length);
    for (let i = 0; i < made.length; i++)
      made[i] = ticks[i] === NEVER ? NaN : ticks[i] * about.tick_s;
    return made;
  }

  function plus(base, lengths) {
    const made = new Float64Array(base.length);
    for (let i = 0; i < made.length; i++)
      made[i] = lengths[i] === NEVER ? NaN : base[i] + lengths[i] * about.tick_s;
    return made;
  }

  function firstOf(owners, count) {  // owners in order; where the rows of each begin
    const first = new Uint32Array(count + 1);
    for (const owner of owners) first[owner + 1]++;
    for (let i = 0; i < count; i++) first[i + 1] += first[i];
    return first;
  }

  function arrange(d) {
    const arrival = seconds(d.job_arrival);
    const count = arrival.length;
    const names = about.names_joined.split("\n");
    const jobs = { count, names, arrival, start: plus(arrival, d.job_waited),
      end: plus(arrival, d.job_took), queue: d.job_queue, gpus: d.job_gpus, pods: d.job_pods };
    const from = seconds(d.run_from);
    const runs = { from, to: plus(from, d.run_length), first: firstOf(d.run_job, count) };
    const low = seconds(d.stay_from);
    const stays = { from: low, to: plus(low, d.stay_length), job: d.stay_job, node: d.stay_node,
      card: d.stay_card, count: low.length };
    const evictions = { first: firstOf(d.eviction_job, count), at: seconds(d.eviction_at) };
    const steps = about.queues.map((_, i) => {
      const [a, b] = [about.queue_rows[i], about.queue_rows[i + 1]];
      return { at: seconds(d.queue_at.subarray(a, b)), held: d.queue_held.subarray(a, b),
        asked: d.queue_asked.subarray(a, b), fair: d.queue_fair.subarray(a, b),
        past: pastOf(d, about.usage_rows[i], about.usage_rows[i + 1]) };
    });
    return { jobs, runs, stays, series: steps, evictions };
  }

  function pastOf(d, a, b) {  // GPUs; without rows the past does not count
    const gpus = d.usage_part.slice(a, b).map((part) => part * about.gpus);
    return { at: seconds(d.usage_at.subarray(a, b)), gpus };
  }

  // ---- colours ---------------------------------------------------------------------------------

  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue("--" + name).trim();
    theme = { paper: of("paper"), ink: of("ink"), faint: of("faint"), quiet: of("quiet"),
      evicted: of("evicted"), series: about.colours.map((_, i) => of("s" + i)) };
    theme.colours = about.queues.map((_, i) => theme.series[i % theme.series.length]);
    theme.words = theme.colours.map(asWord);
    theme.quietWord = asWord(theme.quiet);
    theme.fills = about.queues.map((_, i) => pattern(theme.colours[i], about.hatches[i]));
    shades = about.shades.map(asWord);
  }

  function asWord(hex) {  // a pixel of an image: bytes in the order red, green, blue, alpha
    const n = parseInt(hex.slice(1), 16);
    return (0xff000000 | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
  }

  function shade(part) {
    const x = Math.min(Math.max(part, 0), 1) * (shades.length - 1);
    const i = Math.min(Math.floor(x), shades.length - 2), f = x - i;
    let made = 0xff000000;
    for (const bit of [0, 8, 16]) {
      const a = (shades[i] >> bit) & 255, b = (shades[i + 1] >> bit) & 255;
      made |= Math.round(a + (b - a) * f) << bit;
    }
    return made >>> 0;
  }

  function pattern(colour, hatch) {
    const tile = new OffscreenCanvas(8, 8), c = tile.getContext("2d");
    c.fillStyle = colour;
    c.fillRect(0, 0, 8, 8);
    c.strokeStyle = c.fillStyle = theme.paper;
    const lines = { "/": [0, 8, 8, 0], "\\": [0, 0, 8, 8], "-": [0, 4, 8, 4], "|": [4, 0, 4, 8] };
    const parts = { x: "/\\", "+": "-|" };
    for (const kind of parts[hatch] || hatch) {
      if (kind === ".") c.fillRect(2, 2, 2, 2);
      else for (const shift of [-8, 0, 8]) {
        const [x0, y0, x1, y1] = lines[kind];
        c.beginPath();
        c.moveTo(x0 + shift, y0);
        c.lineTo(x1 + shift, y1);
        c.stroke();
      }
    }
    return c.createPattern(tile, "repeat");
  }

  // ---- words -----------------------------------------------------------------------------------

  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const dayPart = about.start_ms === null ? 0 : (about.start_ms / 1000) % 86400;
  const number = (x) => x.toLocaleString("en", { maximumFractionDigits: x < 100 ? 2 : 1 });

  function span(s) {
    if (!isFinite(s)) return "never";
    const [length, name] = UNITS.find(([u]) => Math.abs(s) >= u) || UNITS[3];
    return `${number(s / length)} ${name}`;
  }

  function moment(s) {
    if (about.start_ms === null) return `${span(s)} after the start`;
    const text = new Date(about.start_ms + s * 1000).toISOString().slice(0, 19).replace("T", " ");
    return `${text} (${span(s)})`;
  }

  // Moments of a time axis: round times of the clock where the date of the start is known.
  function ticks(low, high, most) {
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
      43200, 86400, 172800, 432000, 864000, 2592000, 8640000, 31536000];
    const step = steps.find((s) => (high - low) / s <= most) || (high - low) / most;
    const found = [];
    for (let t = Math.ceil((low + dayPart) / step) * step - dayPart; t <= high; t += step)
      found.push(t);
    return [found, step];
  }

  // The day, the time of the day, or both where a day begins on the axis.
  function tickText(t, step, before) {
    const day = Math.floor((t + dayPart) / 86400), s = Math.round(t + dayPart - day * 86400);
    const date = about.start_ms === null ? `${day.toLocaleString("en")} d`
      : new Date(about.start_ms + t * 1000).toISOString().slice(0, 10);
    if (step >= 86400) return date;
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    const clock = `${two(s / 3600)}:${two((s / 60) % 60)}` + (step < 60 ? `:${two(s % 60)}` : "");
    const isSame = before !== null && Math.floor((before + dayPart) / 86400) === day;
    return isSame || end < 86400 && about.start_ms === null ? clock : `${date} ${clock}`;
  }

  function niceTop(value) {
    const base = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
    return [1, 2, 4, 5, 8, 10].map((f) => f * base).find((top) => top >= value);
  }

  // ---- frames ----------------------------------------------------------------------------------

  const LEFT = 120, RIGHT = 10;

  function picture(id, draw, tip, options = {}) {
    const canvas = $(id);
    const made = { id, canvas, draw, tip, timed: options.timed !== false, rows: options.rows };
    pictures.push(made);
    listen(made);
    return made;
  }

  function frame(made, height) {  // the size of the canvas in CSS pixels; true pixels behind it
    const { canvas } = made, scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (canvas.style.height !== height + "px") canvas.style.height = height + "px";
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = "12px system-ui, sans-serif";
    Object.assign(made, { c, width, height, scale, w: width - LEFT - RIGHT });
    return c;
  }

  const xOf = (made, t) => LEFT + ((t - view.t0) / (view.t1 - view.t0)) * made.w;
  const timeAt = (made, x) => view.t0 + ((x - LEFT) / made.w) * (view.t1 - view.t0);

  function timeAxis(made, y, top) {
    const { c } = made;
    c.textAlign = "center";
    c.textBaseline = "top";
    const [moments, step] = ticks(view.t0, view.t1, made.w / 130);
    let before = null;
    for (const t of moments) {
      const x = Math.round(xOf(made, t)) + 0.5;
      c.strokeStyle = theme.faint;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, y);
      c.stroke();
      c.fillStyle = theme.quiet;
      const words = tickText(t, step, before), half = c.measureText(words).width / 2;
      c.fillText(words, Math.min(x, made.width - half), y + 4);
      before = t;
    }
  }

  function momentLine(made, top, bottom) {
    const x = xOf(made, view.at);
    if (x < LEFT || x > LEFT + made.w) return;
    const { c } = made;
    c.strokeStyle = theme.ink;
    c.lineWidth = 1;
    c.setLineDash([3, 3]);
    c.beginPath();
    c.moveTo(x, top);
    c.lineTo(x, bottom);
    c.stroke();
    c.setLineDash([]);
  }

  function redraw() {
    if (wanted) return;
    wanted = true;
    requestAnimationFrame(() => { wanted = false; drawAll(); });
  }

  function drawAll(everything) {
    for (const made of pictures) {
      const box = made.canvas.getBoundingClientRect();
      const isSeen = box.bottom > -100 && box.top < innerHeight + 100;
      if (!isSeen && !everything && made.height) { made.late = true; continue; }
      made.late = false;
      const began = performance.now();
      made.draw(made);
      timings[made.id] = performance.now() - began;
    }
    $("window").textContent = `${moment(view.t0)} – ${moment(view.t1)}`;
  }

  // ---- queues over time ------------------------------------------------------------------------

  const PANEL = 110;

  function place(at, t) {  // the last row at or before t, or -1
    let low = -1, high = at.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (at[middle] <= t) low = middle; else high = middle;
    }
    return low;
  }

  // Least and most value in each pixel column of a step function.
  function columnsOf(at, values, width) {
    const low = new Float32Array(width), high = new Float32Array(width);
    const per = (view.t1 - view.t0) / width;
    let row = place(at, view.t0), value = row < 0 ? 0 : values[row];
    row++;
    for (let x = 0; x < width; x++) {
      let least = value, most = value;
      const until = view.t0 + (x + 1) * per;
      while (row < at.length && at[row] < until) {
        value = values[row++];
        if (value < least) least = value;
        if (value > most) most = value;
      }
      low[x] = least;
      high[x] = most;
    }
    return [low, high];
  }

  function panelQueues() {
    const most = $("more").checked ? about.queues.length : 6;
    return about.queues.map((_, i) => i).filter((i) => shown[i]).slice(0, most);
  }

  function drawQueues(made) {
    const list = panelQueues();
    const c = frame(made, Math.max(list.length * PANEL, 40) + 24);
    const width = Math.max(1, Math.round(made.w));
    list.forEach((queue, number) => drawPanel(made, c, queue, number * PANEL, width));
    $("left").textContent = shown.filter(Boolean).length > list.length
      ? `${shown.filter(Boolean).length - list.length} more queues are not shown here` : "";
    timeAxis(made, list.length * PANEL, list.length * PANEL);
  }

  function drawPanel(made, c, queue, top, width) {
    const steps = series[queue];
    const [heldLow, held] = columnsOf(steps.at, steps.held, width);
    const [fairLow, fair] = columnsOf(steps.at, steps.fair, width);
    const [askedLow, asked] = columnsOf(steps.at, steps.asked, width);
    const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
    const [pastLow, past] = columnsOf(steps.past.at, steps.past.gpus, width);
    const needed = Math.max(most(held), most(fair), most(past), 1) * 1.1;
    const peak = niceTop(Math.min(Math.max(needed, most(asked)), needed * 1.6));
    const [y0, y1] = [top + PANEL - 8, top + 22];
    const y = (value) => y0 - (Math.min(value, peak) / peak) * (y0 - y1);
    timeGrid(made, c, y0, y1);
    c.fillStyle = c.strokeStyle = theme.colours[queue];
    c.globalAlpha = 0.4;
    c.beginPath();
    c.moveTo(LEFT, y0);
    for (let x = 0; x < width; x++) {
      if (x === 0 || held[x] !== held[x - 1]) c.lineTo(LEFT + x, y(held[x]));
      if (x === width - 1 || held[x] !== held[x + 1]) c.lineTo(LEFT + x + 1, y(held[x]));
    }
    c.lineTo(LEFT + width, y0);
    c.fill();
    c.globalAlpha = 1;
    c.lineWidth = 1.2;
    curve(c, heldLow, held, y, []);
    c.strokeStyle = theme.quiet;
    curve(c, askedLow, asked, y, [1, 2]);
    c.strokeStyle = theme.ink;
    c.lineWidth = 1.6;
    curve(c, fairLow, fair, y, [6, 3]);
    c.lineWidth = 1.2;
    if (steps.past.at.length) curve(c, pastLow, past, y, []);
    c.fillStyle = theme.ink;
    c.textAlign = "left";
    c.textBaseline = "top";
    c.fillText(about.queues[queue], LEFT, top + 4);
    c.fillStyle = theme.quiet;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const value of [0, peak]) c.fillText(number(value), LEFT - 6, y(value));
    c.fillText("GPUs", LEFT - 6, (y0 + y1) / 2);
    momentLine(made, y1, y0);
  }

  function timeGrid(made, c, y0, y1) {
    c.strokeStyle = theme.faint;
    c.lineWidth = 1;
    c.strokeRect(LEFT + 0.5, y1, made.w - 1, y0 - y1);
    for (const t of ticks(view.t0, view.t1, made.w / 130)[0]) {
      const x = Math.round(xOf(made, t)) + 0.5;
      c.beginPath();
      c.moveTo(x, y1);
      c.lineTo(x, y0);
      c.stroke();
    }
  }

  function curve(c, low, high, y, dash) {
    c.setLineDash(dash);
    c.beginPath();
    const same = (a, b) => high[a] === high[b] && low[a] === low[b];
    for (let x = 0; x < high.length; x++) {
      if (x === 0) c.moveTo(LEFT, y(high[0]));
      else if (x < high.length - 1 && same(x, x - 1) && same(x, x + 1) && low[x] === high[x])
        continue;  // the middle of a flat part
      // Left to right, so that a column's ends join those of its neighbours.
      const ends = x > 0 && high[x] > high[x - 1] ? [low[x], high[x]] : [high[x], low[x]];
      c.lineTo(LEFT + x, y(ends[0]));
      if (ends[0] !== ends[1]) c.lineTo(LEFT + x, y(ends[1]));
      if (x === high.length - 1) c.lineTo(LEFT + x + 1, y(ends[1]));
    }
    c.stroke();
    c.setLineDash([]);
  }

  function tipQueues(made, x, y) {
    const queue = panelQueues()[Math.floor(y / PANEL)];
    if (queue === undefined) return "";
    const t = timeAt(made, x), steps = series[queue], row = place(steps.at, t);
    const of = (values) => number(row < 0 ? 0 : values[row]);
    const used = place(steps.past.at, t);
    const past = used < 0 ? "" : `\nused in the past: ${number(steps.past.gpus[used])} GPUs`;
    return `${about.queues[queue]}, ${moment(t)}\nholds ${of(steps.held)} GPUs, fair share ` +
      `${of(steps.fair)}, requests ${of(steps.asked)}${past}`;
  }

  // ---- jobs ------------------------------------------------------------------------------------

  const JOBS = 420, ENDS = Infinity;
  let alive = new Uint32Array(jobs.count), aliveCount = 0;

  const endOf = (job) => (isNaN(jobs.end[job]) ? ENDS : jobs.end[job]);

  function findAlive() {
    aliveCount = 0;
    for (let job = 0; job < jobs.count && jobs.arrival[job] < view.t1; job++)
      if (shown[jobs.queue[job]] && endOf(job) >= view.t0) alive[aliveCount++] = job;
  }

  function drawJobs(made) {
    const c = frame(made, JOBS + 24);
    findAlive();
    const low = Math.floor(view.r0 * aliveCount), high = Math.ceil(view.r1 * aliveCount);
    made.low = low;
    made.high = Math.max(high, low + 1);
    timeAxis(made, JOBS, 0);
    const each = JOBS / (made.high - low);
    if (each < 2) paintJobs(made, c); else drawBars(made, c, each);
    if (each < 13) rowCount(c, high - low, "jobs");
    c.strokeStyle = theme.faint;
    c.strokeRect(LEFT + 0.5, 0.5, made.w - 1, JOBS - 1);
    momentLine(made, 0, JOBS);
  }

  function rowCount(c, count, name) {
    c.fillStyle = theme.quiet;
    c.textAlign = "right";
    c.textBaseline = "top";
    c.fillText(count.toLocaleString("en"), LEFT - 6, 2);
    c.fillText(name, LEFT - 6, 16);
  }

  // A row is thinner than two pixels: fills pixels of an image. Running hides waiting.
  function paintJobs(made, c) {
    const w = Math.max(1, Math.round(made.w * made.scale)), h = Math.round(JOBS * made.scale);
    const image = c.createImageData(w, h), pixels = new Uint32Array(image.data.buffer);
    const perX = w / (view.t1 - view.t0), perY = h / (made.high - made.low);
    const column = (t) => Math.min(Math.max(Math.floor((t - view.t0) * perX), 0), w);
    for (let i = made.low; i < made.high && i < aliveCount; i++) {
      const job = alive[i], base = Math.floor((i - made.low) * perY) * w;
      const from = column(jobs.arrival[job]), to = column(Math.min(endOf(job), view.t1));
      for (let x = from; x < to; x++)
        if (pixels[base + x] === 0) pixels[base + x] = theme.quietWord;
    }
    for (let i = made.low; i < made.high && i < aliveCount; i++) {
      const job = alive[i], base = Math.floor((i - made.low) * perY) * w;
      const word = job === view.found ? asWord(theme.ink) : theme.words[jobs.queue[job]];
      for (let run = runs.first[job]; run < runs.first[job + 1]; run++) {
        if (runs.to[run] < view.t0 || runs.from[run] > view.t1) continue;
        const from = column(runs.from[run]);
        pixels.fill(word, base + from, base + Math.min(Math.max(column(runs.to[run]), from + 1), w));
      }
    }
    // Through a canvas of its own, so that it lies over the grid.
    const sheet = paintJobs.sheet || (paintJobs.sheet = new OffscreenCanvas(1, 1));
    if (sheet.width !== w || sheet.height !== h) [sheet.width, sheet.height] = [w, h];
    sheet.getContext("2d").putImageData(image, 0, 0);
    c.drawImage(sheet, LEFT, 0, made.w, JOBS);
  }

  function drawBars(made, c, each) {
    const clip = (t) => Math.min(Math.max(xOf(made, t), LEFT), LEFT + made.w);
    for (let i = made.low; i < made.high && i < aliveCount; i++) {
      const job = alive[i], y = (i - made.low) * each, thick = Math.min(each * 0.8, 18);
      const middle = y + each / 2, x0 = clip(jobs.arrival[job]);
      c.fillStyle = theme.quiet;
      c.fillRect(x0, middle - 0.5, clip(Math.min(endOf(job), end)) - x0, 1);
      c.fillStyle = (thick >= 8 ? theme.fills : theme.colours)[jobs.queue[job]];
      for (let run = runs.first[job]; run < runs.first[job + 1]; run++) {
        if (runs.to[run] < view.t0 || runs.from[run] > view.t1) continue;
        const x = clip(runs.from[run]);
        c.fillRect(x, middle - thick / 2, Math.max(clip(runs.to[run]) - x, 1), thick);
      }
      if (job === view.found) {
        c.strokeStyle = theme.ink;
        c.lineWidth = 2;
        c.strokeRect(x0 - 2, middle - thick / 2 - 2, clip(Math.min(endOf(job), end)) - x0 + 4,
          thick + 4);
      }
      crosses(made, c, job, middle, Math.min(thick / 2, 4));
      if (each >= 13) label(made, c, jobs.names[job], middle);
    }
  }

  function crosses(made, c, job, middle, size) {
    c.strokeStyle = theme.evicted;
    c.lineWidth = 1.5;
    for (let i = evictions.first[job]; i < evictions.first[job + 1]; i++) {
      const x = xOf(made, evictions.at[i]);
      if (x < LEFT || x > LEFT + made.w) continue;
      c.beginPath();
      for (const side of [-1, 1]) {
        c.moveTo(x - size, middle - size * side);
        c.lineTo(x + size, middle + size * side);
      }
      c.stroke();
    }
  }

  function label(made, c, name, middle) {
    c.fillStyle = theme.ink;
    c.textAlign = "right";
    c.textBaseline = "middle";
    const room = LEFT - 8;
    let text = name;
    while (text.length > 1 && c.measureText(text).width > room) text = text.slice(0, -1);
    c.fillText(text === name ? name : text.slice(0, -1) + "…", LEFT - 4, middle);
  }

  function jobAt(made, x, y) {
    if (y >= JOBS || aliveCount === 0) return -1;
    const perRow = (made.high - made.low) / JOBS, t = timeAt(made, x);
    const first = made.low + Math.floor(y * perRow);
    const last = Math.min(Math.max(first + 1, made.low + Math.ceil((y + 1) * perRow)), aliveCount);
    for (let i = last - 1; i >= first; i--)  // several rows below one pixel: one that is there
      if (jobs.arrival[alive[i]] <= t && endOf(alive[i]) >= t) return alive[i];
    return first < aliveCount ? alive[first] : -1;
  }

  function tipJobs(made, x, y) {
    const job = jobAt(made, x, y);
    return job < 0 ? "" : jobText(job);
  }

  function jobText(job) {
    const evicted = evictions.first[job + 1] - evictions.first[job];
    const lines = [
      `${jobs.names[job]}, queue ${about.queues[jobs.queue[job]]}`,
      `${number(jobs.gpus[job])} GPUs for each of ${jobs.pods[job]} pod(s)`,
      `arrives ${moment(jobs.arrival[job])}`,
      isNaN(jobs.start[job]) ? "never starts"
        : `starts after ${span(jobs.start[job] - jobs.arrival[job])}`,
      isNaN(jobs.end[job]) ? "does not end" : `ends after ${span(jobs.end[job] - jobs.arrival[job])}`,
    ];
    if (evicted) lines.push(`evicted ${evicted} time(s)`);
    return lines.join("\n");
  }

  // ---- nodes -----------------------------------------------------------------------------------

  const withGpus = about.node_order;
  const rowOfNode = new Int32Array(about.node_gpus.length).fill(-1);

  function nodeRows() {
    const rows = Math.min(withGpus.length, 300);
    withGpus.forEach((node, i) => { rowOfNode[node] = Math.floor((i * rows) / withGpus.length); });
    const height = Math.min(Math.max(rows * 14, 60), 300);
    return [rows, height];
  }

  // Adds weight over an interval to the means of pixel columns, as differences.
  function cover(changes, base, low, high, weight, width, per) {
    for (const [t, sign] of [[low, weight], [high, -weight]]) {
      const x = Math.min(Math.max((t - view.t0) * per, 0), width);
      const whole = Math.floor(x), part = x - whole;
      changes[base + whole] += sign * (1 - part);
      changes[base + whole + 1] += sign * part;
    }
  }

  function drawNodes(made) {
    const [rows, height] = nodeRows();
    const c = frame(made, height + 24);
    if (rows === 0) return;
    const w = Math.max(1, Math.round(made.w)), stride = w + 2, per = w / (view.t1 - view.t0);
    const held = new Float32Array(rows * stride), there = new Float32Array(rows * stride);
    for (const node of withGpus)
      cover(there, rowOfNode[node] * stride, view.t0, view.t1, about.node_gpus[node], w, per);
    for (const [node, low, high] of about.absences)
      if (rowOfNode[node] >= 0 && low < view.t1 && (high === null || high > view.t0))
        cover(there, rowOfNode[node] * stride, low, high === null ? view.t1 : high,
          -about.node_gpus[node], w, per);
    for (let i = 0; i < stays.count && stays.from[i] < view.t1; i++) {
      const job = stays.job[i], row = rowOfNode[stays.node[i]];
      if (row < 0 || stays.to[i] <= view.t0 || !shown[jobs.queue[job]] || !jobs.gpus[job]) continue;
      cover(held, row * stride, stays.from[i], stays.to[i], jobs.gpus[job], w, per);
    }
    const lut = new Uint32Array(101).map((_, i) => shade(i / 100));
    const image = c.createImageData(w, rows), pixels = new Uint32Array(image.data.buffer);
    for (let row = 0; row < rows; row++) {
      let sum = 0, all = 0;
      for (let x = 0; x < w; x++) {
        sum += held[row * stride + x];
        all += there[row * stride + x];
        if (all < 1e-3) continue;  // the node is not there
        const percent = Math.round((sum / all) * 100);
        pixels[row * w + x] = lut[Math.min(Math.max(percent, 0), 100)];
      }
    }
    const sheet = drawNodes.sheet || (drawNodes.sheet = new OffscreenCanvas(1, 1));
    [sheet.width, sheet.height] = [w, rows];
    sheet.getContext("2d").putImageData(image, 0, 0);
    c.fillStyle = goneFill(c);
    c.fillRect(LEFT, 0, made.w, height);
    c.imageSmoothingEnabled = false;
    c.drawImage(sheet, LEFT, 0, made.w, height);
    timeAxis(made, height, height);
    const each = height / rows;
    if (each >= 12) withGpus.forEach((node, i) => label(made, c, about.nodes[node], (i + 0.5) * each));
    else rowCount(c, withGpus.length, "nodes");
    momentLine(made, 0, height);
  }

  function goneFill(c) {
    const tile = new OffscreenCanvas(8, 8), t = tile.getContext("2d");
    t.fillStyle = theme.paper;
    t.fillRect(0, 0, 8, 8);
    t.strokeStyle = theme.quiet;
    t.beginPath();
    for (const [a, b] of [[0, 8], [8, 0]]) { t.moveTo(0, a); t.lineTo(8, b); }
    t.stroke();
    return c.createPattern(tile, "repeat");
  }

  function tipNodes(made, x, y) {
    const [rows, height] = nodeRows();
    if (y >= height || rows === 0) return "";
    const first = Math.floor((y / height) * withGpus.length), node = withGpus[first];
    const t = timeAt(made, x);
    let held = 0, pods = 0;
    for (let i = 0; i < stays.count && stays.from[i] <= t; i++)
      if (stays.node[i] === node && stays.to[i] > t && shown[jobs.queue[stays.job[i]]]) {
        held += jobs.gpus[stays.job[i]];
        pods++;
      }
    return `${about.nodes[node]}, ${moment(t)}\n${number(held)} of ${about.node_gpus[node]} GPUs ` +
      `held by ${pods} pod(s)`;
  }

  // ---- the cluster at a moment -----------------------------------------------------------------

  const isGoneAt = (t) => new Set(about.absences
    .filter(([, low, high]) => low <= t && (high === null || t < high)).map(([node]) => node));

  function cardsAt(t) {  // by node: cards, each a list of [job, part]
    const cards = new Map(), shared = new Map();
    for (let i = 0; i < stays.count && stays.from[i] <= t; i++) {
      const isLast = t >= end && stays.to[i] >= end - about.tick_s && isNaN(jobs.end[stays.job[i]]);
      if (stays.to[i] <= t && !isLast) continue;
      const job = stays.job[i], gpus = jobs.gpus[job], node = stays.node[i];
      if (gpus === 0) continue;
      if (!cards.has(node)) cards.set(node, []);
      const list = cards.get(node);
      if (gpus >= 1) for (let k = 0; k < gpus; k++) list.push([[job, 1]]);
      else {
        const key = `${node} ${stays.card[i]}`;
        if (!shared.has(key)) { shared.set(key, []); list.push(shared.get(key)); }
        shared.get(key).push([job, gpus]);
      }
    }
    return cards;
  }

  function drawMoment(made) {
    const gone = isGoneAt(view.at), nodes = withGpus.filter((node) => !gone.has(node));
    const most = nodes.reduce((a, node) => Math.max(a, about.node_gpus[node]), 1);
    const width = made.canvas.clientWidth;
    // The largest squares with which all nodes fit into 360 pixels of height.
    let size = 24, columns = 1;
    for (; size > 2; size--) {
      columns = Math.max(1, Math.floor(width / ((most + 1) * size)));
      if (Math.ceil(nodes.length / columns) * (size + 3) <= 360) break;
    }
    const rows = Math.max(1, Math.ceil(nodes.length / columns));
    const c = frame(made, rows * (size + 3) + 4);
    const cards = cardsAt(view.at), fills = size >= 10 ? theme.fills : theme.colours;
    made.squares = { size, columns, most, rows, nodes, cards };
    let held = 0;
    nodes.forEach((node, i) => {
      const x0 = Math.floor(i / rows) * (most + 1) * size, y = (i % rows) * (size + 3) + 2;
      for (let k = 0; k < about.node_gpus[node]; k++) {
        const x = x0 + k * size, box = size - Math.min(2, size / 4);
        c.strokeStyle = theme.quiet;
        c.lineWidth = 0.6;
        c.strokeRect(x + 0.5, y + 0.5, box - 1, box - 1);
        let low = 0;
        for (const [job, part] of (cards.get(node) || [])[k] || []) {
          c.fillStyle = shown[jobs.queue[job]] ? fills[jobs.queue[job]] : theme.faint;
          c.fillRect(x + low * box, y, Math.max(part * box - (part < 1 ? 0.7 : 0), 1), box);
          low += part;
          held += part;
        }
      }
    });
    const all = nodes.reduce((a, node) => a + about.node_gpus[node], 0);
    $("moment-text").textContent = `${moment(view.at)}: ${number(held)} of ` +
      `${all.toLocaleString("en")} GPUs held. A square is a GPU, a row of them a node.`;
  }

  function tipMoment(made, x, y) {
    const { size, most, rows, nodes, cards } = made.squares;
    const column = Math.floor(x / ((most + 1) * size)), row = Math.floor((y - 2) / (size + 3));
    const node = row < rows ? nodes[column * rows + row] : undefined;
    const k = Math.floor((x - column * (most + 1) * size) / size);
    if (node === undefined || k >= about.node_gpus[node]) return "";
    const parts = (cards.get(node) || [])[k] || [];
    const said = parts.map(([job, part]) =>
      (part < 1 ? `${number(part)} of it: ` : "") + jobText(job));
    return [about.nodes[node], ...(said.length ? said : ["free"])].join("\n");
  }

  // ---- waiting times ---------------------------------------------------------------------------

  const WAITING = 300;

  function waitingGroups() {
    const by = $("by").value;
    return about.waiting[by].filter((g) => by === "size" || shown[g.queue]).slice(0, 8);
  }

  function drawWaiting(made) {
    const c = frame(made, WAITING + 40);
    const groups = waitingGroups();
    const longest = Math.max(10, ...groups.map((g) => g.s[g.s.length - 1] || 0)) * 1.3;
    const x = (s) => LEFT + (Math.log(Math.max(s, 1)) / Math.log(longest)) * made.w;
    const y = (percent) => WAITING - (percent / 100) * (WAITING - 10);
    made.x = x;
    c.lineWidth = 1;
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const s of [1, 10, 60, 600, 3600, 36000, 86400, 864000].filter((s) => s <= longest)) {
      c.strokeStyle = theme.faint;
      c.beginPath();
      c.moveTo(x(s), 10);
      c.lineTo(x(s), WAITING);
      c.stroke();
      c.fillStyle = theme.quiet;
      c.fillText(s === 1 ? "≤ 1 s" : span(s), x(s), WAITING + 4);
    }
    c.fillText("time from arrival to the first start", LEFT + made.w / 2, WAITING + 22);
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const percent of [0, 20, 40, 60, 80, 100]) {
      c.strokeStyle = theme.faint;
      c.beginPath();
      c.moveTo(LEFT, y(percent));
      c.lineTo(LEFT + made.w, y(percent));
      c.stroke();
      c.fillText(`${percent} %`, LEFT - 6, y(percent));
    }
    groups.forEach((group, i) => {
      const look = about.looks[$("by").value === "size" ? i : group.queue];
      c.strokeStyle = c.fillStyle = theme.series[look.colour];
      c.lineWidth = 2;
      c.setLineDash(look.dash.map((d) => d * 1.5));
      c.beginPath();
      let before = 0;
      c.moveTo(x(1), y(0));
      group.s.forEach((s, k) => {
        c.lineTo(x(s), y(before));
        c.lineTo(x(s), y(group.p[k]));
        before = group.p[k];
      });
      c.lineTo(x(longest), y(before));
      c.stroke();
      c.setLineDash([]);
    });
    waitingKey(groups);
  }

  function waitingKey(groups) {
    const key = $("waiting-key");
    key.replaceChildren(...groups.map((group, i) => {
      const look = about.looks[$("by").value === "size" ? i : group.queue];
      const item = document.createElement("span"), line = document.createElement("canvas");
      [line.width, line.height] = [44, 10];
      const c = line.getContext("2d");
      c.strokeStyle = theme.series[look.colour];
      c.lineWidth = 2;
      c.setLineDash(look.dash.map((d) => d * 1.5));
      c.moveTo(0, 5);
      c.lineTo(44, 5);
      c.stroke();
      const never = group.jobs - group.started;
      item.append(line, ` ${group.name}: ${group.jobs.toLocaleString("en")} job(s)` +
        (never ? `, ${never.toLocaleString("en")} never started` : ""));
      return item;
    }));
  }

  function tipWaiting(made, x) {
    const groups = waitingGroups();
    const longest = Math.max(10, ...groups.map((g) => g.s[g.s.length - 1] || 0)) * 1.3;
    const s = Math.exp(((x - LEFT) / made.w) * Math.log(longest));
    const lines = groups.map((g) => `${g.name}: ${number(g.p[place(g.s, s)] || 0)} %`);
    return `started within ${span(Math.max(s, 1))}\n${lines.join("\n")}`;
  }

  // ---- hands -----------------------------------------------------------------------------------

  function setWindow(t0, t1) {
    const length = Math.min(Math.max(t1 - t0, Math.min(end, 2)), end);
    view.t0 = Math.min(Math.max(t0, 0), end - length);
    view.t1 = view.t0 + length;
    redraw();
  }

  function setRows(r0, r1) {
    const length = Math.min(Math.max(r1 - r0, Math.min(1, 4 / Math.max(aliveCount, 1))), 1);
    view.r0 = Math.min(Math.max(r0, 0), 1 - length);
    view.r1 = view.r0 + length;
    redraw();
  }

  function zoom(factor, middle) {
    const t = middle === undefined ? (view.t0 + view.t1) / 2 : middle;
    setWindow(t - (t - view.t0) * factor, t + (view.t1 - t) * factor);
  }

  function zoomRows(factor, part = 0.5) {
    const r = view.r0 + (view.r1 - view.r0) * part;
    setRows(r - (r - view.r0) * factor, r + (view.r1 - r) * factor);
  }

  function reset() {
    Object.assign(view, { r0: 0, r1: 1 });
    setWindow(0, end);
  }

  function listen(made) {
    const { canvas } = made;
    let drag = null;
    const tip = $("tip");
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      drag = { x: e.offsetX, y: e.offsetY, ...view, moved: false };
    });
    canvas.addEventListener("pointermove", (e) => {
      if (drag && made.timed) {
        const x = e.offsetX - drag.x, y = e.offsetY - drag.y;
        drag.moved = drag.moved || Math.abs(x) + Math.abs(y) > 3;
        const t = (-x / made.w) * (drag.t1 - drag.t0);
        if (drag.moved) setWindow(drag.t0 + t, drag.t1 + t);
        const r = (-y / JOBS) * (drag.r1 - drag.r0);
        if (drag.moved && made.rows) setRows(drag.r0 + r, drag.r1 + r);
      }
      const inside = !made.timed || (e.offsetX >= LEFT && e.offsetX <= LEFT + made.w);
      tip.textContent = inside ? made.tip(made, e.offsetX, e.offsetY) : "";
      tip.style.display = tip.textContent ? "block" : "none";
      tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
      tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
    });
    canvas.addEventListener("pointerup", (e) => {
      if (drag && !drag.moved && made.timed && e.offsetX >= LEFT) {
        view.at = Math.min(Math.max(timeAt(made, e.offsetX), 0), end);
        redraw();
      }
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
    if (!made.timed) return;
    canvas.addEventListener("dblclick", reset);
    canvas.addEventListener("wheel", (e) => {  // without focus or Ctrl the page scrolls
      if (!e.ctrlKey && document.activeElement !== canvas) return;
      e.preventDefault();
      const factor = Math.exp((e.deltaY || e.deltaX) * 0.0015);
      if (e.shiftKey && made.rows) zoomRows(factor, e.offsetY / JOBS);
      else zoom(factor, timeAt(made, e.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => press(e, made));
  }

  function press(e, made) {
    const t = (view.t1 - view.t0) * 0.1, r = (view.r1 - view.r0) * 0.1;
    const keys = {
      ArrowLeft: () => setWindow(view.t0 - t, view.t1 - t),
      ArrowRight: () => setWindow(view.t0 + t, view.t1 + t),
      "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7),
      0: reset, Home: reset, Escape: () => made.canvas.blur(),
      "[": () => { view.at = Math.max(view.at - t / 20, 0); redraw(); },
      "]": () => { view.at = Math.min(view.at + t / 20, end); redraw(); },
    };
    if (made.rows) {
      keys.ArrowUp = () => (e.shiftKey ? zoomRows(0.7) : setRows(view.r0 - r, view.r1 - r));
      keys.ArrowDown = () => (e.shiftKey ? zoomRows(1 / 0.7) : setRows(view.r0 + r, view.r1 + r));
    }
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  }

  function queueButtons() {
    $("queues").replaceChildren(...about.queues.map((name, i) => {
      const button = document.createElement("button"), swatch = document.createElement("canvas");
      [swatch.width, swatch.height] = [16, 12];
      const c = swatch.getContext("2d");
      c.fillStyle = theme.fills[i];
      c.fillRect(0, 0, 16, 12);
      button.append(swatch, name);
      button.setAttribute("aria-pressed", shown[i]);
      button.title = "click: show or hide; double click: only this one, or all";
      button.onclick = () => { shown[i] = !shown[i]; pressed(); };
      button.ondblclick = () => {
        const isOnly = shown.every((on, k) => on === (k === i));
        shown.forEach((_, k) => { shown[k] = isOnly || k === i; });
        pressed();
      };
      return button;
    }));
  }

  function pressed() {
    [...$("queues").children].forEach((b, i) => b.setAttribute("aria-pressed", shown[i]));
    redraw();
  }

  function find(name) {
    view.found = name ? jobs.names.indexOf(name) : -1;
    if (name && view.found < 0) view.found = jobs.names.findIndex((each) => each.startsWith(name));
    const job = view.found;
    $("found").textContent = !name ? "" : job < 0 ? "no such job" : jobText(job).replace(/\n/g, "; ");
    if (job < 0) { redraw(); return; }
    shown[jobs.queue[job]] = true;
    const last = Math.min(endOf(job), end), length = Math.max(last - jobs.arrival[job], 60);
    setWindow(jobs.arrival[job] - length * 0.2, last + length * 0.2);
    findAlive();
    const row = alive.subarray(0, aliveCount).indexOf(job), half = 12 / aliveCount;
    setRows(row / aliveCount - half, row / aliveCount + half);
    pressed();
  }

  function paintTheme() {
    readTheme();
    queueButtons();
    for (const made of pictures) made.height = 0;
    redraw();
  }

  $("past-key").hidden = series.every((steps) => steps.past.at.length === 0);
  picture("queue-picture", drawQueues, tipQueues);
  picture("job-picture", drawJobs, tipJobs, { rows: true });
  picture("node-picture", drawNodes, tipNodes);
  picture("moment-picture", drawMoment, tipMoment, { timed: false });
  picture("waiting-picture", drawWaiting, tipWaiting, { timed: false });
  $("in").onclick = () => zoom(0.5);
  $("out").onclick = () => zoom(2);
  $("reset").onclick = reset;
  $("more").onchange = redraw;
  $("by").onchange = redraw;
  $("find").onchange = (e) => find(e.target.value.trim());
  $("theme").onchange = (e) => {
    document.documentElement.dataset.theme = e.target.value;
    paintTheme();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintTheme);
  addEventListener("resize", redraw);
  addEventListener("scroll", () => { if (pictures.some((made) => made.late)) redraw(); });
  if (location.hash) {  // #dark, #light: for a link or a picture of the page
    $("theme").value = document.documentElement.dataset.theme = location.hash.slice(1);
  }
  readTheme();
  queueButtons();
  drawAll(true);
  window.kai = { view, timings, drawAll, setWindow, setRows, find, redraw };
  document.documentElement.dataset.ready = "yes";
})();
