// The panels beside the picture. All text goes in as text, never as HTML.

import * as service from "./service.js";
import { brief, h, number, table as valuesOf, value } from "./cards.js";
import { mark } from "./looks.js";

const ROLES = ["number", "category", "yes/no", "date", "text", "id", "class", "weight", "left out"];

export function clusters(app) {
  const { settings, solution, columns, sheet } = app.state;
  const used = sheet.filter((column) => column.counts).length;
  const intro = h("p", { className: "faint" }, app.state.has_vectors ? "The points are vectors from a file, and the columns are only displayed. " : `${used} of ${sheet.length} columns are used. `, h("button", { onclick: () => app.show("columns") }, "Columns"));
  if (!solution.clusters) return [intro, h("p", { className: "faint" }, "Looking for the first clusters…")];
  const bounds = (size) => (size === settings.size_min || size === settings.size_max ? " (at its bound)" : "");
  const notes = (solution.notes || []).map((note) => h("p", { className: "faint" }, note));
  return [intro, ...notes, ...solution.clusters.map((cluster, k) => {
    const known = cluster.profile.map((by, j) => [Math.abs(by ?? 0), j, by]).filter(([, , by]) => by !== null);
    const most = Math.max(1e-9, 2, ...known.map(([size]) => size));
    return h("div", { className: "card" },
      h("div", { className: "head" }, mark(k),
        h("input", { value: settings.names[k] || "", placeholder: `cluster ${k}`, maxLength: 80, "aria-label": `Name of cluster ${k}`, onchange: (event) => app.act({ do: "name", cluster: k, name: event.target.value }) }),
        h("span", {}, `${cluster.size} points${bounds(cluster.size)}`),
        h("button", { onclick: () => app.picture.setForward(k), title: "Highlight it in the plot", "aria-label": `Highlight cluster ${k}` }, "Show"),
        h("button", { onclick: () => app.showCluster(k), title: "Show its points in the table" }, "Points")),
      h("p", { className: "faint", style: "margin:.4rem 0 0" }, cluster.apart.length ? ["Set apart by ", cluster.apart.map((a) => (/^[a-z]+$/.test(a.words) ? `${a.words} ${a.column}` : `${a.column} ${a.words}`)).join(", "), "."] : "Close to the average in every column."),
      h("div", { className: "profile" }, known.sort((a, b) => b[0] - a[0]).slice(0, 8).map(([, j, by]) => {
        const width = Math.min(50, (50 * Math.abs(by)) / most);
        return [h("span", { className: "name" }, columns[j]),
          h("span", { className: "track", title: `${number(by)} standard deviations from the mean of all points` }, h("i", { className: by < 0 ? "low" : "", style: `left:${by < 0 ? 50 - width : 50}%;width:${width}%` })),
          h("span", { className: "right" }, brief(cluster.means[j]))];
      })));
  })];
}

export function columns(app) {
  const { sheet, settings, reading, pages, page, has_vectors: vectors } = app.state, counted = new Set(settings.columns);
  const setRole = (name, role) => {
    const roles = { ...settings.roles };
    if (role) roles[name] = role; else delete roles[name];
    return app.act({ do: "set", roles });
  };
  return [
    ...reading.map((note) => h("p", { className: "faint" }, note)),
    pages.length > 1 ? h("p", {}, h("label", {}, "Sheet ", h("select", { id: "page", onchange: (event) => service.openSheet(event.target.value).catch((error) => { app.complain(error.message); app.panel(); }) }, pages.map((name) => h("option", { value: name, selected: name === page }, name))))) : "",
    h("p", {}, "This list shows the role of each column, the reason for it, and what is done with the column. Change a role if it is wrong, and uncheck a column that should not be used."),
    h("ul", { className: "sheet" }, sheet.map((column) => h("li", {},
      h("div", { className: "head" },
        vectors ? "" : h("input", { type: "checkbox", checked: column.counts, disabled: !column.feature && column.role !== "text", "aria-label": `Use ${column.name}`, onchange: (event) => {
          if (!column.feature) { setRole(column.name, "text"); return; }
          const kept = settings.columns.filter((name) => name !== column.name);
          app.act({ do: "set", columns: event.target.checked ? [...kept, column.name] : kept });
        } }),
        h("strong", {}, column.name),
        h("select", { "aria-label": `Role of ${column.name}`, onchange: (event) => setRole(column.name, event.target.value) }, ROLES.map((role) => h("option", { value: role, selected: role === column.role }, role))),
        column.name in settings.roles ? h("button", { onclick: () => setRole(column.name, null), title: "Back to the guess" }, "Guess") : ""),
      h("p", { className: "faint" }, `${column.why}; ${column.done}.`, column.example !== "" ? ` For example: ${String(brief(column.example)).slice(0, 60)}.` : "", column.missing && !column.feature ? ` ${column.missing} missing.` : "", !counted.has(column.name) && column.feature ? " Not used." : "")))),
  ];
}

