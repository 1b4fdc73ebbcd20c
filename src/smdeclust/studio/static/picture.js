// The scatter of all points (plotly.js, WebGL): colours and shapes by cluster, pairs as lines.

// Looks of clusters: 24 colors, far apart also for color-blind people and at least 3:1 against the
// page, light or dark; twelve shapes double what they say. No look repeats within 24 clusters, and
// a color that comes again has another shape.
const LIGHT = [
  "#0072b2", "#cc7a00", "#009e73", "#cc5f9a", "#56a0d8", "#b8400e", "#857300", "#5b3fa8", "#184830", "#9c60fc", "#840054", "#785460",
  "#003c78", "#6c2400", "#b41890", "#fc3c54", "#006c24", "#0c18b4", "#0054e4", "#9030cc", "#6c8490", "#00a800", "#cc0054", "#b4786c",
];
const DARK = [
  "#4da6e8", "#e69f00", "#00b887", "#e089b8", "#8fd0ff", "#ff7a4d", "#c9c24a", "#a98bff", "#906c54", "#c024a8", "#00fcc0", "#f0fc00",
  "#5460f0", "#e41824", "#fce4e4", "#009000", "#008490", "#fcb49c", "#f04890", "#9078b4", "#f060e4", "#78f048", "#3cc000", "#909c48",
];
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "cross", "x", "star", "hexagon", "triangle-down", "pentagon", "hourglass", "bowtie"];
const dark = window.matchMedia("(prefers-color-scheme: dark)");
export const color = (k) => (dark.matches ? DARK : LIGHT)[k % 24];
export const symbol = (k) => SYMBOLS[(k + 5 * Math.floor(k / 24)) % 12];
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
