// The server, as functions. Every address is relative to the page, so the token is always in it.

export class Refused extends Error {
  constructor(answer, status) {
    super(answer.sentence || "The server rejected this.");
    this.answer = answer;
    this.status = status;
  }
}

export const SILENT = "The studio is not responding. Is it still running?";

async function ask(path, options) {
  const response = await fetch(path, options).catch(() => { throw new Refused({ sentence: SILENT }, 0); });
  if (response.ok) return response;
  let answer = {};
  try { answer = await response.json(); } catch { answer = { sentence: await response.text().catch(() => "") }; }
  throw new Refused(answer, response.status);
}

const query = (values) => new URLSearchParams(values).toString();
const json = (path, options) => ask(path, options).then((response) => response.json());
const post = (path, body) => json(path, { method: "POST", body });

export const state = () => json("api/state");
export const act = (...actions) => post("api/act", JSON.stringify(actions));
export const rows = (values) => json("api/rows?" + query(values));
export const row = (number) => json("api/row?" + query({ row: number }));
export const find = (text) => json("api/find?" + query({ text }));
export const suggest = (by, skip = []) => post("api/suggest", JSON.stringify({ by, skip }));
export const costs = () => post("api/costs");
export const stop = () => post("api/stop");
export const why = (row) => json("api/why?" + query({ row }));
export const chooseK = () => post("api/choose-k");
export const sendPairs = (content) => post("api/pairs", content);
export const openTable = (name, content) => post("api/open?" + query({ name }), content);
export const openPath = (path, sheet) => post("api/open?" + query({ path, sheet }));
export const openSheet = (sheet) => post("api/open?" + query({ sheet }));
export const openDemo = () => post("api/open?demo=1");

export async function places(kind, x, y) {
  const response = await ask("api/places?" + query({ kind, x, y }));
  const both = new Float32Array(await response.arrayBuffer());
  const n = both.length / 2;
  return [{ x: both.subarray(0, n), y: both.subarray(n) }, JSON.parse(response.headers.get("x-axes"))];
}

export async function labels() {
  const response = await ask("api/labels");
  return new Int32Array(await response.arrayBuffer());
}

export function listen(handlers, onLost) {
  const source = new EventSource("api/events");
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  }
  source.onerror = () => onLost(source.readyState === EventSource.CLOSED);
  source.onopen = () => onLost(null);
  return source;
}
