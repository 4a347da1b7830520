// The Gantt chart of a step: only what a pixel can show is given to the chart, again after each zoom.
"use strict";

/// Spans of [from, to] that are at least a pixel wide; narrower neighbours become one, of the kind that takes longest.
function visibleSpans(step, shownRows, from, to, pixels) {
  const {row, start, length, kind, micro_batch: batch, tasks} = step.spans;
  const pixel = (to - from) / Math.max(pixels, 1);
  const spans = [];
  const last = new Map();
  for (let i = 0; i < row.length; ++i) {
    const at = shownRows.indexOf(row[i]), end = start[i] + length[i];
    if (at < 0 || end < from || start[i] > to) continue;
    const before = last.get(at);
    if (before && length[i] < pixel && before.widest < pixel && start[i] - before.end < pixel && end - before.start < 4 * pixel) {
      before.end = Math.max(before.end, end);
      before.tasks += tasks[i];
      if (length[i] > before.widest) Object.assign(before, {widest: length[i], kind: step.kinds[kind[i]], batch: -1});
      continue;
    }
    const span = {row: at, start: start[i], end, widest: length[i], kind: step.kinds[kind[i]], batch: batch[i], tasks: tasks[i]};
    spans.push(span);
    last.set(at, span);
  }
  for (const span of spans) span.title = span.tasks > 1 ? `${span.tasks} tasks, most of it ${span.kind}` : span.kind + (span.batch >= 0 ? ` of micro-batch ${span.batch}` : "");
  return spans;
}

const rowLabel = (r) => `${r.stage >= 0 ? `stage ${r.stage} · ` : ""}${r.stream} · ${r.device}${r.devices > 1 ? ` (×${r.devices})` : ""}`;

/// As long from the start as the fullest row has 60 spans and every computing row eight, so that single passes can be told apart;
/// all of a short step.
function firstView(step) {
  const ends = step.rows.map(() => []);
  step.spans.row.forEach((row, i) => ends[row].push(step.spans.start[i] + step.spans.length[i]));
  const most = Math.max(...ends.map((row) => row.length));
  if (most <= 120) return step.length_us;
  const until = ends.map((row, r) => (row.length === most ? row[60] : step.rows[r].stream === "compute" ? row[Math.min(7, row.length - 1)] : 0));
  return Math.min(step.length_us, Math.max(...until));
}

/// Chart with buttons; drag over a stretch of time to see it closer.
function ganttCard(step) {
  const state = {from: 0, to: firstView(step), streams: "compute"};
  const isShown = (r) => state.streams === "all" || r.stream === "compute";
  const chart = element("div", {class: "chart gantt"});
  const shown = () => step.rows.map((r, i) => i).filter((i) => isShown(step.rows[i])).slice(0, 120);
  const where = element("span", {class: "soft"});
  const redraw = () => {
    where.textContent = `${microseconds(state.from)} to ${microseconds(state.to)} of ${microseconds(step.length_us)}`;
    chart.draw();
  };
  const move = (from, to) => {
    const width = Math.min(Math.max(to - from, step.length_us / 1e6, 1), step.length_us);
    state.from = Math.max(0, Math.min(from, step.length_us - width));
    state.to = state.from + width;
    redraw();
  };
  const zoom = (by, at = (state.from + state.to) / 2) => move(at - (at - state.from) * by, at + (state.to - at) * by);
  const shift = (by) => move(state.from + (state.to - state.from) * by, state.to + (state.to - state.from) * by);
  const button = (text, title, action) => element("button", {type: "button", title, onclick: action}, text);
  const streams = element("select", {"aria-label": "streams", onchange: () => { state.streams = streams.value; redraw(); }},
    element("option", {value: "compute"}, "computing streams"), element("option", {value: "all"}, "all streams"));
  drawn(chart, (width) => {
    const rows = shown();
    const labels = rows.map((i) => rowLabel(step.rows[i]));
    const spans = visibleSpans(step, rows, state.from, state.to, width);
    for (const span of spans) span.label = labels[span.row];
    return gantt(width, labels, {spans, from: state.from, to: state.to}, step.length_us);
  }, (view) => {
    view.addSignalListener("chosen", (name, range) => { if (range) setTimeout(() => move(range[0], range[1])); });
    view.addSignalListener("wheel", (name, turn) => { if (turn) setTimeout(() => zoom(turn.by, turn.at)); });
  });
  where.textContent = `${microseconds(state.from)} to ${microseconds(state.to)} of ${microseconds(step.length_us)}`;
  chart.addEventListener("dblclick", () => move(0, step.length_us));
  const kinds = [...new Set(step.spans.kind)].map((k) => step.kinds[k]);
  return card("What each stage and stream does", "wide",
    element("div", {class: "tools"}, button("+", "closer", () => zoom(0.5)), button("−", "farther", () => zoom(2)), button("←", "earlier", () => shift(-0.5)), button("→", "later", () => shift(0.5)),
      button("start", "the first passes", () => move(0, firstView(step))), button("whole step", "all of it", () => move(0, step.length_us)), streams, where),
    legend(Object.fromEntries(kinds.map((k) => [k, kindColours[k]]))), chart, note(ganttNote(step)));
}

function ganttNote(step) {
  const joined = step.joined_below_us > 0 ? ` Neighbours on a stream of at most ${microseconds(step.joined_below_us)} each are one span: ${count(step.tasks)} tasks became ${count(step.spans.row.length)} spans.` : "";
  const cut = step.streams > step.rows.length ? ` ${count(step.streams - step.rows.length)} streams are left out.` : "";
  return `Simulated step ${step.step}, ${microseconds(step.length_us)}; one device stands for each class of devices that do the same at the same time.${joined}${cut} What is narrower than a pixel is drawn together. Drag over the chart to look closer, double click for the whole step.`;
}