export function pairs(app) {
  const { state, costs } = app;
  const broken = new Map((state.solution.broken || []).map((b) => [b.pair.join(), b.cost]));
  const list = state.pairs.map((pair, m) => [pair, state.pair_ids[m], state.pair_notes[m]]).reverse();
  if (costs) list.sort((a, b) => (costs.get(b[0].slice(0, 2).join())?.saving ?? 0) - (costs.get(a[0].slice(0, 2).join())?.saving ?? 0));
  const rows = list.slice(0, 500).map(([[i, j, together, confidence], [a, b], [note, by]]) => {
    const key = `${i},${j}`, cost = costs?.get(key), again = (more) => app.act({ do: "pairs", pairs: [[i, j]], together, confidence, note, by, ...more });
    return h("li", { className: broken.has(key) ? "bad" : "" },
      h("span", {}, `${a} ${together ? "with" : "apart from"} ${b}`,
        confidence < 1 ? h("em", { className: "faint" }, ` ${confidence > 0.99 ? "almost certain" : `${Math.round(100 * confidence)}% sure`}`) : "",
        broken.has(key) ? " — broken" : "",
        cost ? h("em", { className: "faint" }, ` without it: ${cost.saving > 0 ? `cost lower by ${number(cost.saving)}; ${cost.moved} ${cost.moved === 1 ? "point moves" : "points move"}` : "the same"}`) : "",
        note || by ? h("em", { className: "faint" }, ` ${[note, by && `(${by})`].filter(Boolean).join(" ")}`) : ""),
      h("button", { onclick: () => app.select([i, j]), title: "Show in the plot" }, "Show"),
      h("button", { onclick: () => app.askText("Note on this pair", note, (text) => again({ note: text, by: app.who })) }, "Note"),
      confidence === 1 ? h("button", { onclick: () => again({ confidence: 0.9 }), title: "It may then be broken, at a price" }, "Make soft") : h("button", { onclick: () => again({ confidence: 1 }) }, "Make hard"),
      h("button", { onclick: () => app.act({ do: "drop", pairs: [[i, j]] }), "aria-label": `Remove the pair ${a}, ${b}` }, "Remove"));
  });
  const byLabel = new Map();
  for (const [row, name] of state.labelled) byLabel.set(name, [...(byLabel.get(name) || []), row]);
  const area = h("textarea", { rows: 4, placeholder: "i,j,type\nann,bob,ml\nann,eve,cl", "aria-label": "Pairs as text" });
  return [
    h("p", {}, `${state.n_pairs} ${state.n_pairs === 1 ? "pair" : "pairs"}. `, state.n_pairs ? h("button", { onclick: () => app.askCosts() }, "What does each cost?") : ""),
    h("ul", { className: "pairs" }, rows),
    state.n_pairs > 500 ? h("p", { className: "faint" }, "The first 500 pairs are listed. All pairs are used.") : "",
    byLabel.size ? [h("h3", {}, "Labels"), h("ul", { className: "pairs" }, [...byLabel].map(([name, own]) => h("li", {}, h("span", {}, `${name}: ${own.length} ${own.length === 1 ? "point" : "points"}`),
      h("button", { onclick: () => app.select(own) }, "Show"), h("button", { onclick: () => app.act({ do: "label", rows: own, name: "" }), "aria-label": `Remove the label ${name}` }, "Remove"))))] : "",
    h("h3", {}, "Paste pairs"), area,
    h("p", {}, h("button", { onclick: () => app.addPairsText(area.value) }, "Add"), h("span", { className: "faint" }, " or drop a file of pairs anywhere on the page.")),
  ].flat();
}

