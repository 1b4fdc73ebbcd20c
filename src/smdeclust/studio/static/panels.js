// The panels beside the picture. All text goes in as text, never as HTML.

import * as service from "./service.js";
import { color, symbol } from "./picture.js";

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export const number = (value) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};
export const percent = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(Math.abs(share) < 0.001 ? 2 : 1)}%`;

const SHAPES = {
  circle: '<circle cx="6" cy="6" r="4.5"/>', square: '<rect x="2" y="2" width="8" height="8"/>',
  "triangle-up": '<path d="M6 1 11 10H1z"/>', diamond: '<path d="M6 .5 11.5 6 6 11.5.5 6z"/>',
  cross: '<path d="M4.2 1h3.6v3.2H11v3.6H7.8V11H4.2V7.8H1V4.2h3.2z"/>', x: '<path d="M2.5 1 6 4.5 9.5 1 11 2.5 7.5 6 11 9.5 9.5 11 6 7.5 2.5 11 1 9.5 4.5 6 1 2.5z"/>',
  star: '<path d="m6 .5 1.6 3.6 3.9.4-2.9 2.6.8 3.9L6 9 2.6 11l.8-3.9L.5 4.5l3.9-.4z"/>', hexagon: '<path d="M3 1h6l2.5 5L9 11H3L.5 6z"/>',
  "triangle-down": '<path d="M6 11 1 2h10z"/>', pentagon: '<path d="m6 .5 5.5 4.2-2 6.3h-7l-2-6.3z"/>',
  hourglass: '<path d="M1 1h10L1 11h10z"/>', bowtie: '<path d="M1 1v10L11 1v10z"/>',
};
export function mark(k) {
  const holder = h("span", { className: "mark" });
  holder.innerHTML = `<svg viewBox="0 0 12 12" width="100%" height="100%" fill="${color(k)}" aria-hidden="true">${SHAPES[symbol(k)]}</svg>`;
  return holder;
}

export function clusters(app) {
  const { settings, solution, columns } = app.state;
  if (!solution.clusters) return [h("p", { className: "faint" }, "The first clusters are on their way.")];
  const bounds = (size) => (size === settings.size_min || size === settings.size_max ? " (at its bound)" : "");
  return solution.clusters.map((cluster, k) => {
    const most = Math.max(1e-9, ...cluster.profile.map(Math.abs), 2);
    const order = cluster.profile.map((value, j) => [Math.abs(value), j]).sort((a, b) => b[0] - a[0]).slice(0, 8);
    return h("div", { className: "card" },
      h("div", { className: "head" }, mark(k),
        h("input", { value: settings.names[k] || "", placeholder: `cluster ${k}`, maxLength: 80, "aria-label": `Name of cluster ${k}`, onchange: (event) => app.act({ do: "name", cluster: k, name: event.target.value }) }),
        h("span", {}, `${cluster.size} points${bounds(cluster.size)}`),
        h("button", { onclick: () => app.showCluster(k), title: "Show its points in the table" }, "Points")),
      h("p", { className: "faint", style: "margin:.4rem 0 0" }, cluster.apart.length ? ["Set apart by ", cluster.apart.map((a) => `${a.column} ${a.by > 0 ? "high" : "low"}`).join(", "), "."] : "Close to the average in every column."),
      h("div", { className: "profile" }, order.map(([, j]) => {
        const value = cluster.profile[j], width = Math.min(50, (50 * Math.abs(value)) / most);
        return [h("span", { className: "name" }, columns[j]),
          h("span", { className: "track", title: `${number(value)} standard deviations from the mean of all points` }, h("i", { className: value < 0 ? "low" : "", style: `left:${value < 0 ? 50 - width : 50}%;width:${width}%` })),
          h("span", { className: "right" }, number(cluster.means[j]))];
      })));
  });
}

export function pairs(app) {
  const { state, costs } = app;
  const broken = new Map((state.solution.broken || []).map((b) => [b.pair.join(), b.cost]));
  const list = state.pairs.map((pair, m) => [pair, state.pair_ids[m]]).reverse();
  if (costs) list.sort((a, b) => (costs.get(b[0].slice(0, 2).join())?.saving ?? 0) - (costs.get(a[0].slice(0, 2).join())?.saving ?? 0));
  const rows = list.slice(0, 500).map(([[i, j, together, confidence], [a, b]]) => {
    const key = `${i},${j}`, cost = costs?.get(key);
    return h("li", { className: broken.has(key) ? "bad" : "" },
      h("span", {}, `${a} ${together ? "with" : "apart from"} ${b}`,
        confidence < 1 ? h("em", { className: "faint" }, ` ${Math.round(100 * confidence)}% sure`) : "",
        broken.has(key) ? " — not kept" : "",
        cost ? h("em", { className: "faint" }, ` without it: ${cost.saving > 0 ? `${number(cost.saving)} cheaper, ${cost.moved} points move` : "the same"}`) : ""),
      h("button", { onclick: () => app.select([i, j]), title: "Show on the picture" }, "Show"),
      confidence === 1 ? h("button", { onclick: () => app.act({ do: "pairs", pairs: [[i, j]], together, confidence: 0.9 }), title: "It may then be broken, at a price" }, "Soften") : h("button", { onclick: () => app.act({ do: "pairs", pairs: [[i, j]], together, confidence: 1 }) }, "Strict"),
      h("button", { onclick: () => app.act({ do: "drop", pairs: [[i, j]] }), "aria-label": `Remove the pair ${a}, ${b}` }, "Remove"));
  });
  const area = h("textarea", { rows: 4, placeholder: "i,j,type\nann,bob,ml\nann,eve,cl", "aria-label": "Pairs as text" });
  return [
    h("p", {}, `${state.n_pairs} pairs. `, state.n_pairs ? h("button", { onclick: () => app.askCosts() }, "What does each cost?") : ""),
    h("ul", { className: "pairs" }, rows),
    state.n_pairs > 500 ? h("p", { className: "faint" }, "Only 500 are listed; all of them count.") : "",
    h("h3", {}, "Paste pairs"), area,
    h("p", {}, h("button", { onclick: () => app.addPairsText(area.value) }, "Add"), h("span", { className: "faint" }, " or drop a file of pairs anywhere on the page.")),
  ];
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
      h("p", {}, `${page.n_rows} points`, table.cluster !== null ? [` in ${app.nameOf(table.cluster)} `, h("button", { onclick: () => { table.cluster = null; load(0); } }, "Show all")] : "", ". Tick points to select them."),
      h("div", { className: "scroll" }, h("table", { className: "points" },
        h("thead", {}, h("tr", {}, h("th", {}), heads.map((name) => h("th", { "aria-sort": table.sort === name ? (table.descending ? "descending" : "ascending") : "none" }, h("button", { onclick: sortBy(name) }, name, table.sort === name ? (table.descending ? " ↓" : " ↑") : ""))))),
        h("tbody", {}, page.rows.map((entry) => {
          const chosen = app.selected.includes(entry.row);
          return h("tr", { className: chosen ? "chosen" : "" },
            h("td", {}, h("input", { type: "checkbox", checked: chosen, "aria-label": `Select ${entry.id}`, onchange: () => { app.toggle(entry.row); } })),
            h("td", {}, entry.id), h("td", {}, app.nameOf(entry.cluster)), entry.values.map((value) => h("td", { className: "right" }, number(value))));
        })))),
      h("p", {}, h("button", { disabled: start === 0, onclick: () => load(Math.max(0, start - 200)) }, "Earlier"), " ", h("button", { disabled: start + page.rows.length >= page.n_rows, onclick: () => load(start + 200) }, "Later")));
  };
  load(0).catch((error) => app.complain(error.message));
  return [holder];
}

export function ask(app) {
  const question = app.question;
  const intro = h("p", {}, "The pair whose answer would help most. ", h("button", { className: "primary", onclick: () => app.suggest() }, "Suggest a pair"));
  if (!question) return [intro];
  if (!question.pair) return [intro, h("p", {}, "No pair is left that would change much.")];
  const [left, right] = question.rows;
  const spread = app.state.columns.map((_, j) => Math.abs(left.values[j] - right.values[j]) > 0);
  const side = (entry) => h("div", { className: "card" }, h("strong", {}, entry.id), h("span", { className: "faint" }, ` in ${app.nameOf(entry.cluster)}`),
    h("table", {}, app.state.columns.map((name, j) => h("tr", { className: spread[j] ? "differs" : "" }, h("td", {}, name), h("td", { className: "right" }, number(entry.values[j]))))));
  return [intro, h("p", {}, question.reason), h("div", { className: "question" }, side(left), side(right)),
    h("div", { className: "ways" },
      h("button", { onclick: () => app.answer(true) }, "Same (Y)"),
      h("button", { onclick: () => app.answer(false) }, "Different (N)"),
      h("button", { onclick: () => app.answer(null) }, "Don’t know (?)"))];
}

export function settings(app) {
  const { settings: given, columns, n_points } = app.state;
  const whole = (value) => (value === "" ? null : Number(value));
  const size = (name, label) => h("p", {}, h("label", {}, `${label} `, h("input", { type: "number", min: 0, max: n_points, value: given[name] ?? "", placeholder: "any", id: name, onchange: (event) => app.act({ do: "set", [name]: whole(event.target.value) }) })));
  const chosen = new Set(given.columns);
  return [
    h("fieldset", {}, h("legend", {}, "Size of every cluster"), size("size_min", "At least"), size("size_max", "At most")),
    h("fieldset", {}, h("legend", {}, "Distance"),
      h("p", {}, h("label", {}, h("input", { type: "checkbox", checked: given.standardize, id: "standardize", onchange: (event) => app.act({ do: "set", standardize: event.target.checked }) }), " bring all columns to one scale")),
      h("p", {}, h("label", {}, "Which directions count ", h("select", { id: "metric", onchange: (event) => app.act({ do: "set", metric: event.target.value }) },
        [["euclidean", "all columns alike"], ["diagonal", "a weight for each column, learned from pairs"], ["learned", "directions learned from pairs"], ["auto", "whichever keeps held-out pairs best"]].map(([value, text]) => h("option", { value, selected: given.metric === value }, text)))))),
    h("fieldset", {}, h("legend", {}, "Columns that count"),
      h("div", { className: "column-list" }, columns.map((name) => h("label", {}, h("input", { type: "checkbox", checked: chosen.has(name), onchange: (event) => {
        const kept = columns.filter((other) => (other === name ? event.target.checked : chosen.has(other)));
        app.act({ do: "set", columns: kept });
      } }), ` ${name}`)))),
    h("p", { className: "faint" }, `Saved in ${app.state.folder}`),
  ];
}
