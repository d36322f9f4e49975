// Draws the workers of a scope over time from what the page says in
// data-points. The same is in words beside it, and in the table below.
/* global uPlot */
const place = document.getElementById("plot");
let plot = null;
let drawn = "";

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// columns turns [time, current, recommended, min, max] into what uPlot takes.
function columns() {
  const points = JSON.parse(place.dataset.points);
  return [0, 1, 2, 3, 4].map((i) => points.map((p) => p[i]));
}

function size() {
  return { width: Math.max(200, place.clientWidth), height: place.clientWidth < 500 ? 200 : 260 };
}

function whole(_, values) {
  return values.map((v) => (Number.isInteger(v) ? String(v) : ""));
}

// range leaves room above and below a line that never moves, and shows the bounds
// where they are near.
function range(u) {
  const known = [...u.data[1], ...u.data[2]].filter((v) => v != null);
  const most = Math.max(1, ...known);
  const near = [...u.data[3], ...u.data[4]].filter((v) => v != null && v <= 2 * most + 4);
  return [Math.max(0, Math.min(...known, ...near) - 1), Math.max(most, ...near) + 1];
}

// period is what the page shows, whatever was decided in it.
function period() {
  return [Number(place.dataset.from), Number(place.dataset.to) + 1];
}

// mark draws actions and pauses below the lines: a strip on top, and where it
// begins and ends.
function mark(u) {
  const { left, top, width, height } = u.bbox;
  const colours = { pause: "--person", done: "--in", failed: "--alarm", open: "--link" };
  for (const [from, to, kind] of JSON.parse(place.dataset.marks)) {
    const x = Math.max(left, u.valToPos(from, "x", true));
    const end = Math.min(left + width, Math.max(x + 2, u.valToPos(to, "x", true)));
    u.ctx.save();
    u.ctx.fillStyle = colour(colours[kind]);
    u.ctx.fillRect(x, top, end - x, 6 * devicePixelRatio);
    u.ctx.globalAlpha = 0.12;
    u.ctx.fillRect(x, top, end - x, height);
    u.ctx.restore();
  }
}

// explain leads to what was decided at the pointer's moment.
function explain(u) {
  const moment = document.getElementById("moment");
  if (u.cursor.left < 0) return;
  const seconds = Math.min(u.posToVal(u.cursor.left, "x"), Number(place.dataset.to));
  const at = new Date(Math.floor(seconds) * 1000).toISOString().slice(0, 19) + "Z";
  const link = moment.querySelector("a");
  link.href = "?" + new URLSearchParams({ scope: place.dataset.scope, at });
  link.textContent = "Explain " + at;
  moment.hidden = false;
}

// follow goes there; a finger only points, and follows the link.
function follow(u) {
  u.over.addEventListener("pointerup", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) document.querySelector("#moment a").click();
  });
}

// times are those of the tables: UTC, with the day where it begins.
function times(_, values) {
  let day = "";
  return values.map((v) => {
    const at = new Date(v * 1000).toISOString();
    const first = at.slice(0, 10) !== day;
    day = at.slice(0, 10);
    return at.slice(11, values.length > 1 && values[1] - values[0] < 60 ? 19 : 16) + (first ? "\n" + day : "");
  });
}

// held is the point whose values hold at a moment: the last one that is not
// later, and not the nearest, which may lie ahead.
function held(u, _, nearest, at) {
  let i = nearest;
  while (i > 0 && u.data[0][i] > at) i--;
  return i;
}

// alone is true where there is one point, which makes no line.
function alone(u) { return u.data[0].length === 1; }

function options() {
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const stepped = uPlot.paths.stepped({ align: 1 });
  return {
    ...size(),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: { dataIdx: held },
    hooks: { drawClear: [mark], setCursor: [explain], ready: [follow] },
    scales: { x: { range: period }, y: { range } },
    axes: [{ ...axis, values: times, space: 70 }, { ...axis, size: 40, values: whole }],
    series: [
      { label: "Time (UTC)", value: (_, v) => (v == null ? "–" : new Date(v * 1000).toISOString().slice(0, 19) + "Z") },
      { label: "Current", stroke: colour("--current"), width: 2, paths: stepped, points: { show: alone } },
      { label: "Recommended", stroke: colour("--recommended"), width: 2, dash: [6, 4], paths: stepped, points: { show: alone } },
      ...["Min", "Max"].map((label) => ({ label, stroke: colour("--faint"), width: 1, dash: [2, 4], paths: stepped, points: { show: false } })),
    ],
  };
}

function draw() {
  const data = place.dataset.points + place.dataset.marks + place.dataset.from;
  if (!place.dataset.points || data === drawn) return;
  drawn = data;
  if (plot) plot.setData(columns());
  else plot = new uPlot(options(), columns(), place);
  const drawing = place.querySelector(".u-wrap");
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", place.dataset.summary);
  place.querySelector(".u-legend").setAttribute("aria-label", "Values under the pointer");
}

function anew() {
  plot?.destroy();
  plot = null;
  drawn = "";
  draw();
}

if (place && typeof uPlot === "function") {
  draw();
  document.addEventListener("updated", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", anew);
  new ResizeObserver(() => plot?.setSize(size())).observe(place);
}

// The plots of the signals are a page of their own, and come into this one: they
// cost queries, so they are asked for when the page is opened, then once a minute.
const past = document.getElementById("over-time");
let asked = 0;

async function signals() {
  if (Date.now() - asked < 60000) return;
  asked = Date.now();
  try {
    const reply = await fetch(past.dataset.source, { headers: { Accept: "text/html" } });
    const pictures = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("pictures");
    if (!pictures) throw new Error(`it answers with ${reply.status}`);
    past.replaceChildren(document.importNode(pictures, true));
  } catch (e) {
    if (past.firstElementChild?.id !== "pictures") past.dataset.problem = e.message; // the link stays
  }
}

if (past) {
  signals();
  document.addEventListener("updated", signals);
}
