// The page: what is selected, what is shown; the server knows the rest.

import { Picture } from "./picture.js";
import * as panels from "./panels.js";
import * as service from "./service.js";
import { brief, h, percent, ranked, value } from "./cards.js";

const $ = (id) => document.getElementById(id);
const TABS = [["clusters", "Clusters"], ["columns", "Columns"], ["pairs", "Pairs"], ["points", "Points"], ["ask", "Ask"], ["settings", "Settings"]];
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
    this.changes = [];
    this.wire();
    service.listen({
      state: (state) => this.take(state),
      solution: (solution) => this.takeSolution(solution),
      proof: (proof) => { this.state.solution.gap = proof.gap; this.report(); },
      costs: (rows) => { this.costs = new Map(rows.map((row) => [row.pair.slice().sort((a, b) => a - b).join(), row])); this.panel(); },
      progress: (progress) => { this.progress = progress; this.report(); },
      k_progress: ({ k, of }) => { if ($("answer").open) $("answer-body").textContent = `Trying ${k} clusters (at most ${of})…`; },
      failed: (failure) => this.complain(failure.sentence),
    }, (lost) => {
      if (lost !== null) this.complain(service.SILENT);
      else { for (const message of $("messages").children) if (message.firstChild.textContent === service.SILENT) message.remove(); if (this.lost) this.report(); }
      this.lost = lost !== null;
    });
  }

  // ---- what comes from the server

  async take(state) {
    const table = [state.folder, state.title, state.n_points].join();
    const other = table !== this.tableKey;
    this.tableKey = table;
    this.state = state;
    $("welcome").hidden = state.open; $("work").hidden = !state.open; $("tools").hidden = !state.open;
    $("folder").textContent = state.folder;
    if (!state.open) return;
    document.title = `${state.title} – smdeclust studio`;
    $("title").textContent = state.title;
    if (document.activeElement !== $("n-clusters")) $("n-clusters").value = state.settings.n_clusters;
    $("loading").hidden = true;
    $("undo").disabled = !state.can_undo; $("redo").disabled = !state.can_redo;
    if (other) { this.selected = []; this.question = null; this.known.clear(); this.picture.labels = null; this.picture.forward = null; this.placesKey = null; this.advice = ""; this.changes = []; $("kind").value = "pca"; $("axes").hidden = true; this.fillAxes(); this.picture.resize(); }
    if (this.columnsKey !== state.columns.join("\n")) { this.columnsKey = state.columns.join("\n"); this.known.clear(); this.fillAxes(); }
    this.costs = null;
    this.picture.pairs = state.pairs; this.picture.names = state.settings.names; this.picture.blamed = [];
    // The map may take a while: everything else is shown meanwhile.
    if ($("kind").value === "map") this.loadPlaces(); else await this.loadPlaces();
    if (state.solution.clusters) await this.takeSolution(state.solution); else this.report();
    this.panel(); this.selectionBar();
  }

  async takeSolution(solution) {
    if ("busy" in solution) this.state.busy = solution.busy;
    if (!this.state.busy) this.progress = null;
    this.state.solution = solution;
    this.picture.labels = await service.labels();
    this.known.clear();
    this.picture.broken = new Set((solution.broken || []).map((b) => b.pair.slice().sort((x, y) => x - y).join()));
    await this.picture.draw();
    if (this.answering && solution.final) {
      this.answering = false;
      this.changes = [...this.changes, solution.n_moved ?? 0].slice(-20);
      const moved = this.changes.reduce((sum, n) => sum + n, 0), n = this.changes.length;
      this.advice = n >= 5 ? `Your last ${n} answers moved ${moved} ${moved === 1 ? "point" : "points"}.${moved <= Math.max(2, this.state.n_points / 500) ? " More answers will hardly change anything." : ""}` : "";
    }
    this.report();
    if (["clusters", "pairs"].includes(this.tab) && !$("panel").contains(document.activeElement)) this.panel();
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  }

  async loadPlaces() {
    const kind = $("kind").value, x = $("x-column").value, y = $("y-column").value;
    const { settings, pairs, labelled } = this.state;
    const key = JSON.stringify([this.tableKey, kind, kind === "columns" ? [x, y] : [settings.columns, settings.standardize, settings.roles], kind === "pairs" ? [pairs, labelled] : 0]);
    if (key === this.placesKey) return this.picture.draw();
    this.placesKey = key;
    this.mapping = kind === "map";
    if (this.mapping) this.report();
    try {
      const [place, axes] = await service.places(kind, x, y);
      if (key === this.placesKey) await this.picture.setPlaces(place, axes); // otherwise something else is wanted by now
    } catch (error) {
      if (key !== this.placesKey) return null;
      this.complain(error.message);
      this.placesKey = null;
      if (kind === "map") { $("kind").value = "pca"; this.mapping = false; return this.loadPlaces(); }
    }
    if (this.mapping) { this.mapping = false; this.report(); }
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
      way.pair ? `${way.label} “${name(way.pair[0])} – ${name(way.pair[1])}”` : "row" in way ? `${way.label} “${name(way.row)}”` : way.label)));
    this.picture.blamed = pairs; this.picture.draw();
    $("conflict").showModal();
  }

  say_pairs(pairs, together) {
    if (!pairs.length) return;
    const confidence = this.confidence;
    this.act({ do: "pairs", pairs, together, confidence, by: this.who }).then((kept) => { if (kept) this.select([]); });
  }
  together() { const [first, ...rest] = this.selected; this.say_pairs(rest.map((row) => [first, row]), true); }
  apart() {
    if (this.firstGroup) {
      const pairs = this.firstGroup.flatMap((i) => this.selected.filter((j) => j !== i).map((j) => [i, j]));
      if (pairs.length > 10000) { this.complain(`That would be ${pairs.length} pairs. You can add at most 10,000 at once.`); return; }
      this.firstGroup = null; this.say_pairs(pairs, false);
    } else if (this.selected.length === 2) this.say_pairs([this.selected], false);
  }

  label() {
    const rows = this.selected;
    const known = [...new Set([...Object.values(this.state.settings.names), ...this.state.labelled.map(([, name]) => name)])];
    if (rows.length) this.askText(`Which cluster ${rows.length === 1 ? "does this point" : `do these ${rows.length} points`} belong to?`, "", (name) => name && this.act({ do: "label", rows, name }).then((kept) => { if (kept) this.select([]); }), known);
  }
  get who() { return localStorage.getItem("who") || ""; }
  set who(name) { localStorage.setItem("who", name); }

  askText(title, text, use, known = []) {
    const input = h("input", { type: "text", value: text, maxLength: 500, "aria-label": title, list: "known" });
    const send = () => { $("answer").close(); use(input.value.trim()); };
    input.setAttribute("list", "known");
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); send(); } });
    this.showAnswer(title, [h("p", {}, input, " ", h("button", { className: "primary", onclick: send }, "Save")), h("datalist", { id: "known" }, known.map((name) => h("option", { value: name }))), known.length ? h("div", { className: "ways" }, known.slice(0, 24).map((name) => h("button", { onclick: () => { input.value = name; send(); } }, name))) : ""]);
    input.focus();
  }
  showAnswer(title, body) { $("answer-title").textContent = title; $("answer-body").replaceChildren(...[body].flat(Infinity)); if (!$("answer").open) $("answer").showModal(); }

  async why() {
    const [row] = this.selected;
    if (this.selected.length !== 1) return;
    try {
      const [entry, found] = [await this.describe(row), await service.why(row)];
      const own = found.cluster, [first] = found.nearest, name = (k) => this.nameOf(k);
      const near = found.nearest.find(([k]) => k === own)?.[1], second = found.nearest.find(([k]) => k !== own);
      let sentence;
      if (found.by_shape) sentence = "Clusters were found by their shape, so the distances to the centers alone do not decide.";
      else if (first[0] === own) sentence = second ? `The center of ${name(own)} is the closest; that of ${name(second[0])} comes next${near > 0 ? `, ${percent(second[1] / near - 1).replace("+", "")} farther away` : ""}.` : "There is only one cluster.";
      else sentence = `The center of ${name(first[0])} is closer, but ${found.pairs.length ? "the point’s pairs keep it" : "bounds or the pairs of other points keep this point"} in ${name(own)}.`;
      const change = first[0] === own ? second && `A must-link to a point of ${name(second[0])}, or a label, would move it there.` : found.pairs.length ? "To let the point move, remove the pairs below or make them soft." : "";
      this.showAnswer(`Why is ${entry.id} in ${name(own)}?`, [h("p", {}, sentence), change ? h("p", { className: "faint" }, change) : "",
        h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Cluster"), h("th", {}, "Distance to its center"))), h("tbody", {}, found.nearest.map(([k, distance]) => h("tr", {}, h("td", {}, name(k)), h("td", { className: "right" }, brief(distance)))))),
        found.pairs.length ? [h("h3", {}, "Pairs and labels that keep it there"), h("ul", {}, found.pairs.map(([other, together, confidence]) => h("li", {}, `${together ? "with" : "apart from"} ${found.names[other]}${confidence < 1 ? ` (${Math.round(100 * confidence)}% sure)` : ""}`)))] : h("p", { className: "faint" }, "This point is in no pair.")]);
    } catch (error) { this.complain(error.message); }
  }

  async chooseK() {
    this.showAnswer("How many clusters?", h("p", { className: "faint" }, "Trying several numbers of clusters…"));
    try {
      const { k, reason, table } = await service.chooseK();
      const by = table.some((row) => row.kept !== null) ? "kept" : "stability", rows = table.filter((row) => row[by] !== null);
      const label = { kept: "share of held-out pairs that are satisfied", stability: "agreement between samples of the points" }[by];
      const width = 360, height = 150, x = (row) => 30 + ((row.k - rows[0].k) / Math.max(1, rows.at(-1).k - rows[0].k)) * (width - 50), y = (row) => 10 + (1 - Math.max(0, row[by])) * (height - 40);
      const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), part = (tag, given, text) => { const element = document.createElementNS(space, tag); for (const [name, own] of Object.entries(given)) element.setAttribute(name, own); if (text !== undefined) element.textContent = text; svg.append(element); };
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`); svg.setAttribute("role", "img"); svg.setAttribute("aria-label", `${label} for each number of clusters`); svg.setAttribute("class", "curve");
      part("path", { d: rows.map((row, m) => `${m ? "L" : "M"}${x(row)} ${y(row)}`).join(""), fill: "none", stroke: "currentColor" });
      for (const row of rows) { part("circle", { cx: x(row), cy: y(row), r: row.k === k ? 6 : 3, fill: "currentColor" }); part("text", { x: x(row), y: height - 8, "text-anchor": "middle" }, row.k); }
      this.showAnswer("How many clusters?", [h("p", {}, reason), svg, h("p", { className: "faint" }, `Height: ${label}.`), ...table.filter((row) => row.note).map((row) => h("p", { className: "faint" }, `${row.k}: ${row.note}`)),
        h("button", { className: "primary", onclick: () => { $("answer").close(); this.act({ do: "set", n_clusters: k }); } }, `Use ${k} clusters`)]);
    } catch (error) { $("answer").close(); this.complain(error.message); }
  }

  async savePicture(kind) {
    const blob = kind === "png" ? await this.picture.toPNG() : this.picture.toSVG();
    const link = h("a", { href: URL.createObjectURL(blob), download: `clusters.${kind}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // A question is about rows: a pair, or a point followed by one of each cluster that it may be in.
  async suggest(by = "pair", skip = []) {
    this.tab = "ask";
    try { this.question = await service.suggest(by, skip); } catch (error) { this.complain(error.message); return; }
    if (this.question.asked) this.select(this.question.asked.slice(0, this.question.by_label ? 1 : 2));
    this.panel();
  }
  // To a pair: true (same), false; to a point: the place of its cluster in the list, or false (none of them). null: don't know.
  async answer(told) {
    if (!this.question?.asked) return;
    const { asked: [row, ...others], by_label } = this.question, by = by_label ? "label" : "pair", all = others.map((other) => [row, other]);
    if (by_label && typeof told === "number" && !all[told]) return;
    this.question = null;
    if (told === null) { await this.suggest(by, all); return; }
    this.answering = true;
    const pairs = typeof told === "number" ? [all[told]] : all;
    if (await this.act({ do: "pairs", pairs, together: told !== false, confidence: this.confidence, by: this.who })) await this.suggest(by);
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
        parts.push(`${solution.n_moved} ${solution.n_moved === 1 ? "point" : "points"} moved` + (change === null ? "" : `, objective ${Math.abs(change) < 5e-7 ? "unchanged" : percent(change)}`));
      } else parts.push(`${solution.clusters.length} clusters`);
      if (solution.broken?.length) parts.push(`${solution.broken.length} broken soft ${solution.broken.length === 1 ? "pair" : "pairs"}`);
      if (solution.gap !== undefined) parts.push(solution.gap <= 1e-4 ? "proven: no clustering is better" : `within ${(100 * solution.gap).toFixed(2)}% of the best possible`);
    }
    const { progress } = this;
    if (busy) parts.push(solution.clusters ? `looking for better clusters…${progress ? ` ${Math.round(progress.seconds)} s of at most ${progress.of} s` : ""}` : "looking for the first clusters…");
    if (this.mapping) parts.push("computing the neighborhood map…");
    this.say(parts.join(" · "));
    $("stop").hidden = !(busy && solution.clusters);
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
  show(tab) { this.tab = tab; this.panel(); }
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
      h("span", {}, this.firstGroup ? `${this.firstGroup.length} points apart from ${n ? `${n} selected: ` : "which points? Select them."}` : `${n} selected: `, names),
      h("button", { id: "together", disabled: n < 2 || this.firstGroup !== null, onclick: () => this.together(), title: "T" }, "Together"),
      h("button", { id: "apart", disabled: this.firstGroup ? n < 1 : n !== 2, onclick: () => this.apart(), title: "A" }, "Apart"),
      n > 0 && !this.firstGroup ? h("button", { id: "label", onclick: () => this.label(), title: "Say which cluster the selected points belong to" }, "Label…") : "",
      n === 1 && !this.firstGroup ? h("button", { id: "why", onclick: () => this.why(), title: "W" }, "Why here?") : "",
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
    const order = ranked(this, entry), shown = order.slice(0, 12);
    tip.replaceChildren(h("strong", {}, entry.id), ` ${this.nameOf(entry.cluster)}`, h("table", { className: "values" }, h("tbody", {}, shown.map((j) => h("tr", {}, h("th", { scope: "row" }, this.state.columns[j]), h("td", {}, value(this, entry, j)))))), order.length > 12 ? h("span", { className: "faint" }, `and ${order.length - 12} more`) : "");
    tip.hidden = false;
    const box = $("left").getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 8);
    const top = Math.min(event.clientY - box.top + 14, box.height - tip.offsetHeight - 8);
    tip.style.left = `${Math.max(0, left)}px`; tip.style.top = `${Math.max(0, top)}px`;
  }

  fillAxes() {
    for (const [id, at] of [["x-column", 0], ["y-column", 1]]) {
      const axes = this.state.columns.filter((name) => !this.state.pictures.includes(name)), before = $(id).value, chosen = axes.includes(before) ? before : axes[Math.min(at, axes.length - 1)];
      $(id).replaceChildren(...axes.map((name) => h("option", { value: name, selected: name === chosen }, name)));
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
    on("show-names", "change", (event) => { this.picture.showNames = event.target.checked; this.picture.draw(); });
    on("stop", "click", () => service.stop().catch((error) => this.complain(error.message)));
    on("choose-k", "click", () => this.chooseK());
    on("save-png", "click", () => this.savePicture("png")); on("save-svg", "click", () => this.savePicture("svg"));
    on("open-path", "submit", (event) => { event.preventDefault(); reading(service.openPath($("path").value, $("sheet-name").value)); });
    on("home", "click", () => this.picture.home());
    on("mode-pan", "click", () => this.setMode("pan")); on("mode-lasso", "click", () => this.setMode("lasso"));
    on("help-button", "click", () => $("help").showModal());
    on("conflict", "close", () => { this.picture.blamed = []; this.picture.draw(); });
    const reading = (opened) => { $("loading").hidden = false; return opened.catch((error) => this.complain(error.message)).finally(() => { $("loading").hidden = true; }); };
    on("open-demo", "click", () => reading(service.openDemo()));
    const choose = (use) => { const input = $("file"); input.value = ""; input.onchange = () => { if (input.files[0]) use(input.files[0]); }; input.click(); };
    const openTable = (file) => reading(service.openTable(file.name, file));
    const openPairs = (file) => service.sendPairs(file).catch((error) => this.refused(error));
    on("open-file", "click", () => choose(openTable)); on("open-other", "click", () => { $("open-menu").open = false; choose(openTable); }); on("open-pairs", "click", () => choose(openPairs));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer.files[0];
      if (!file) return;
      if (!this.state.open) openTable(file);
      else this.showAnswer(`What is ${file.name}?`, h("div", { className: "ways" }, [["Pairs for this table", openPairs], ["Another table", openTable]].map(([text, use]) => h("button", { onclick: () => { $("answer").close(); use(file); } }, text))));
    });
    let timer = 0;
    on("find", "input", (event) => { clearTimeout(timer); timer = setTimeout(() => this.find(event.target.value), 150); });
    on("find", "keydown", (event) => { if (event.key === "Escape") { $("found").hidden = true; event.target.blur(); } });
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.picture.resize()).observe($("picture"));
    for (const menu of document.querySelectorAll("details.menu")) document.addEventListener("click", (event) => { if (!menu.contains(event.target) || event.target.closest("a, button")) menu.open = false; });
  }

  setMode(mode) {
    this.picture.setMode(mode);
    $("mode-pan").setAttribute("aria-pressed", String(mode === "pan")); $("mode-lasso").setAttribute("aria-pressed", String(mode === "lasso"));
  }

  async find(text) {
    const list = $("found");
    if (!text.trim()) { list.hidden = true; return; }
    const rows = await service.find(text.trim());
    list.replaceChildren(...(rows.length ? rows.map((entry) => h("li", {}, h("button", { onclick: () => { list.hidden = true; $("find").value = ""; this.toggle(entry.row); } }, `${entry.id} (${this.nameOf(entry.cluster)})`))) : [h("li", { className: "faint" }, "Nothing found.")]));
    list.hidden = false;
  }

  key(event) {
    const typing = /^(input|textarea|select)$/i.test(event.target.tagName) && !["checkbox", "range"].includes(event.target.type);
    if ((event.ctrlKey || event.metaKey) && !typing) {
      const key = event.key.toLowerCase();
      if (key === "z" || key === "y") { event.preventDefault(); this.act({ do: key === "y" || event.shiftKey ? "redo" : "undo" }); }
      return;
    }
    if (typing || event.altKey || event.ctrlKey || !this.state.open || document.querySelector("dialog[open]")) return;
    const asked = this.tab === "ask" && this.question?.asked, byLabel = asked && this.question.by_label;
    const does = {
      w: () => this.why(), t: () => this.together(), a: () => this.apart(), s: () => this.suggest(), l: () => this.setMode("lasso"), m: () => this.setMode("pan"),
      "/": () => $("find").focus(), escape: () => { this.firstGroup = null; this.select([]); },
      q: () => this.suggest("label"), y: () => asked && !byLabel && this.answer(true), n: () => asked && this.answer(false), "?": () => asked && this.answer(null),
    }[event.key.toLowerCase()] || (byLabel && /^[1-9]$/.test(event.key) && (() => this.answer(Number(event.key) - 1)));
    if (does) { event.preventDefault(); does(); }
  }
}

window.studio = new App();