export function points(app) {
  const table = app.table;
  const holder = h("div", {});
  const load = async (start) => {
    const values = { sort: table.sort, descending: table.descending ? 1 : 0, start };
    if (table.cluster !== null) values.cluster = table.cluster;
    const page = await service.rows(values);
    const heads = ["id", "cluster", ...app.state.columns];
    const sortBy = (name) => () => { table.descending = table.sort === name && !table.descending; table.sort = name; load(0); };
    holder.replaceChildren(
      h("p", {}, `${page.n_rows} points`, table.cluster !== null ? [` in ${app.nameOf(table.cluster)} `, h("button", { onclick: () => { table.cluster = null; load(0); } }, "Show all")] : "", ". Check points to select them."),
      h("div", { className: "scroll" }, h("table", { className: "points" },
        h("thead", {}, h("tr", {}, h("th", {}, h("span", { className: "hidden" }, "Select")), heads.map((name) => h("th", { "aria-sort": table.sort === name ? (table.descending ? "descending" : "ascending") : "none" }, h("button", { onclick: sortBy(name) }, name, table.sort === name ? (table.descending ? " ↓" : " ↑") : ""))))),
        h("tbody", {}, page.rows.map((entry) => {
          const chosen = app.selected.includes(entry.row);
          return h("tr", { className: chosen ? "chosen" : "" },
            h("td", {}, h("input", { type: "checkbox", checked: chosen, "aria-label": `Select ${entry.id}`, onchange: () => { app.toggle(entry.row); } })),
            h("td", {}, entry.id), h("td", {}, app.nameOf(entry.cluster)), entry.values.map((own, j) => h("td", { className: typeof own === "number" ? "right" : "" }, value(app, entry, j))));
        })))),
      h("p", {}, h("button", { disabled: start === 0, onclick: () => load(Math.max(0, start - 200)) }, "Previous"), " ", h("button", { disabled: start + page.rows.length >= page.n_rows, onclick: () => load(start + 200) }, "Next")));
  };
  load(0).catch((error) => app.complain(error.message));
  return [holder];
}

export function ask(app) {
  const { question } = app;
  const button = (by, text, key) => h("button", { className: "primary", onclick: () => app.suggest(by), title: key }, text);
  const intro = h("div", {}, h("p", {}, "The studio asks the question whose answer would help most: about two points, or about one point and an example from each cluster."), h("div", { className: "ways" }, button("pair", "Same or different?", "S"), button("label", "Which cluster is it in?", "Q")));
  const advice = app.advice ? h("p", { className: "faint" }, app.advice) : "";
  if (!question) return [intro, advice];
  if (!question.asked) return [intro, h("p", {}, "No question is left whose answer would change much."), advice];
  const [first, ...others] = question.rows;
  const card = (entry, other, ...more) => h("div", { className: "card" }, h("strong", {}, entry.id), h("span", { className: "faint" }, ` in ${app.nameOf(entry.cluster)}`), valuesOf(app, entry, other, more.length ? 6 : 14), more);
  const way = (told, text) => h("button", { onclick: () => app.answer(told) }, text);
  if (!question.by_label) return [intro, h("p", {}, question.reason), h("div", { className: "question" }, card(first, others[0]), card(others[0], first)), h("div", { className: "ways" }, way(true, "Same (Y)"), way(false, "Different (N)"), way(null, "Don’t know (?)")), advice];
  return [intro, h("p", {}, question.reason), h("h3", {}, "This point"), card(first), h("h3", {}, "belongs with"),
    h("div", { className: "question", role: "group", "aria-label": "Clusters that it may be in" }, others.map((other, m) => card(other, first, h("p", {}, way(m, `This one${m < 9 ? ` (${m + 1})` : ""}`))))),
    h("div", { className: "ways" }, way(false, "None of these (N)"), way(null, "Don’t know (?)")), advice];
}

