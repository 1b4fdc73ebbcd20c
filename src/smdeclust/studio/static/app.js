// The page: what is selected, what is shown; the server knows the rest.

import { Picture } from "./picture.js";
import * as panels from "./panels.js";
import * as service from "./service.js";

const $ = (id) => document.getElementById(id);
const { h } = panels;
const TABS = [["clusters", "Clusters"], ["pairs", "Pairs"], ["points", "Points"], ["ask", "Ask"], ["settings", "Settings"]];
const SURE = [[1, "certain"], [0.95, "95% sure"], [0.9, "90% sure"], [0.8, "80% sure"], [0.6, "60% sure"]];

class App {
  constructor() {
    this.state = { open: false };
    this.selected = []; this.firstGroup = null; this.confidence = 1;
    this.tab = "clusters"; this.table = { sort: "row", descending: false, cluster: null };
    this.question = null; this.costs = null; this.known = new Map(); this.placesKey = null;
    this.picture = new Picture($("picture"), {
      hover: (row, event) => this.hover(row, event), pick: (row) => this.toggle(row), lasso: (rows) => this.select(rows),
    });
    this.wire();
    service.listen({
      state: (state) => this.take(state),
      solution: (solution) => this.takeSolution(solution),
      proof: (proof) => { this.state.solution.gap = proof.gap; this.report(); },
      costs: (rows) => { this.costs = new Map(rows.map((row) => [row.pair.slice().sort((a, b) => a - b).join(), row])); this.panel(); },
      failed: (failure) => this.complain(failure.sentence),
    }, (lost) => {
      if (lost !== null) this.complain(service.SILENT);
      else { for (const message of $("messages").children) if (message.firstChild.textContent === service.SILENT) message.remove(); if (this.lost) this.report(); }
      this.lost = lost !== null;
    });
  }

  // ---- what comes from the server

  async take(state) {
    const table = [state.title, state.n_points].join();
    const other = table !== this.tableKey;
    this.tableKey = table;
    this.state = state;
    $("welcome").hidden = state.open; $("work").hidden = !state.open; $("tools").hidden = !state.open;
    $("folder").textContent = state.folder;
    if (!state.open) return;
    document.title = `${state.title} – smdeclust studio`;
    $("title").textContent = state.title;
    if (document.activeElement !== $("n-clusters")) $("n-clusters").value = state.settings.n_clusters;
    $("undo").disabled = !state.can_undo; $("redo").disabled = !state.can_redo;
    if (other) { this.selected = []; this.question = null; this.known.clear(); this.picture.labels = null; this.placesKey = null; this.fillAxes(); }
    this.costs = null;
    this.picture.pairs = state.pairs; this.picture.names = state.settings.names; this.picture.blamed = [];
    await this.loadPlaces();
    if (state.solution.clusters) await this.takeSolution(state.solution); else this.report();
    this.panel(); this.selectionBar();
  }

  async takeSolution(solution) {
    if ("busy" in solution) this.state.busy = solution.busy;
    this.state.solution = solution;
    this.picture.labels = await service.labels();
    this.known.clear();
    this.picture.broken = new Set((solution.broken || []).map((b) => b.pair.slice().sort((x, y) => x - y).join()));
    await this.picture.draw();
    this.report();
    if (["clusters", "pairs"].includes(this.tab) && !$("panel").contains(document.activeElement)) this.panel();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  }

  async loadPlaces() {
    const kind = $("kind").value, x = $("x-column").value, y = $("y-column").value;
    const { settings, pairs } = this.state;
    const key = JSON.stringify([this.tableKey, kind, kind === "columns" ? [x, y] : [settings.columns, settings.standardize], kind === "pairs" ? pairs : 0]);
    if (key === this.placesKey) return this.picture.draw();
    this.placesKey = key;
    const titles = { pca: ["widest direction", "second widest"], pairs: ["most telling direction", "second most telling"], columns: [x, y] }[kind];
    try { await this.picture.setPlaces(await service.places(kind, x, y), titles); } catch (error) { this.complain(error.message); }
    return null;
  }

