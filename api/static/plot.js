// Draws the workers of a scope over time from what the page says in
// data-points. The same is in words beside it, and in the table below.
/* global uPlot */
const place = document.getElementById("plot");
let plot = null;
let drawn = "";

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// columns turns [time, current, recommended] into what uPlot takes.
function columns() {
  const points = JSON.parse(place.dataset.points);
  return [0, 1, 2].map((i) => points.map((p) => p[i]));
}

function size() {
  return { width: Math.max(200, place.clientWidth), height: place.clientWidth < 500 ? 200 : 260 };
}

function whole(_, values) {
  return values.map((v) => (Number.isInteger(v) ? String(v) : ""));
}

// range leaves room above and below a line that never moves.
function range(_, min, max) {
  return min === null ? [0, 1] : [Math.max(0, min - 1), max + 1];
}

// span keeps one moment from being drawn as years, which is what uPlot makes of
// a single point.
function span(u, min, max) {
  const moments = u.data[0];
  const last = moments[moments.length - 1] ?? 0;
  return moments.length < 2 || max - min < 60 ? [last - 600, last + 60] : [min, max];
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

function options() {
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const stepped = uPlot.paths.stepped({ align: 1 });
  return {
    ...size(),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { range: span }, y: { range } },
    axes: [{ ...axis, values: times, space: 70 }, { ...axis, size: 40, values: whole }],
    series: [
      { label: "Time (UTC)", value: (_, v) => (v == null ? "–" : new Date(v * 1000).toISOString().slice(0, 19) + "Z") },
      { label: "Current", stroke: colour("--current"), width: 2, paths: stepped, points: { show: false } },
      { label: "Recommended", stroke: colour("--recommended"), width: 2, dash: [6, 4], paths: stepped, points: { show: false } },
    ],
  };
}

function draw() {
  const data = place.dataset.points;
  if (!data || data === drawn) return;
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
