// The scatter of all points (plotly.js, WebGL): colours and shapes by cluster, pairs as lines.

// Okabe and Ito's colours, told apart by colour-blind people too; shapes double what they say.
export const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8a00", "#7f7f7f"];
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "cross", "x", "star", "hexagon", "triangle-down", "pentagon"];
export const color = (k) => COLORS[k % COLORS.length];
export const symbol = (k) => SYMBOLS[Math.floor(k / COLORS.length + k) % SYMBOLS.length];
const MOST_LINES = 5000;

export class Picture {
  constructor(element, events) {
    this.element = element;
    this.events = events;
    this.place = null; this.labels = null; this.names = {};
    this.pairs = []; this.broken = new Set(); this.blamed = []; this.selected = [];
    this.showPairs = true; this.mode = "pan"; this.titles = ["", ""]; this.view = 0;
    this.type = hasWebGL() ? "scattergl" : "scatter";
    this.ready = false;
  }

  get n() { return this.place ? this.place.x.length : 0; }

  // New places: the view starts over. Anything else keeps zoom and pan (uirevision).
  setPlaces(place, titles) { this.place = place; this.titles = titles; this.view += 1; return this.draw(); }
  setMode(mode) { this.mode = mode; if (this.ready) Plotly.relayout(this.element, { dragmode: mode }); }
  resize() { if (this.ready) Plotly.Plots.resize(this.element); }
  home() { if (this.ready) Plotly.relayout(this.element, { "xaxis.autorange": true, "yaxis.autorange": true }); }

  traces() {
    const { x, y } = this.place;
    const groups = new Map();
    const size = this.n > 200000 ? 2 : this.n > 20000 ? 3 : this.n > 2000 ? 5 : 8;
    if (!this.labels) groups.set(-1, Int32Array.from({ length: this.n }, (_, i) => i));
    else {
      const counts = new Map();
      for (const k of this.labels) counts.set(k, (counts.get(k) || 0) + 1);
      const at = new Map();
      for (const k of [...counts.keys()].sort((a, b) => a - b)) { groups.set(k, new Int32Array(counts.get(k))); at.set(k, 0); }
      for (let i = 0; i < this.n; i += 1) {
        const k = this.labels[i], j = at.get(k);
        groups.get(k)[j] = i; at.set(k, j + 1);
      }
    }
    const out = [];
    for (const [k, rows] of groups) {
      const xs = new Float32Array(rows.length), ys = new Float32Array(rows.length);
      rows.forEach((row, j) => { xs[j] = x[row]; ys[j] = y[row]; });
      out.push({
        type: this.type, mode: "markers", x: xs, y: ys, customdata: rows, hoverinfo: "none",
        name: k < 0 ? "points" : plain(this.names[k] || `cluster ${k}`), showlegend: k >= 0,
        marker: { color: k < 0 ? "#888" : color(k), symbol: k < 0 ? "circle" : symbol(k), size, opacity: this.n > 20000 ? 0.6 : 0.85, line: { width: 0 } },
        selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: this.n > 20000 ? 0.6 : 0.85 } },
      });
    }
    if (this.showPairs) {
      const kept = this.pairs.slice(-MOST_LINES);
      const isBroken = (p) => this.broken.has(`${p[0]},${p[1]}`);
      out.push(this.lines(kept.filter((p) => p[2] && !isBroken(p)), "solid", ink(), 1.2));
      out.push(this.lines(kept.filter((p) => !p[2] && !isBroken(p)), "dash", ink(), 1.2));
      out.push(this.lines(kept.filter(isBroken), "solid", "#e00000", 2.5));
    }
    if (this.blamed.length) {
      out.push(this.lines(this.blamed.filter((p) => p[2]), "solid", "#e00000", 3));
      out.push(this.lines(this.blamed.filter((p) => !p[2]), "dash", "#e00000", 3));
    }
    if (this.selected.length) {
      out.push({
        type: this.type, mode: "markers", x: this.selected.map((r) => x[r]), y: this.selected.map((r) => y[r]),
        hoverinfo: "skip", showlegend: false,
        marker: { symbol: "circle-open", size: size + 9, color: ink(), line: { width: 2.5 } },
      });
    }
    return out;
  }

  lines(pairs, dash, ink_, width) {
    const xs = new Float32Array(3 * pairs.length), ys = new Float32Array(3 * pairs.length);
    pairs.forEach(([i, j], m) => {
      xs[3 * m] = this.place.x[i]; xs[3 * m + 1] = this.place.x[j]; xs[3 * m + 2] = NaN;
      ys[3 * m] = this.place.y[i]; ys[3 * m + 1] = this.place.y[j]; ys[3 * m + 2] = NaN;
    });
    // Lines as SVG: dashes in WebGL are slow, and there are few of them.
    return { type: this.n > 20000 ? this.type : "scatter", mode: "lines", x: xs, y: ys, hoverinfo: "skip", showlegend: false, line: { color: ink_, width, dash }, connectgaps: false };
  }

  layout() {
    const text = ink(), faint = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
    const axis = (title) => ({ title: { text: plain(title) }, gridcolor: faint, zerolinecolor: faint, linecolor: faint, automargin: true });
    return {
      uirevision: this.view, dragmode: this.mode, hovermode: "closest", margin: { l: 44, r: 10, t: 34, b: 40 },
      paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: text },
      xaxis: axis(this.titles[0]), yaxis: axis(this.titles[1]),
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" }, showlegend: true, selections: [],
    };
  }

  draw() {
    if (!this.place) return Promise.resolve();
    const config = { displayModeBar: false, scrollZoom: true, responsive: true, doubleClick: "reset" };
    const started = performance.now();
    return Plotly.react(this.element, this.traces(), this.layout(), config).then(() => {
      this.lastDraw = performance.now() - started;
      if (!this.ready) { this.ready = true; this.attach(); }
    });
  }

  attach() {
    const row = (point) => (point.customdata === undefined ? null : Number(point.customdata));
    this.element.on("plotly_hover", (event) => {
      const found = row(event.points[0]);
      if (found !== null) this.events.hover(found, event.event);
    });
    this.element.on("plotly_unhover", () => this.events.hover(null));
    this.element.on("plotly_click", (event) => {
      const found = row(event.points[0]);
      if (found !== null) this.events.pick(found);
    });
    this.element.on("plotly_selected", (event) => {
      if (!event || !event.points) return;
      const rows = [...new Set(event.points.map(row).filter((r) => r !== null))];
      if (rows.length) this.events.lasso(rows);
    });
  }
}

// Plotly reads <b> and the like in titles and names; ids and columns are text and nothing else.
export const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const ink = () => getComputedStyle(document.documentElement).getPropertyValue("--text").trim();

function hasWebGL() {
  try { return Boolean(document.createElement("canvas").getContext("webgl")); } catch { return false; }
}