  // ---- what is said

  async act(...actions) {
    try { await service.act(...actions); return true; } catch (error) { this.refused(error); return false; }
  }

  refused(error) {
    if (error.status !== 409) { this.complain(error.message); this.panel(); return; }
    const { sentence, pairs, ways, names } = error.answer;
    $("conflict-sentence").textContent = sentence;
    const name = (row) => names[row] ?? row;
    $("conflict-pairs").replaceChildren(...pairs.slice(0, 12).map(([i, j, together]) => h("li", {}, `${name(i)} ${together ? "with" : "apart from"} ${name(j)}`)));
    $("conflict-ways").replaceChildren(...ways.map((way) => h("button", { onclick: async () => { $("conflict").close(); await this.act(...way.actions); } },
      way.pair ? `${way.label} “${name(way.pair[0])} – ${name(way.pair[1])}”` : way.label)));
    this.picture.blamed = pairs; this.picture.draw();
    $("conflict").showModal();
  }

  say_pairs(pairs, together) {
    if (!pairs.length) return;
    const confidence = this.confidence;
    this.act({ do: "pairs", pairs, together, confidence }).then((kept) => { if (kept) this.select([]); });
  }
  together() { const [first, ...rest] = this.selected; this.say_pairs(rest.map((row) => [first, row]), true); }
  apart() {
    if (this.firstGroup) {
      const pairs = this.firstGroup.flatMap((i) => this.selected.filter((j) => j !== i).map((j) => [i, j]));
      if (pairs.length > 10000) { this.complain(`That would be ${pairs.length} pairs; at most 10,000 at once.`); return; }
      this.firstGroup = null; this.say_pairs(pairs, false);
    } else if (this.selected.length === 2) this.say_pairs([this.selected], false);
  }

  async suggest(skip) {
    this.tab = "ask";
    try { this.question = await service.suggest(skip); } catch (error) { this.complain(error.message); return; }
    if (this.question.pair) this.select(this.question.pair);
    this.panel();
  }
  async answer(together) {
    const pair = this.question?.pair;
    if (!pair) return;
    this.question = null;
    if (together === null) { await this.suggest(pair); return; }
    if (await this.act({ do: "pairs", pairs: [pair], together, confidence: this.confidence })) await this.suggest();
  }
  async askCosts() { this.say("Finding what each pair costs…"); try { await service.costs(); } catch (error) { this.complain(error.message); } }
  async addPairsText(text) { if (text.trim()) { try { await service.sendPairs(text); } catch (error) { this.refused(error); } } }

  // ---- what is shown

  say(text) { const status = $("status"); status.textContent = text; status.classList.remove("busy"); }

  // What went wrong stays until it is read and closed, on every page.
  complain(text) {
    const shown = [...$("messages").children];
    if (shown.some((other) => other.firstChild.textContent === text)) return;
    if (shown.length >= 4) shown[0].remove();
    const message = h("div", { className: "message" }, h("span", {}, text), h("button", { onclick: () => message.remove() }, "Close"));
    $("messages").append(message);
  }

  report() {
    const { solution, busy } = this.state, parts = [];
    if (solution.clusters) {
      if (solution.n_moved !== null && solution.n_moved !== undefined) {
        const change = solution.change_of_cost;
        parts.push(`${solution.n_moved} ${solution.n_moved === 1 ? "point" : "points"} moved` + (change === null ? "" : `, cost ${Math.abs(change) < 5e-7 ? "unchanged" : panels.percent(change)}`));
      } else parts.push(`${solution.clusters.length} clusters`);
      if (solution.broken?.length) parts.push(`${solution.broken.length} soft pairs not kept`);
      if (solution.gap !== undefined) parts.push(solution.gap <= 1e-4 ? "proven: no clustering is better" : `within ${(100 * solution.gap).toFixed(2)}% of the best possible`);
    }
    if (busy) parts.push(solution.clusters ? "looking for something better…" : "working…");
    this.say(parts.join(" · "));
    $("status").classList.toggle("busy", Boolean(busy));
    $("status").dataset.busy = String(Boolean(busy));
  }

