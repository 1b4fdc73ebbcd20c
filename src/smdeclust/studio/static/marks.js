// Draws many marks at once: one WebGL2 call for all points, whose shapes come from one texture.
// Without WebGL2 the same marks are drawn on a plain canvas, which is slower.

import { SHAPES, SYMBOLS, color, symbol } from "./looks.js";

const CELL = 64, GRID = 4, MOST_LOOKS = 1024;

const VERTEX = `#version 300 es
in vec2 place; in float label;
uniform vec2 scale, shift; uniform float size; uniform float only, without, alpha; uniform sampler2D looks;
flat out vec4 paint; flat out float shape;
void main() {
  vec4 look = texelFetch(looks, ivec2(int(label) + 1, 0), 0);
  bool hidden = (only >= -1.0 && label != only) || (without >= -1.0 && label == without) || place.x > 1e8;
  gl_Position = hidden ? vec4(9.0, 9.0, 0.0, 1.0) : vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size;
  paint = vec4(look.rgb, alpha); shape = floor(look.a * 255.0 + 0.5);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
flat in vec4 paint; flat in float shape;
uniform sampler2D shapes;
out vec4 result;
void main() {
  vec2 cell = vec2(mod(shape, ${GRID}.0), floor(shape / ${GRID}.0));
  float cover = texture(shapes, (cell + gl_PointCoord) / ${GRID}.0).r * paint.a;
  if (cover < 0.02) discard;
  result = vec4(paint.rgb * cover, cover);
}`;

export class Marks {
  constructor(canvas) {
    this.canvas = canvas;
    this.n = 0;
    const gl = canvas.getContext("webgl2", { alpha: true, antialias: false, premultipliedAlpha: true });
    if (gl) { this.gl = gl; this.prepare(); } else this.flat = canvas.getContext("2d");
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); this.setPlaces(this.xs, this.ys); if (this.labels) this.setLabels(this.labels); this.onrestored?.(); });
  }

  prepare() {
    const { gl } = this;
    const compile = (kind, source) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      return shader;
    };
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, VERTEX)); gl.attachShader(program, compile(gl.FRAGMENT_SHADER, FRAGMENT));
    gl.bindAttribLocation(program, 0, "place"); gl.bindAttribLocation(program, 1, "label");
    gl.linkProgram(program); gl.useProgram(program);
    this.at = Object.fromEntries(["scale", "shift", "size", "only", "without", "alpha", "looks", "shapes"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.placeBuffer = gl.createBuffer(); this.labelBuffer = gl.createBuffer();
    for (const [index, buffer, width] of [[0, this.placeBuffer, 2], [1, this.labelBuffer, 1]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.enableVertexAttribArray(index); gl.vertexAttribPointer(index, width, gl.FLOAT, false, 0, 0);
    }
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.activeTexture(gl.TEXTURE0); gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, this.atlas());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR); gl.generateMipmap(gl.TEXTURE_2D);
    gl.uniform1i(this.at.shapes, 0);
    gl.activeTexture(gl.TEXTURE1); this.looks = gl.createTexture(); gl.bindTexture(gl.TEXTURE_2D, this.looks);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST); gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.uniform1i(this.at.looks, 1);
    this.paint();
  }

  atlas() {
    const canvas = document.createElement("canvas"), side = CELL * GRID;
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#fff";
    SYMBOLS.forEach((name, s) => {
      pen.setTransform(CELL / 14, 0, 0, CELL / 14, (s % GRID) * CELL + CELL / 14, Math.floor(s / GRID) * CELL + CELL / 14);
      pen.fill(new Path2D(SHAPES[name]));
    });
    return canvas;
  }

  // Colors and shapes of all clusters; again when the page turns light or dark.
  paint() {
    if (!this.gl) return;
    const { gl } = this, data = new Uint8Array(4 * MOST_LOOKS);
    for (let k = -1; k < MOST_LOOKS - 1; k += 1) {
      const rgb = parseInt(color(k).slice(1), 16);
      data.set([rgb >> 16, (rgb >> 8) & 255, rgb & 255, SYMBOLS.indexOf(symbol(k))], 4 * (k + 1));
    }
    gl.activeTexture(gl.TEXTURE1); gl.bindTexture(gl.TEXTURE_2D, this.looks);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, MOST_LOOKS, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
  }

  // Points are stored in a random order, so that the first of them are a sample of all.
  setPlaces(xs, ys) {
    this.xs = xs; this.ys = ys;
    if (xs.length !== this.n || !this.order) { this.n = xs.length; this.order = shuffled(this.n); this.labels = null; }
    const data = new Float32Array(2 * this.n);
    for (let m = 0; m < this.n; m += 1) {
      const row = this.order[m], there = Number.isFinite(xs[row]) && Number.isFinite(ys[row]);
      data[2 * m] = there ? xs[row] : 1e9; data[2 * m + 1] = there ? ys[row] : 1e9;
    }
    this.send(this.placeBuffer, data);
    if (!this.labels) this.setLabels(null);
  }
  setLabels(labels) {
    this.labels = labels;
    const data = new Float32Array(this.n).fill(-1);
    if (labels) for (let m = 0; m < this.n; m += 1) data[m] = labels[this.order[m]];
    this.send(this.labelBuffer, data);
  }
  send(buffer, data) { if (this.gl) { this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer); this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.STATIC_DRAW); } }

  // `to`: pixels of the canvas are x * to.ax + to.bx, y * to.ay + to.by.
  draw(to, size, alpha, forward, most = this.n) {
    const { width, height } = this.canvas, count = Math.min(this.n, most);
    if (!this.gl) { this.drawFlat(to, size, alpha, forward, Math.min(count, 60000)); return; }
    const { gl, at } = this;
    gl.viewport(0, 0, width, height); gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(at.scale, (2 * to.ax) / width, (-2 * to.ay) / height);
    gl.uniform2f(at.shift, (2 * to.bx) / width - 1, 1 - (2 * to.by) / height);
    gl.uniform1f(at.size, size);
    const pass = (only, without, strength) => { gl.uniform1f(at.only, only); gl.uniform1f(at.without, without); gl.uniform1f(at.alpha, strength); gl.drawArrays(gl.POINTS, 0, count); };
    if (forward === null) pass(-9, -9, alpha);
    else { pass(-9, forward, 0.12); pass(forward, -9, 1); }
  }
  drawFlat(to, size, alpha, forward, count) {
    const pen = this.flat, paths = SYMBOLS.map((name) => new Path2D(SHAPES[name]));
    pen.setTransform(1, 0, 0, 1, 0, 0); pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (let m = 0; m < count; m += 1) {
      const row = this.order[m], k = this.labels ? this.labels[row] : -1;
      if (!Number.isFinite(this.xs[row]) || !Number.isFinite(this.ys[row])) continue;
      pen.globalAlpha = forward === null || forward === k ? alpha : 0.12;
      pen.fillStyle = color(k);
      pen.setTransform(size / 14, 0, 0, size / 14, this.xs[row] * to.ax + to.bx - (6 * size) / 14, this.ys[row] * to.ay + to.by - (6 * size) / 14);
      pen.fill(paths[SYMBOLS.indexOf(symbol(k))]);
    }
  }
}

function shuffled(n) {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 12345;
  for (let i = n - 1; i > 0; i -= 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1)), kept = order[i];
    order[i] = order[j]; order[j] = kept;
  }
  return order;
}