export function settings(app) {
  const { settings: given, n_points: n, has_vectors: vectors } = app.state, k = given.n_clusters;
  const whole = (text) => (text === "" ? null : Number(text));
  // Between them any size is possible: no cluster can be forced above N / K, none kept below it.
  const size = (name, label, low, high, none) => h("p", { className: "size" }, h("label", {}, `${label} `, h("input", { type: "number", min: 0, max: n, value: given[name] ?? "", placeholder: "any", id: name, onchange: (event) => app.act({ do: "set", [name]: whole(event.target.value) }) })),
    h("input", { type: "range", min: low, max: high, value: given[name] ?? none, "aria-label": `${label}, by a slider`, oninput: (event) => { document.getElementById(name).value = Number(event.target.value) === none ? "" : event.target.value; }, onchange: (event) => app.act({ do: "set", [name]: Number(event.target.value) === none ? null : Number(event.target.value) }) }));
  return [
    h("fieldset", {}, h("legend", {}, "Size of every cluster"), size("size_min", "At least", 0, Math.floor(n / k), 0), size("size_max", "At most", Math.ceil(n / k), n, n),
      h("p", { className: "faint" }, `With ${n} points in ${k} clusters, “At least” can be ${Math.floor(n / k)} or less, and “At most” can be ${Math.ceil(n / k)} or more.`)),
    quotas(app),
    h("fieldset", {}, h("legend", {}, "Distance"),
      vectors ? "" : h("p", {}, h("label", {}, h("input", { type: "checkbox", checked: given.standardize, id: "standardize", onchange: (event) => app.act({ do: "set", standardize: event.target.checked }) }), " scale all columns alike")),
      h("p", {}, h("label", {}, "Directions that count ", h("select", { id: "metric", onchange: (event) => app.act({ do: "set", metric: event.target.value }) },
        [["euclidean", "all columns equally"], ["diagonal", "a weight for each column, learned from pairs"], ["learned", "directions learned from pairs"], ["auto", "directions learned from pairs, if they help"], ["shapes", "find shapes too (guided by pairs, slower)"]].map(([name, text]) => h("option", { value: name, selected: given.metric === name }, text)))))),
    h("fieldset", {}, h("legend", {}, "You"), h("p", {}, h("label", {}, "Your name, for notes on pairs ", h("input", { type: "text", value: app.who, maxLength: 80, onchange: (event) => { app.who = event.target.value.trim(); } })))),
    h("p", { className: "faint" }, `Saved in ${app.state.folder}`),
  ];
}

// What every cluster must hold: a share or number of points of a value, or a sum or mean of numbers.
const UNITS = { share: "% of its points", count: "points", sum: "in total", mean: "on average" };

