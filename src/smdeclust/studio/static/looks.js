// Looks of clusters. 24 colors, far apart also for color-blind people and at least 3:1 against the
// page, light or dark; twelve shapes double what they say. No color repeats within 24 clusters, and
// one that comes again has another shape.

const LIGHT = [
  "#0072b2", "#cc7a00", "#009e73", "#cc5f9a", "#4a97d2", "#b8400e", "#857300", "#5b3fa8", "#184830", "#9c60fc", "#840054", "#785460",
  "#003c78", "#6c2400", "#b41890", "#fc3c54", "#006c24", "#0c18b4", "#0054e4", "#9030cc", "#6c8490", "#00a800", "#cc0054", "#b4786c",
];
const DARK = [
  "#4da6e8", "#e69f00", "#00b887", "#e089b8", "#8fd0ff", "#ff7a4d", "#c9c24a", "#a98bff", "#906c54", "#c024a8", "#00fcc0", "#f0fc00",
  "#5460f0", "#e41824", "#fce4e4", "#009000", "#008490", "#fcb49c", "#f04890", "#9078b4", "#f060e4", "#78f048", "#3cc000", "#909c48",
];
export const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
export const color = (k) => (k < 0 ? "#888888" : (darkScheme.matches ? DARK : LIGHT)[k % 24]);

// Paths in a box of 12 x 12, for the picture, the cards and the SVG alike.
export const SHAPES = {
  circle: "M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 1 1 0-9z", square: "M2 2h8v8H2z", "triangle-up": "M6 1 11 10H1z", diamond: "M6 .5 11.5 6 6 11.5.5 6z",
  cross: "M4.2 1h3.6v3.2H11v3.6H7.8V11H4.2V7.8H1V4.2h3.2z", x: "M2.5 1 6 4.5 9.5 1 11 2.5 7.5 6 11 9.5 9.5 11 6 7.5 2.5 11 1 9.5 4.5 6 1 2.5z",
  star: "m6 .5 1.6 3.6 3.9.4-2.9 2.6.8 3.9L6 9 2.6 11l.8-3.9L.5 4.5l3.9-.4z", hexagon: "M3 1h6l2.5 5L9 11H3L.5 6z",
  "triangle-down": "M6 11 1 2h10z", pentagon: "m6 .5 5.5 4.2-2 6.3h-7l-2-6.3z", hourglass: "M1 1h10L1 11h10z", bowtie: "M1 1v10L11 1v10z",
};
export const SYMBOLS = Object.keys(SHAPES);
export const symbol = (k) => SYMBOLS[k < 0 ? 0 : (k + 5 * Math.floor(k / 24)) % 12];

// A small mark of a cluster, for cards and the legend.
export function mark(k) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 12 12"); svg.setAttribute("class", "mark"); svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", SHAPES[symbol(k)]); path.setAttribute("fill", color(k));
  svg.append(path);
  return svg;
}
