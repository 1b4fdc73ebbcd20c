// What a person judges by: every column of a point, text readable, pictures and links where there
// are any. All text goes in as text, never as HTML.

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
  if (Number.isInteger(value) && size < 1e15) return String(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};
export const percent = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(Math.abs(share) < 0.001 ? 2 : 1)}%`;
export const brief = (value) => (typeof value === "number" ? number(value) : value ?? "");

const isLink = (value) => typeof value === "string" && /^https?:\/\/\S+$/i.test(value);
export const pictureOf = (row, column) => `api/picture?${new URLSearchParams({ row, column })}`;

// Words of `text`; those that `other` lacks are marked.
function words(text, other) {
  if (typeof other !== "string") return [text];
  const known = new Set(other.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []);
  return text.split(/([\p{L}\p{N}]+)/u).map((part, m) => (m % 2 && !known.has(part.toLowerCase()) ? h("mark", {}, part) : part));
}

export function value(app, entry, j, other) {
  const name = app.state.columns[j], own = entry.values[j], against = other?.values[j];
  if (own === null || own === undefined) return h("span", { className: "faint" }, "missing");
  if (app.state.pictures.includes(name)) return h("img", { className: "thumb", src: pictureOf(entry.row, name), alt: `${name} of ${entry.id}`, loading: "lazy" });
  if (isLink(own)) return h("a", { href: own, target: "_blank", rel: "noopener noreferrer" }, own);
  if (typeof own === "number") return h("span", { className: "number" }, number(own));
  return h("span", { className: "words" }, words(own, against));
}

// Columns in the order in which people look: pictures, text, then where two points differ most.
export function ranked(app, left, right) {
  const { columns, pictures, sheet } = app.state, facts = new Map(sheet.map((column) => [column.name, column]));
  const rank = (j) => {
    const name = columns[j], a = left.values[j], b = right?.values[j];
    if (pictures.includes(name)) return -3e9;
    if (facts.get(name)?.role === "text") return -2e9;
    if (!right) return j;
    if (typeof a === "number" && typeof b === "number") return -Math.abs(a - b) / (facts.get(name)?.spread || 1) * 1e3;
    return a !== b ? -1e6 + j : j;
  };
  return columns.map((_, j) => j).sort((a, b) => rank(a) - rank(b) || a - b);
}

export function table(app, entry, other, most = 14) {
  const order = ranked(app, entry, other), row = (j) => h("tr", { className: other && entry.values[j] !== other.values[j] ? "differs" : "" }, h("th", { scope: "row" }, app.state.columns[j]), h("td", {}, value(app, entry, j, other)));
  const rest = order.slice(most);
  return [h("table", { className: "values" }, h("tbody", {}, order.slice(0, most).map(row))),
    rest.length ? h("details", {}, h("summary", {}, `${rest.length} more ${rest.length === 1 ? "column" : "columns"}`), h("table", { className: "values" }, h("tbody", {}, rest.map(row)))) : ""];
}