function quotas(app) {
  const { settings: given, sheet } = app.state, list = given.quotas;
  const columns = sheet.filter((column) => column.amount || column.levels.length);
  const shown = (quota, bound) => (quota.of === "share" ? number(100 * bound) : number(bound));
  const words = (quota) => {
    const { low, high, of, column, value: own } = quota, what = own === null ? (UNITS[of] && ["share", "count"].includes(of) ? `every value of ${column}` : column) : `${column} ${own}`;
    const span = low === null ? `at most ${shown(quota, high)}` : high === null ? `at least ${shown(quota, low)}` : `${shown(quota, low)} to ${shown(quota, high)}`;
    return `${what}: ${span}${of === "share" ? "" : " "}${UNITS[of]}`;
  };
  const field = (label, element) => h("label", {}, `${label} `, element);
  const column = h("select", { id: "quota-column", onchange: () => fill() }, columns.map(({ name }) => h("option", { value: name }, name)));
  const own = h("select", { id: "quota-value" }), unit = h("select", { id: "quota-unit", "aria-label": "What is bounded" });
  const low = h("input", { type: "number", step: "any", id: "quota-low", placeholder: "any" }), high = h("input", { type: "number", step: "any", id: "quota-high", placeholder: "any" });
  const slider = (input, label) => h("input", { type: "range", step: "any", "aria-label": `${label}, by a slider`, oninput: (event) => { input.value = event.target.value === event.target.dataset.none ? "" : number(Number(event.target.value)); } });
  const lows = slider(low, "Quota at least"), highs = slider(high, "Quota at most"), possible = h("p", { className: "faint" });
  // A bound for every cluster is at most, or at least, what all points have on average.
  const bound = () => {
    const chosen = columns.find(({ name }) => name === column.value), { n_points: n } = app.state, k = given.n_clusters;
    if (!chosen) return;
    const [least, mean, most] = chosen.range ?? [0, 0, 0], counts = chosen.level_counts, at = chosen.levels.indexOf(own.value);
    const [few, many] = at < 0 ? [Math.min(...counts), Math.max(...counts)] : [counts[at], counts[at]];
    const [from, low_most, high_least, to] = { share: [0, (100 * few) / n, (100 * many) / n, 100], count: [0, Math.floor(few / k), Math.ceil(many / k), many], sum: [Math.min(0, least * n), (mean * n) / k, (mean * n) / k, Math.max(0, most * n)], mean: [least, mean, mean, most] }[unit.value];
    for (const [range, min, max, none, input] of [[lows, from, low_most, from, low], [highs, high_least, to, to, high]]) { Object.assign(range, { min, max }); range.value = input.value === "" ? none : input.value; range.dataset.none = String(none); }
    possible.textContent = `“At least” can be ${number(low_most)} or less, and “at most” can be ${number(high_least)} or more (${UNITS[unit.value]}).`;
  };
  const fill = () => {
    const chosen = columns.find(({ name }) => name === column.value), units = chosen?.amount ? ["sum", "mean"] : ["share", "count"];
    own.replaceChildren(h("option", { value: "" }, "every value"), ...(chosen?.levels ?? []).filter((name) => name !== "(other)").map((name) => h("option", { value: name }, name)));
    own.parentElement.hidden = Boolean(chosen?.amount);
    unit.replaceChildren(...units.map((name) => h("option", { value: name }, UNITS[name])));
    bound();
  };
  for (const element of [own, unit, low, high]) element.addEventListener("change", bound);
  const add = (event) => {
    event.preventDefault();
    const scale = unit.value === "share" ? 100 : 1, read = (input) => (input.value === "" ? null : Number(input.value) / scale);
    const quota = { column: column.value, of: unit.value, low: read(low), high: read(high), value: own.parentElement.hidden ? null : own.value || null };
    if (quota.low === null && quota.high === null) { app.complain("Enter a number for “at least”, “at most”, or both."); return; }
    app.act({ do: "set", quotas: [...list, quota] });
  };
  const form = h("form", { className: "bar", noValidate: true, onsubmit: add }, field("Column", column), field("value", own), unit, h("span", { className: "size" }, field("at least", low), lows), h("span", { className: "size" }, field("at most", high), highs), h("button", {}, "Add"));
  fill();
  return h("fieldset", {}, h("legend", {}, "Quotas"),
    h("p", { className: "faint" }, "A quota limits what every cluster contains. For example, 40 to 60% of its points must have the gender f. A quota that no clustering can satisfy is rejected."),
    h("ul", { className: "pairs" }, list.map((quota, m) => h("li", {}, h("span", {}, words(quota)), h("button", { onclick: () => app.act({ do: "set", quotas: list.filter((_, other) => other !== m) }), "aria-label": `Remove the quota ${words(quota)}` }, "Remove")))),
    columns.length ? [form, possible] : h("p", { className: "faint" }, "No column can have a quota, because none contains numbers or only a few different values."));
}
