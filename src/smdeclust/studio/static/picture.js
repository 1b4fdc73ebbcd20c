// The scatter of all points: marks (WebGL) below, and above them axes, pairs as lines, what is
// selected and the names of the clusters. Dragging, zooming, hovering and the lasso live here.

import { Marks } from "./marks.js";
import { SHAPES, color, darkScheme, mark, symbol } from "./looks.js";

export { color, symbol };
const MOST_LINES = 5000, MARGIN = { left: 46, right: 8, top: 8, bottom: 34 };
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Picture {
  constructor(element, events) {
    this.element = element; this.events = events;
    this.place = null; this.labels = null; this.names = {}; this.pairs = []; this.broken = new Set(); this.blamed = []; this.selected = [];
    this.showPairs = true; this.showNames = true; this.mode = "pan"; this.axes = [{}, {}]; this.forward = null; this.hovered = null; this.lasso = null;
    this.ready = false; this.lastDraw = 0; this.budget = Infinity;
    this.base = document.createElement("canvas"); this.over = document.createElement("canvas"); this.legend = document.createElement("div");
    this.base.className = "base"; this.over.className = "over"; this.legend.className = "legend";
    this.over.tabIndex = 0; this.over.setAttribute("role", "img");
    this.over.setAttribute("aria-label", "Scatter plot of all points, colored by cluster. Arrow keys move it, plus and minus zoom, 0 shows everything. The table under Points lists the same points.");
    element.append(this.base, this.over, this.legend);
    this.marks = new Marks(this.base); this.marks.onrestored = () => this.draw();
    this.pen = this.over.getContext("2d");
    this.wire();
    darkScheme.addEventListener("change", () => { this.marks.paint(); this.legendKey = ""; this.draw(); });
  }

  get n() { return this.place ? this.place.x.length : 0; }
  get kind() { return this.marks.gl ? "WebGL" : "canvas"; }

  // New places: the view starts over. Anything else keeps it.
  setPlaces(place, axes) {
    this.place = place; this.axes = axes;
    this.marks.setPlaces(place.x, place.y); this.marksLabels = undefined;
    this.index = null;
    this.fit();
    return this.draw();
  }
  setMode(mode) { this.mode = mode; this.over.style.cursor = mode === "lasso" ? "crosshair" : "grab"; }
  setForward(k) { this.forward = this.forward === k ? null : k; this.legendKey = ""; this.draw(); this.events.forward?.(this.forward); }
  home() { this.fit(); this.draw(); }

  fit() {
    const range = (values) => {
      let low = Infinity, high = -Infinity;
      for (const value of values) if (Number.isFinite(value)) { if (value < low) low = value; if (value > high) high = value; }
      if (low > high) return [-1, 1];
      const room = (high - low || 1) * 0.05;
      return [low - room, high + room];
    };
    this.view = this.place ? { x: range(this.place.x), y: range(this.place.y) } : { x: [-1, 1], y: [-1, 1] };
  }

  resize() {
    const ratio = window.devicePixelRatio || 1, width = this.element.clientWidth, height = this.element.clientHeight;
    if (!width || !height) return;
    for (const canvas of [this.base, this.over]) {
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    }
    this.ratio = ratio; this.width = width; this.height = height;
    this.draw();
  }

  // From places to pixels of the page: x * ax + bx, y * ay + by.
  get to() {
    const { left, right, top, bottom } = MARGIN, [x0, x1] = this.view.x, [y0, y1] = this.view.y;
    const ax = (this.width - left - right) / (x1 - x0), ay = -(this.height - top - bottom) / (y1 - y0);
    return { ax, bx: left - x0 * ax, ay, by: this.height - bottom - y0 * ay };
  }
  get markSize() { return this.n > 500000 ? 3 : this.n > 100000 ? 4 : this.n > 20000 ? 6 : this.n > 2000 ? 8 : 12; }

  draw(most = Infinity) {
    if (!this.place || !this.width) return Promise.resolve();
    const started = performance.now();
    if (this.marksLabels !== this.labels) { this.marks.setLabels(this.labels?.length === this.n ? this.labels : null); this.marksLabels = this.labels; this.centers = null; }
    const to = this.to, r = this.ratio;
    this.marks.draw({ ax: to.ax * r, bx: to.bx * r, ay: to.ay * r, by: to.by * r }, this.markSize * r, this.n > 20000 ? 0.65 : 0.9, this.forward, most);
    this.pen.setTransform(r, 0, 0, r, 0, 0); this.pen.clearRect(0, 0, this.width, this.height);
    this.drawOver(this.pen, to);
    this.drawLegend();
    this.lastDraw = performance.now() - started; this.ready = true;
    return Promise.resolve();
  }

  // While something moves: as many points as keep up with the screen; all of them when it rests.
  redraw() {
    this.wanted = true;
    clearTimeout(this.resting);
    this.asked ||= requestAnimationFrame((now) => this.frame(now, 0));
  }

  // One frame. The next one comes when the last one, drawn at `before`, is on the screen.
  frame(now, before) {
    const took = before ? now - before : 0;
    if (took > 34) this.budget = Math.max(10000, Math.max(0.05, 28 / took) * Math.min(this.budget, this.n)); else if (took && took < 20) this.budget *= 1.2;
    if (this.wanted) {
      this.wanted = false;
      this.frames = (this.frames || 0) + 1;
      this.draw(this.budget);
      this.asked = requestAnimationFrame((next) => this.frame(next, now));
    } else {
      this.asked = 0;
      this.resting = setTimeout(() => this.draw(), 150);
    }
  }

  // ---- what is above the points

  drawOver(pen, to) {
    const { left, right, top, bottom } = MARGIN, text = style("--text"), faint = style("--faint"), line = style("--line"), page = style("--page");
    const at = (row) => [this.place.x[row] * to.ax + to.bx, this.place.y[row] * to.ay + to.by];
    const inner = { w: this.width - left - right, h: this.height - top - bottom };
    pen.font = "12px system-ui, sans-serif"; pen.lineWidth = 1;
    // axes
    pen.fillStyle = faint; pen.strokeStyle = line;
    pen.strokeRect(left + 0.5, top + 0.5, inner.w, inner.h);
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const [place, label] of ticks(this.view.x, this.axes[0], inner.w / 80)) { const px = place * to.ax + to.bx; if (px >= left && px <= left + inner.w) { pen.beginPath(); pen.moveTo(px, top + inner.h); pen.lineTo(px, top + inner.h + 4); pen.stroke(); pen.fillText(label, px, top + inner.h + 5); } }
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const [place, label] of ticks(this.view.y, this.axes[1], inner.h / 45)) { const py = place * to.ay + to.by; if (py >= top && py <= top + inner.h) { pen.beginPath(); pen.moveTo(left - 4, py); pen.lineTo(left, py); pen.stroke(); pen.fillText(label, left - 6, py, left - 8); } }
    pen.fillStyle = text; pen.textAlign = "center"; pen.textBaseline = "bottom";
    pen.fillText(this.axes[0].title || "", left + inner.w / 2, this.height - 1, inner.w);
    pen.save(); pen.translate(1, top + inner.h / 2); pen.rotate(-Math.PI / 2); pen.textBaseline = "top"; pen.fillText(this.axes[1].title || "", 0, 0, inner.h); pen.restore();
    // what is inside the axes
    pen.save(); pen.beginPath(); pen.rect(left, top, inner.w, inner.h); pen.clip();
    const lines = (pairs, dash, ink, width) => {
      if (!pairs.length) return;
      pen.setLineDash(dash); pen.strokeStyle = ink; pen.lineWidth = width; pen.beginPath();
      for (const [i, j] of pairs) { const [x1, y1] = at(i), [x2, y2] = at(j); if (Number.isFinite(x1 + x2 + y1 + y2)) { pen.moveTo(x1, y1); pen.lineTo(x2, y2); } }
      pen.stroke(); pen.setLineDash([]);
    };
    const bad = style("--bad");
    if (this.showPairs) {
      const kept = this.pairs.slice(-MOST_LINES), isBroken = (p) => this.broken.has(`${p[0]},${p[1]}`);
      lines(kept.filter((p) => p[2] && !isBroken(p)), [], text, 1.2); lines(kept.filter((p) => !p[2] && !isBroken(p)), [5, 4], text, 1.2); lines(kept.filter(isBroken), [], bad, 2.5);
    }
    lines(this.blamed.filter((p) => p[2]), [], bad, 3); lines(this.blamed.filter((p) => !p[2]), [7, 5], bad, 3);
    const ring = (row, radius, ink, width) => { const [x, y] = at(row); pen.strokeStyle = ink; pen.lineWidth = width; pen.beginPath(); pen.arc(x, y, radius, 0, 7); pen.stroke(); };
    for (const row of this.selected) { ring(row, this.markSize / 2 + 5, page, 5); ring(row, this.markSize / 2 + 5, text, 2.2); }
    if (this.hovered !== null) ring(this.hovered, this.markSize / 2 + 3, text, 1.5);
    if (this.showNames && this.labels) this.drawNames(pen, to, text, page);
    if (this.lasso) { pen.strokeStyle = style("--accent"); pen.lineWidth = 1.5; pen.setLineDash([4, 3]); pen.beginPath(); this.lasso.forEach(([x, y], m) => (m ? pen.lineTo(x, y) : pen.moveTo(x, y))); pen.closePath(); pen.stroke(); pen.setLineDash([]); }
    pen.restore();
  }

  drawNames(pen, to, text, page) {
    pen.font = "600 12px system-ui, sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle"; pen.lineJoin = "round";
    for (const [k, [x, y]] of this.clusterCenters()) {
      if (this.forward !== null && this.forward !== k) continue;
      const name = this.names[k] || String(k), px = x * to.ax + to.bx, py = y * to.ay + to.by;
      pen.strokeStyle = page; pen.lineWidth = 4; pen.strokeText(name, px, py, 160); pen.fillStyle = text; pen.fillText(name, px, py, 160);
    }
  }
  clusterCenters() {
    if (this.centers) return this.centers;
    const sums = new Map();
    for (let i = 0; i < this.n; i += 1) {
      const x = this.place.x[i], y = this.place.y[i];
      if (!Number.isFinite(x + y)) continue;
      const sum = sums.get(this.labels[i]) || [0, 0, 0];
      sum[0] += x; sum[1] += y; sum[2] += 1; sums.set(this.labels[i], sum);
    }
    this.centers = new Map([...sums].map(([k, [x, y, n]]) => [k, [x / n, y / n]]));
    return this.centers;
  }

  drawLegend() {
    const clusters = this.labels ? [...this.clusterCenters().keys()].sort((a, b) => a - b) : [];
    const key = JSON.stringify([clusters, this.names, this.forward, darkScheme.matches]);
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.replaceChildren(...clusters.map((k) => {
      const button = document.createElement("button");
      button.append(mark(k), this.names[k] || String(k));
      button.title = "Highlight"; button.setAttribute("aria-label", `Highlight ${this.names[k] || `cluster ${k}`}`); button.setAttribute("aria-pressed", String(this.forward === k));
      button.addEventListener("click", () => this.setForward(k));
      return button;
    }));
  }

  // ---- the mouse, fingers and keys

  wire() {
    const fingers = new Map();
    let start = null, moved = false;
    const where = (event) => { const box = this.over.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    this.over.addEventListener("pointerdown", (event) => {
      this.over.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, where(event)); moved = false;
      start = { at: where(event), view: structuredClone(this.view), to: this.to };
      if (this.mode === "lasso" && fingers.size === 1) this.lasso = [where(event)];
    });
    this.over.addEventListener("pointermove", (event) => {
      const here = where(event);
      if (!fingers.has(event.pointerId)) { this.hover(here, event); return; }
      const before = fingers.get(event.pointerId);
      fingers.set(event.pointerId, here);
      if (Math.hypot(here[0] - start.at[0], here[1] - start.at[1]) > 4) moved = true;
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const factor = Math.hypot(before[0] - other[0], before[1] - other[1]) / Math.max(1, Math.hypot(here[0] - other[0], here[1] - other[1]));
        this.lasso = null; this.zoom(factor, other);
      } else if (this.lasso) { this.lasso.push(here); this.redraw(); } else if (moved) {
        const dx = (here[0] - start.at[0]) / start.to.ax, dy = (here[1] - start.at[1]) / start.to.ay;
        this.view = { x: start.view.x.map((v) => v - dx), y: start.view.y.map((v) => v - dy) };
        this.events.hover(null); this.redraw();
      }
    });
    const end = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      const lasso = this.lasso; this.lasso = null;
      if (event.type === "pointerup" && lasso && moved) { const rows = this.inside(lasso); if (rows.length) this.events.lasso(rows); } else if (event.type === "pointerup" && !moved) { const row = this.nearest(where(event), 12); if (row !== null) this.events.pick(row); }
      if (lasso) this.draw();
    };
    this.over.addEventListener("pointerup", end); this.over.addEventListener("pointercancel", end);
    this.over.addEventListener("pointerleave", () => this.hover(null));
    this.over.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), where(event)); }, { passive: false });
    this.over.addEventListener("dblclick", () => this.home());
    this.over.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key], middle = [this.width / 2, this.height / 2];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (step) { const shift = (range, by) => range.map((v) => v + (by * (range[1] - range[0])) / 8); this.view = { x: shift(this.view.x, step[0]), y: shift(this.view.y, step[1]) }; this.redraw(); } else if (event.key === "+" || event.key === "=") this.zoom(0.8, middle); else if (event.key === "-") this.zoom(1.25, middle); else if (event.key === "0") this.home(); else return;
      event.preventDefault(); event.stopPropagation();
    });
  }
  zoom(factor, [px, py]) {
    const to = this.to, x = (px - to.bx) / to.ax, y = (py - to.by) / to.ay;
    this.view = { x: this.view.x.map((v) => x + (v - x) * factor), y: this.view.y.map((v) => y + (v - y) * factor) };
    this.redraw();
  }
  hover(here, event) {
    const row = here ? this.nearest(here, 10) : null;
    if (row === this.hovered) return;
    this.hovered = row;
    if (this.place && this.width) { const r = this.ratio; this.pen.setTransform(r, 0, 0, r, 0, 0); this.pen.clearRect(0, 0, this.width, this.height); this.drawOver(this.pen, this.to); }
    this.events.hover(row, event);
  }

  // A grid over all places: which rows are in each cell.
  grid() {
    if (this.index) return this.index;
    const { x, y } = this.place, side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(this.n / 4))));
    const box = { x: [Infinity, -Infinity], y: [Infinity, -Infinity] };
    for (let i = 0; i < this.n; i += 1) if (Number.isFinite(x[i] + y[i])) { box.x[0] = Math.min(box.x[0], x[i]); box.x[1] = Math.max(box.x[1], x[i]); box.y[0] = Math.min(box.y[0], y[i]); box.y[1] = Math.max(box.y[1], y[i]); }
    const cell = (value, [low, high]) => Math.max(0, Math.min(side - 1, Math.floor(((value - low) / (high - low || 1)) * side)));
    const cellOf = new Int32Array(this.n), starts = new Uint32Array(side * side + 1);
    for (let i = 0; i < this.n; i += 1) { cellOf[i] = Number.isFinite(x[i] + y[i]) ? cell(y[i], box.y) * side + cell(x[i], box.x) : -1; if (cellOf[i] >= 0) starts[cellOf[i] + 1] += 1; }
    for (let c = 0; c < side * side; c += 1) starts[c + 1] += starts[c];
    const fill = starts.slice(0, -1), rows = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i += 1) if (cellOf[i] >= 0) { rows[fill[cellOf[i]]] = i; fill[cellOf[i]] += 1; }
    this.index = { side, box, cell, starts, rows };
    return this.index;
  }
  nearest([px, py], radius) {
    if (!this.place || !this.width) return null;
    const to = this.to, { side, box, cell, starts, rows } = this.grid(), reach = Math.min(radius, this.n > 200000 ? 5 : radius);
    const xs = [px - reach, px + reach].map((v) => cell((v - to.bx) / to.ax, box.x)), ys = [py + reach, py - reach].map((v) => cell((v - to.by) / to.ay, box.y));
    let best = null, least = reach * reach;
    for (let cy = ys[0]; cy <= ys[1]; cy += 1) {
      for (let at = starts[cy * side + xs[0]]; at < starts[cy * side + xs[1] + 1]; at += 1) {
        const row = rows[at], dx = this.place.x[row] * to.ax + to.bx - px, dy = this.place.y[row] * to.ay + to.by - py, distance = dx * dx + dy * dy;
        if (this.forward !== null && this.labels?.[row] !== this.forward) continue;
        if (distance <= least) { least = distance; best = row; }
      }
    }
    return best;
  }
  inside(polygon) {
    const to = this.to, found = [], px = polygon.map((p) => p[0]), py = polygon.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...px), Math.max(...px), Math.min(...py), Math.max(...py)];
    for (let row = 0; row < this.n; row += 1) {
      const x = this.place.x[row] * to.ax + to.bx, y = this.place.y[row] * to.ay + to.by;
      if (!(x >= x0 && x <= x1 && y >= y0 && y <= y1) || (this.forward !== null && this.labels?.[row] !== this.forward)) continue;
      let within = false;
      for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a, a += 1) if ((py[a] > y) !== (py[b] > y) && x < ((px[b] - px[a]) * (y - py[a])) / (py[b] - py[a]) + px[a]) within = !within;
      if (within) found.push(row);
    }
    return found;
  }

  // ---- to take away

  toPNG() {
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    canvas.width = this.base.width; canvas.height = this.base.height;
    this.draw();
    pen.fillStyle = style("--page"); pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(this.base, 0, 0); pen.drawImage(this.over, 0, 0);
    return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  }
  toSVG() {
    this.draw();
    const to = this.to, size = this.markSize / 12, escape = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
    const inside = (px, py) => px >= MARGIN.left && px <= this.width - MARGIN.right && py >= MARGIN.top && py <= this.height - MARGIN.bottom;
    const parts = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}" font-family="sans-serif" font-size="12">`, `<rect width="100%" height="100%" fill="${style("--page")}"/>`];
    if (this.n <= 20000) {
      for (let row = 0; row < this.n; row += 1) {
        const px = this.place.x[row] * to.ax + to.bx, py = this.place.y[row] * to.ay + to.by, k = this.labels ? this.labels[row] : -1;
        if (inside(px, py)) parts.push(`<path d="${SHAPES[symbol(k)]}" fill="${color(k)}" fill-opacity=".9" transform="translate(${(px - 6 * size).toFixed(1)} ${(py - 6 * size).toFixed(1)}) scale(${size.toFixed(2)})"/>`);
      }
    } else parts.push(`<image width="${this.width}" height="${this.height}" href="${this.base.toDataURL("image/png")}"/>`);
    const at = (row) => [this.place.x[row] * to.ax + to.bx, this.place.y[row] * to.ay + to.by];
    if (this.showPairs) for (const [i, j, together] of this.pairs.slice(-MOST_LINES)) { const [a, b] = [at(i), at(j)]; if (inside(...a) && inside(...b)) parts.push(`<path d="M${a.map((v) => v.toFixed(1))}L${b.map((v) => v.toFixed(1))}" stroke="${style("--text")}"${together ? "" : ' stroke-dasharray="5 4"'}/>`); }
    if (this.labels) for (const [k, [x, y]] of this.clusterCenters()) parts.push(`<text x="${(x * to.ax + to.bx).toFixed(1)}" y="${(y * to.ay + to.by).toFixed(1)}" text-anchor="middle" font-weight="600" fill="${style("--text")}" stroke="${style("--page")}" stroke-width="3" paint-order="stroke">${escape(this.names[k] || k)}</text>`);
    const faint = style("--faint");
    parts.push(`<rect x="${MARGIN.left}" y="${MARGIN.top}" width="${this.width - MARGIN.left - MARGIN.right}" height="${this.height - MARGIN.top - MARGIN.bottom}" fill="none" stroke="${style("--line")}"/>`);
    for (const [place, label] of ticks(this.view.x, this.axes[0], this.width / 80)) parts.push(`<text x="${place * to.ax + to.bx}" y="${this.height - 18}" text-anchor="middle" fill="${faint}">${escape(label)}</text>`);
    for (const [place, label] of ticks(this.view.y, this.axes[1], this.height / 45)) parts.push(`<text x="${MARGIN.left - 6}" y="${place * to.ay + to.by + 4}" text-anchor="end" fill="${faint}">${escape(label)}</text>`);
    parts.push(`<text x="${this.width / 2}" y="${this.height - 3}" text-anchor="middle" fill="${style("--text")}">${escape(this.axes[0].title || "")}</text>`, `<text transform="translate(12 ${this.height / 2}) rotate(-90)" text-anchor="middle" fill="${style("--text")}">${escape(this.axes[1].title || "")}</text>`, "</svg>");
    return new Blob([parts.join("\n")], { type: "image/svg+xml" });
  }
}

// Places and words of the marks on an axis. An axis may have levels (words at 0, 1, 2, ...), or be
// stored as (value - middle) / half so that single precision is enough.
function ticks([low, high], axis, most) {
  if (axis.levels) return axis.levels.map((name, at) => [at, String(name).slice(0, 12)]).filter(([at]) => at >= low && at <= high);
  if (axis.hidden) return [];
  const middle = axis.middle || 0, half = axis.half || 1, from = low * half + middle, till = high * half + middle;
  const rough = (till - from) / Math.max(2, most), power = 10 ** Math.floor(Math.log10(rough)), step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const found = [];
  if (!Number.isFinite(step) || step <= 0) return found;
  for (let value = Math.ceil(from / step) * step; value <= till + step / 1e6 && found.length < 50; value += step) {
    const word = axis.date ? new Date(value * 86400000).toISOString().slice(0, 10) : Math.abs(value) < step / 1e6 ? "0" : String(Number(value.toPrecision(6)));
    found.push([(value - middle) / half, word]);
  }
  return found;
}