  nameOf(k) { return k === null ? "" : this.state.settings.names[k] || `cluster ${k}`; }
  panel() {
    $("tabs").replaceChildren(...TABS.map(([name, title]) => h("button", { role: "tab", id: `tab-${name}`, "aria-selected": String(this.tab === name), tabIndex: this.tab === name ? 0 : -1, onclick: () => { this.tab = name; this.panel(); },
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const at = TABS.findIndex(([other]) => other === this.tab);
        this.tab = TABS[(at + step + TABS.length) % TABS.length][0]; this.panel(); $(`tab-${this.tab}`).focus();
      } }, title)));
    $("panel").setAttribute("aria-labelledby", `tab-${this.tab}`);
    if (this.state.open) $("panel").replaceChildren(...panels[this.tab](this));
  }
  showCluster(k) { this.table.cluster = k; this.tab = "points"; this.panel(); }

  select(rows) { this.selected = [...rows]; this.picture.selected = this.selected.slice(0, 5000); this.picture.draw(); this.selectionBar(); if (this.tab === "points") this.panel(); }
  toggle(row) {
    this.selected = this.selected.includes(row) ? this.selected.filter((other) => other !== row) : [...this.selected, row];
    this.picture.selected = this.selected.slice(0, 5000); this.picture.draw(); this.selectionBar();
  }

  async selectionBar() {
    const n = this.selected.length, bar = $("selection");
    if (n === 0 && !this.firstGroup) { bar.replaceChildren(h("span", { className: "faint" }, "Click points to select them.")); return; }
    const shown = await Promise.all(this.selected.slice(0, 3).map((row) => this.describe(row)));
    if (n !== this.selected.length) return;
    const names = shown.map((entry) => entry.id).join(", ") + (n > 3 ? ` and ${n - 3} more` : "");
    bar.replaceChildren(
      h("span", {}, this.firstGroup ? `First group of ${this.firstGroup.length}; now ${n || "choose the second"}: ` : `${n} selected: `, names),
      h("button", { id: "together", disabled: n < 2 || this.firstGroup !== null, onclick: () => this.together(), title: "T" }, "Together"),
      h("button", { id: "apart", disabled: this.firstGroup ? n < 1 : n !== 2, onclick: () => this.apart(), title: "A" }, "Apart"),
      n > 2 && !this.firstGroup ? h("button", { onclick: () => { this.firstGroup = this.selected; this.select([]); } }, "Apart from…") : "",
      h("label", {}, h("span", { className: "faint" }, "I am "), h("select", { id: "confidence", onchange: (event) => { this.confidence = Number(event.target.value); } }, SURE.map(([value, text]) => h("option", { value, selected: value === this.confidence }, text)))),
      h("button", { onclick: () => { this.firstGroup = null; this.select([]); } }, "Clear"));
  }

  async describe(row) {
    if (!this.known.has(row)) { if (this.known.size > 2000) this.known.clear(); this.known.set(row, await service.row(row)); }
    return this.known.get(row);
  }
  async hover(row, event) {
    const tip = $("tip");
    this.hovered = row;
    if (row === null) { tip.hidden = true; return; }
    const entry = await this.describe(row).catch(() => null);
    if (this.hovered !== row || !entry) return;
    const shown = this.state.columns.slice(0, 12);
    tip.replaceChildren(h("strong", {}, entry.id), ` ${this.nameOf(entry.cluster)}`, h("table", {}, shown.map((name, j) => h("tr", {}, h("td", {}, name), h("td", {}, panels.number(entry.values[j]))))));
    tip.hidden = false;
    const box = $("left").getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 8);
    const top = Math.min(event.clientY - box.top + 14, box.height - tip.offsetHeight - 8);
    tip.style.left = `${Math.max(0, left)}px`; tip.style.top = `${Math.max(0, top)}px`;
  }

  fillAxes() {
    for (const [id, at] of [["x-column", 0], ["y-column", 1]]) {
      $(id).replaceChildren(...this.state.columns.map((name, j) => h("option", { value: name, selected: j === Math.min(at, this.state.columns.length - 1) }, name)));
    }
  }

  // ---- wires

  wire() {
    const on = (id, event, handler) => $(id).addEventListener(event, handler);
    on("undo", "click", () => this.act({ do: "undo" })); on("redo", "click", () => this.act({ do: "redo" }));
    on("n-clusters", "change", (event) => this.act({ do: "set", n_clusters: Number(event.target.value) }).then((kept) => { if (!kept) event.target.value = this.state.settings.n_clusters; }));
    on("kind", "change", () => { $("axes").hidden = $("kind").value !== "columns"; this.loadPlaces(); });
    on("x-column", "change", () => this.loadPlaces()); on("y-column", "change", () => this.loadPlaces());
    on("show-pairs", "change", (event) => { this.picture.showPairs = event.target.checked; this.picture.draw(); });
    on("home", "click", () => this.picture.home());
    on("mode-pan", "click", () => this.setMode("pan")); on("mode-lasso", "click", () => this.setMode("lasso"));
    on("help-button", "click", () => $("help").showModal());
    on("conflict", "close", () => { this.picture.blamed = []; this.picture.draw(); });
    on("open-demo", "click", () => service.openDemo().catch((error) => this.complain(error.message)));
    const choose = (use) => { const input = $("file"); input.value = ""; input.onchange = () => { if (input.files[0]) use(input.files[0]); }; input.click(); };
    const openTable = (file) => service.openTable(file.name, file).catch((error) => this.complain(error.message));
    const openPairs = (file) => service.sendPairs(file).catch((error) => this.refused(error));
    on("open-file", "click", () => choose(openTable)); on("open-other", "click", () => choose(openTable)); on("open-pairs", "click", () => choose(openPairs));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer.files[0];
      if (file) (this.state.open ? openPairs : openTable)(file);
    });
    let timer = 0;
    on("find", "input", (event) => { clearTimeout(timer); timer = setTimeout(() => this.find(event.target.value), 150); });
    on("find", "keydown", (event) => { if (event.key === "Escape") { $("found").hidden = true; event.target.blur(); } });
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.picture.resize()).observe($("picture"));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.picture.draw());
  }

  setMode(mode) {
    this.picture.setMode(mode);
    $("mode-pan").setAttribute("aria-pressed", String(mode === "pan")); $("mode-lasso").setAttribute("aria-pressed", String(mode === "lasso"));
  }

  async find(text) {
    const list = $("found");
    if (!text.trim()) { list.hidden = true; return; }
    const rows = await service.find(text.trim());
    list.replaceChildren(...(rows.length ? rows.map((entry) => h("li", {}, h("button", { onclick: () => { list.hidden = true; $("find").value = ""; this.toggle(entry.row); } }, `${entry.id} (${this.nameOf(entry.cluster)})`))) : [h("li", { className: "faint" }, "No such id.")]));
    list.hidden = false;
  }

  key(event) {
    const typing = /^(input|textarea|select)$/i.test(event.target.tagName) && event.target.type !== "checkbox";
    if ((event.ctrlKey || event.metaKey) && !typing) {
      const key = event.key.toLowerCase();
      if (key === "z" || key === "y") { event.preventDefault(); this.act({ do: key === "y" || event.shiftKey ? "redo" : "undo" }); }
      return;
    }
    if (typing || event.altKey || event.ctrlKey || !this.state.open || document.querySelector("dialog[open]")) return;
    const asked = this.tab === "ask" && this.question?.pair;
    const does = {
      t: () => this.together(), a: () => this.apart(), s: () => this.suggest(), l: () => this.setMode("lasso"), m: () => this.setMode("pan"),
      "/": () => $("find").focus(), escape: () => { this.firstGroup = null; this.select([]); },
      y: () => asked && this.answer(true), n: () => asked && this.answer(false), "?": () => asked && this.answer(null),
    }[event.key.toLowerCase()];
    if (does) { event.preventDefault(); does(); }
  }
}

window.studio = new App();
