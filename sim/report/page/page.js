// The page of each kind of result.
"use strict";

const perMillion = (record) => record.usd_per_million_tokens;
const rateOf = (record) => record.goodput_tokens_per_s ?? record.tokens_per_s ?? record.samples_per_s;
const unitOf = (record) => (record.tokens_per_s === null && record.samples_per_s !== null ? "samples" : "tokens");
const nameOf = (row) => element("span", {class: "clamp", title: short(row.name, 400)}, row.name, row.cheapest ? element("span", {class: "badge"}, "cheapest") : null, row.record.pareto_front ? element("span", {class: "badge", title: "no other is both faster and cheaper"}, "front") : null);
const memoryOf = (r) => (r.peak_memory_bytes === null ? "" : `${digits(r.peak_memory_bytes / 1e9)} of ${digits(r.memory_capacity_bytes / 1e9)} GB · ${short(r.fullest_device ?? "", 40)}`);

const placeColumns = [
  {title: "#", of: (row) => row.place}, {title: "strategy", words: true, of: nameOf},
];
const stepColumns = (unit) => [
  ...placeColumns,
  {title: `${unit}/s`, of: ({record: r}) => digits(r.tokens_per_s ?? r.samples_per_s) + (r.error_band ? ` ±${Math.round(100 * r.error_band)}\u00a0%` : "")}, {title: "MFU", of: ({record: r}) => percent(r.mfu)}, {title: "step", of: ({record: r}) => seconds(r.step_time_s)},
  {title: "bubble", of: ({record: r}) => percent(r.bubble_fraction)}, {title: "exposed", of: ({record: r}) => percent(r.exposed_communication_fraction)},
  {title: "fullest device", of: ({record: r}) => memoryOf(r)}, {title: "USD/h", of: ({record: r}) => money(r.price_usd_per_h)}, {title: "USD/M tokens", of: ({record: r}) => digits(perMillion(r))},
];
const jobColumns = [
  ...placeColumns, {title: "recovery", words: true, of: ({record: r}) => element("span", {class: "clamp"}, r.recovery ?? "")},
  {title: "goodput, tokens/s", of: ({record: r}) => digits(r.goodput_tokens_per_s)}, {title: "useful", of: ({record: r}) => percent(r.useful_s / r.horizon_s)}, {title: "lost work", of: ({record: r}) => percent(r.lost_work_s / r.horizon_s)},
  {title: "saving", of: ({record: r}) => percent(r.checkpoint_s / r.horizon_s)}, {title: "changing over", of: ({record: r}) => percent(r.reconfiguration_s / r.horizon_s)}, {title: "no nodes or plan", of: ({record: r}) => percent((r.waiting_s + r.idle_s) / r.horizon_s)},
  {title: "preemptions", of: ({record: r}) => (r.preemptions === null ? "" : count(r.preemptions))}, {title: "USD", of: ({record: r}) => money(r.usd_total)}, {title: "USD/M tokens", of: ({record: r}) => digits(perMillion(r))},
];

const isJob = (row) => row.record.horizon_s !== undefined && row.record.horizon_s !== null;
const ranWell = (row) => row.record.status === "ok";

/// Jobs that differ in how they recover are told apart by that.
function labelsOf(rows) {
  const recoveries = new Set(rows.map((row) => row.record.recovery ?? ""));
  return rows.map((row) => (recoveries.size > 1 && row.record.recovery ? `${row.record.strategy} · ${row.record.recovery}` : row.name));
}

function rankedTable(block) {
  let place = 0;
  const rows = block.rows.map((row) => ({...row, place: ranWell(row) ? String(++place) : "–", reason: ranWell(row) ? "" : `${row.record.status === "error" ? "error: " : ""}${row.record.reason}`}));
  return table(rows.some(isJob) ? jobColumns : stepColumns(unitOf(rows[0]?.record ?? {})), rows, (row) => (row.place === "1" && block.objective ? "first" : ""));
}

const jobTimes = {useful_s: "useful", lost_work_s: "lost work", checkpoint_s: "saving", reconfiguration_s: "changing over", waiting_s: "waiting", idle_s: "idle"};
const jobColours = {useful: "#57a773", "lost work": "#d9534f", saving: "#d9b300", "changing over": "#e69138", waiting: "#8e7cc3", idle: "#aab1bb"};

/// Bars of seconds or hours by kind, one a case; times: [{kind: seconds}] of each row.
function barsCard(title, rows, labels, times, colours, unit, remark) {
  const bars = rows.flatMap((row, i) => {
    const all = Object.entries(times(row)).filter(([, s]) => s > 0);
    const sum = all.reduce((total, [, s]) => total + s, 0);
    return all.map(([kind, s]) => ({row: i, name: short(labels[i], 60), kind, time: s / unit.by, share: s / sum}));
  });
  if (bars.length === 0) return null;
  const kinds = Object.keys(colours).filter((k) => bars.some((bar) => bar.kind === k));
  return card(title, "", legend(Object.fromEntries(kinds.map((k) => [k, colours[k]]))), chartOf("times", (width) => timeByKind(width, bars, colours, unit)), note(remark));
}

function timeCard(rows) {
  const ran = rows.filter(ranWell), labels = labelsOf(ran);
  if (ran.some(isJob))
    return barsCard("Where the time of the job goes", ran, labels, (row) => Object.fromEntries(Object.entries(jobTimes).map(([key, kind]) => [kind, row.record[key]])), jobColours, {by: 3600, name: "h", title: "hours"}, "Useful: steps whose result lasts.");
  return barsCard("Where the time of a step goes", ran, labels, (row) => row.record.time_breakdown_s, kindColours, {by: 1, name: "s", title: "seconds of a step, mean over devices"}, "Exclusive: traffic counts where nothing computes beside it, a bubble where nothing happens.");
}

function paretoCard(rows) {
  const shown = rows.filter((row) => ranWell(row) && rateOf(row.record) !== null && perMillion(row.record) !== null), labels = labelsOf(shown);
  const points = shown.map((row, i) => ({name: short(labels[i], 60), rate: rateOf(row.record), price: perMillion(row.record), front: row.record.pareto_front === true}));
  if (points.length < 2) return null;
  return card("Throughput against cost", "", chartOf("pareto", (width) => pareto(width, points, rows.some(isJob) ? "goodput, tokens a second" : "tokens a second", "USD a million tokens")), note(`Down and to the right is better.${points.some((p) => p.front) ? " Full points on the dashed line: no other is both faster and cheaper." : ""}`));
}

function jobCards(row) {
  const job = row.job;
  if (!job) return [];
  const hours = job.at_s.map((s) => s / 3600), parts = hours.length - 1;
  const steps = (key, series) => [...job[key], job[key].at(-1)].map((value, i) => ({series, at: hours[i], value}));
  const sums = (key) => job[key].map((value, i) => ({series: key, at: hours[i], value}));
  const nodeColours = {"there": seriesColours[0], "used by the plan": seriesColours[2]};
  const nodes = Object.keys(nodeColours);
  return [
    card("Nodes", "", legend(nodeColours), chartOf("nodes", (w) => courses(w, 220, [...steps("nodes", nodes[0]), ...steps("nodes_used", nodes[1])], nodes, "hours", "nodes", {area: true, colours: Object.values(nodeColours)})),
      note(job.entries > parts ? `${count(job.entries)} entries of the timeline are shown as means over ${count(parts)} equal parts of the horizon.` : "")),
    card("Tokens a second while training", "", chartOf("speed", (w) => courses(w, 220, steps("tokens_per_s", 0), [0], "hours", "tokens/s", {area: true})), note("Of the step at hand; 0 while nothing trains.")),
    job.tokens_trained ? card("Goodput: tokens that last", "", chartOf("goodput", (w) => courses(w, 220, sums("tokens_trained"), ["tokens_trained"], "hours", "tokens so far", {interpolate: "linear", format: "~s"})), note(`In all ${digits(row.record.tokens_trained)} tokens; falls where work is lost.`)) : null,
    job.usd ? card("Cost", "", chartOf("cost", (w) => courses(w, 220, sums("usd"), ["usd"], "hours", "USD so far", {interpolate: "linear"})), note(`In all ${money(row.record.usd_total)} USD.`)) : null,
  ];
}

/// Shares of the step by kind, and in the tip where.
function pathCard(row) {
  const path = row.record.critical_path ?? [];
  if (path.length === 0) return null;
  const place = (part) => [part.stage === null ? "" : `stage ${part.stage}`, part.gpu ?? "", part.device ?? ""].filter(Boolean).join(", ");
  const bars = path.slice(0, 14).map((part, at) => ({at, name: `${part.kind}${part.stage === null ? "" : `, stage ${part.stage}`}`, share: part.share, kind: part.kind, tooltip: {"": part.kind, where: place(part), time: seconds(part.time_s), share: percent(part.share)}}));
  return card("Critical path: what makes the step's length", "", chartOf("path", (w) => shareBars(w, bars)), note(`The chain of tasks and waits from the step's end back to its start${path.length > bars.length ? `; the ${bars.length} largest of ${path.length} parts` : ""}.`));
}

function sensitivityCard(row) {
  const gains = row.record.sensitivity ?? [];
  if (gains.length === 0) return null;
  const signed = (value) => (value === null || value === undefined ? "" : `${value > 0 ? "+" : ""}${percent(value)}`);
  return card("What more of a resource would buy", "", table([{title: "resource", words: true, of: (g) => short(g.resource, 80)}, {title: "times", of: (g) => digits(g.factor)}, {title: "throughput", of: (g) => signed(g.throughput_gain)}, {title: "USD a token", of: (g) => signed(g.usd_per_token_change)}], gains.map((g) => ({...g, reason: g.reason ? short(g.reason, 200) : ""}))));
}

function memoryCard(step) {
  const {shown, all} = step.memory;
  if (shown.length === 0) return null;
  const unit = step.length_us >= 1e6 ? {by: 1e6, name: "s"} : {by: 1e3, name: "ms"};
  const names = shown.map((m) => `${m.device}${m.devices > 1 ? ` (×${m.devices})` : ""}, ${m.model} ${digits(m.capacity_mb / 1e3)} GB`);
  const points = shown.flatMap((m, s) => [...m.held_mb, m.held_mb.at(-1)].map((mb, i) => ({series: s, at: (i / m.held_mb.length) * step.length_us / unit.by, value: mb / m.capacity_mb})));
  return card("Memory over the step", "", legend(Object.fromEntries(names.map((n, i) => [n, seriesColours[i % seriesColours.length]]))),
    chartOf("memory", (w) => courses(w, 240, points, shown.map((m, i) => i), `time of the step, ${unit.name}`, "share of the memory", {format: "%", limit: 1, domain: [0, 1]})),
    note(`The highest in each of ${shown[0].held_mb.length} parts of the step${all > shown.length ? `; the ${shown.length} fullest of ${all} classes` : ""}.`));
}

const linkName = (link) => short(link.name.replace(">", " → "), 90);

function linkCard(step) {
  const {shown, all} = step.links;
  const [most] = [...step.inside].sort((a, b) => b.share - a.share);
  const inside = most ? `${most.kind[0].toUpperCase()}${most.kind.slice(1)} collectives inside passes take ${percent(most.share)} of the step on ${short(most.device, 60)}, on links that nothing else uses then.` : "";
  if (shown.length === 0) return card("Links", "", element("p", {}, inside || "No traffic between devices."));
  const first = shown[0];
  const busiest = [element("b", {}, linkName(first)), ` is the busiest: ${percent(first.load)} of its ${rate(first.capacity_bytes_per_s)} over the step, with something on it for ${percent(first.busy)} of the time.`];
  const verdict = most && most.share > first.busy ? [element("b", {}, inside), " Of the links where traffic meets, ", ...busiest] : busiest;
  const bars = shown.map((link, at) => ({at, name: linkName(link), load: link.load, busy: link.busy, rate: rate(link.capacity_bytes_per_s)}));
  const unit = step.length_us >= 1e6 ? {by: 1e6, name: "s"} : {by: 1e3, name: "ms"};
  const part = step.length_us / unit.by / first.loads.length;
  const traced = shown.slice(0, 6);
  const rows = traced.map((link, i) => `${i + 1}. ${linkName(link)}`);
  const cells = traced.flatMap((link, r) => link.loads.map((load, i) => ({y: rows[r], x: i * part, x2: (i + 1) * part, value: Math.min(load / 1000, 1), tooltip: {"": linkName(link), from: `${digits(i * part, 4)} ${unit.name}`, load: percent(load / 1000)}})));
  return card("Links: which is the bottleneck", "", element("p", {}, verdict),
    chartOf("links", (w) => linkBars(w, bars)), first.load < 0.005 ? null : chartOf("loads", (w) => heat(w, rows, [], cells, {end: part * first.loads.length, xTitle: `time of the step, ${unit.name}`, yTitle: null, domain: [0, 1], range: ["#e69138", "#d9534f"], opacity: true})),
    note(`${all > shown.length ? `The ${shown.length} busiest of ${count(all)} links that carry something. ` : ""}A transfer's bytes are spread evenly over its time.${verdict === busiest ? ` ${inside}` : ""}`));
}

function caseDetails(row, label, open) {
  const r = row.record;
  const facts = [
    r.plan_line ? element("p", {}, element("b", {}, "Plan "), r.plan_line) : null,
    ...r.planner_remarks.map((remark) => note(short(remark, 400))),
    r.extrapolated.length > 0 ? note(`Beyond measured ground: ${short(r.extrapolated.join("; "), 400)}.`) : null,
    r.planner_estimate_step_time_s !== null && r.step_time_s !== null ? note(`The planner's own estimate of the step: ${seconds(r.planner_estimate_step_time_s)}; simulated: ${seconds(r.step_time_s)}.`) : null,
  ];
  const charts = [...jobCards(row), ...(row.step ? [ganttCard(row.step), memoryCard(row.step)] : []), pathCard(row), row.step ? linkCard(row.step) : null, sensitivityCard(row)].filter(Boolean);
  const rejected = r.rejected.length > 0 ? [details(`${r.rejected.length} plans that were rejected`, () => [element("ul", {}, r.rejected.map((one) => element("li", {}, element("b", {}, short(one.plan, 200)), ` ${short(one.reason, 300)}`)))])] : [];
  const plan = row.plan_yaml ? [toCopy("Plan", row.plan_yaml)] : row.has_plan ? [note("The plan's text is too long for this page; `--format json` has it.")] : [];
  const summary = [element("b", {}, short(label, 120)), ranWell(row) ? short(r.plan_line ?? "", 200) : short(r.reason ?? "", 200)];
  return details(summary, () => [...facts, element("div", {class: "charts"}, charts), row.step_left_out ? note("Its timeline is left out: this page holds those of the first 16 cases.") : null, ...rejected, ...plan], open);
}

function topologyCard(block) {
  const drawing = block.topology;
  return card("Topology", "wide", element("p", {}, block.fabric ? `${short(block.fabric, 300)}.` : ""), chartOf("topology", (w) => topology(w, drawing)),
    note(`Nodes and switches that are in the same place are one box${drawing.left_out > 0 ? `; ${count(drawing.left_out)} more are left out` : ""}. A line says what one of the lower box can send up.`));
}

/// Why each row is faster than the next.
function gapList(gaps) {
  const lines = gaps.split("\n").map((line) => line.trim()).filter(Boolean);
  return lines.length > 0 ? element("ul", {class: "soft"}, lines.map((line) => element("li", {}, short(line, 600)))) : null;
}

function blockSection(block, index, blocks) {
  const several = blocks.length > 1, labels = labelsOf(block.rows);
  const sameTopology = index > 0 && JSON.stringify(block.topology) === JSON.stringify(blocks[index - 1].topology);
  const title = block.scenario + (block.variant ? ` · ${block.variant}` : "");
  const open = (i) => index === 0 && i === 0;
  return element("section", {id: `block-${index}`}, several ? element("h2", {class: "clamp"}, title) : null, note(short(block.workload, 600)), note(short(block.cluster, 600)), note(block.objective ? `objective: ${block.objective}` : ""),
    rankedTable(block), block.sentence ? element("p", {class: "verdict"}, short(block.sentence, 1000)) : null, gapList(block.gaps),
    element("div", {class: "charts"}, [timeCard(block.rows), paretoCard(block.rows)].filter(Boolean)),
    block.rows.map((row, i) => caseDetails(row, labels[i], open(i))), sameTopology ? null : element("div", {class: "charts"}, topologyCard(block)));
}

function resultsPage(data) {
  const several = data.blocks.length > 1;
  const scenarios = [...new Set(data.blocks.map((b) => b.scenario))];
  document.title = `Trainyard: ${short(scenarios.join(", "), 80)}`;
  return [
    element("h1", {class: "clamp"}, scenarios.join(", ") + (several || !data.blocks[0]?.variant ? "" : ` · ${data.blocks[0].variant}`)),
    several ? element("nav", {}, data.blocks.map((b, i) => element("a", {href: `#block-${i}`}, short(b.scenario + (b.variant ? ` · ${b.variant}` : ""), 80)))) : null,
    ...data.blocks.map(blockSection),
    ...data.sources.map((source) => details([element("b", {}, "Scenario"), short(source.scenario, 120)], () => [toCopy("", source.text)])),
  ];
}

// ---- sweep

const isNumber = (text) => text.trim() !== "" && Number.isFinite(parseFloat(text));
const figureTitles = {
  tokens_per_s: "tokens a second", samples_per_s: "samples a second", goodput_tokens_per_s: "goodput, tokens a second", usd_per_million_tokens: "USD a million tokens", step_time_s: "step", mfu: "MFU", bubble_fraction: "bubble",
  exposed_communication_fraction: "exposed communication", price_usd_per_h: "USD an hour", usd_total: "USD in all", peak_memory_bytes: "peak memory",
};

const shares = new Set(["mfu", "bubble_fraction", "exposed_communication_fraction"]);
const figureText = (figure, value) => (value === null ? "" : shares.has(figure) ? percent(value) : figure === "peak_memory_bytes" ? `${digits(value / 1e9)} GB` : figure === "step_time_s" ? seconds(value) : digits(value));

/// Values in the order in which they were set.
const valuesOf = (data, key) => [...new Set(data.rows.map((row) => row.set[key]))];

function choice(label, options, value, change) {
  const select = element("select", {onchange: () => change(select.value)}, options.map(([v, text]) => element("option", {value: v, selected: String(v) === String(value)}, short(text, 60))));
  return element("label", {}, `${label} `, select);
}

function sweepPage(data) {
  document.title = `Trainyard: sweep of ${short(data.scenario, 80)}`;
  const who = (row) => row.strategy + (row.variant ? ` · ${row.variant}` : "");
  const strategies = [...new Set(data.rows.map(who))].filter(Boolean);
  const keys = data.keys.map((key, i) => ({key, i, values: valuesOf(data, i)}));
  const varied = keys.filter((k) => k.values.length > 1);
  const state = {figure: 0, strategy: strategies[0] ?? "", x: (varied[0] ?? keys[0])?.i ?? 0, y: varied[1]?.i ?? -1, fixed: keys.map((k) => k.values[0])};
  const holder = element("div"), tools = element("div", {class: "tools"});
  const chosen = (free) => data.rows.filter((row) => keys.every((k) => free.includes(k.i) || row.set[k.i] === state.fixed[k.i]));
  const value = (row) => (row.status === "ok" ? row.figures[state.figure] : null);
  const change = (set) => (v) => { set(v); show(); };
  const tip = (row) => ({"": who(row), ...Object.fromEntries(keys.map((k) => [k.key, row.set[k.i]])), [figureTitles[data.figures[state.figure]]]: value(row) === null ? short(row.reason ?? row.status, 160) : figureText(data.figures[state.figure], value(row))});
  const lines = () => {
    const axis = keys[state.x], numeric = axis.values.every(isNumber);
    const at = (v) => (numeric ? parseFloat(v) : axis.values.indexOf(v));
    const points = chosen([state.x]).filter((row) => row.strategy).map((row) => ({series: strategies.indexOf(who(row)), at: at(row.set[state.x]), value: value(row), tooltip: tip(row)})).sort((a, b) => a.at - b.at);
    return [legend(Object.fromEntries(strategies.map((s, i) => [s, seriesColours[i % seriesColours.length]]))),
      chartOf("lines", (w) => courses(w, 360, points, strategies.map((s, i) => i), numeric ? axis.key : `${axis.key}: ${axis.values.map((v, i) => `${i} = ${v}`).join(", ")}`, figureTitles[data.figures[state.figure]], {interpolate: "linear", dots: true}))];
  };
  const range = (cells) => {
    const known = cells.map((c) => c.value).filter((v) => v !== null), figure = data.figures[state.figure];
    return known.length > 0 ? `From ${figureText(figure, Math.min(...known))} (pale) to ${figureText(figure, Math.max(...known))} (full).` : "";
  };
  const map = () => {
    const cells = chosen([state.x, state.y]).filter((row) => who(row) === state.strategy || !row.strategy).map((row) => ({x: row.set[state.x], y: row.set[state.y], value: value(row), tooltip: tip(row)}));
    return [chartOf("heat", (w) => heat(w, keys[state.y].values, keys[state.x].values, cells, {xTitle: keys[state.x].key, yTitle: w > 600 ? keys[state.y].key : null, text: w / keys[state.x].values.length > 34})), note(`${range(cells)} Dashed: no plan fits, or the values make no scenario; the tip says why.`)];
  };
  const show = () => {
    const isMap = state.y >= 0 && state.y !== state.x;
    tools.replaceChildren(choice("figure", data.figures.map((f, i) => [i, figureTitles[f]]), state.figure, change((v) => { state.figure = Number(v); })),
      ...(isMap && strategies.length > 1 ? [choice("strategy", strategies.map((s) => [s, s]), state.strategy, change((v) => { state.strategy = v; }))] : []),
      ...(keys.length > 1 ? [choice("across", varied.map((k) => [k.i, k.key]), state.x, change((v) => { state.x = Number(v); })), choice("down", [[-1, "nothing: lines"], ...varied.map((k) => [k.i, k.key])], state.y, change((v) => { state.y = Number(v); }))] : []),
      ...varied.filter((k) => k.i !== state.x && !(isMap && k.i === state.y)).map((k) => choice(k.key, k.values.map((v) => [v, v]), state.fixed[k.i], change((v) => { state.fixed[k.i] = v; }))));
    holder.replaceChildren(...(isMap ? map() : lines()).filter(Boolean));
    drawAll(holder);
  };
  setTimeout(show);
  const best = [...data.rows].filter((row) => value(row) !== null).sort((a, b) => (value(b) - value(a)) * (/usd|time|fraction/.test(data.figures[0]) ? -1 : 1)).slice(0, 20);
  const columns = [{title: "strategy", words: true, of: who}, ...keys.map((k) => ({title: k.key, of: (row) => short(row.set[k.i], 60)})), ...data.figures.slice(0, 6).map((f, i) => ({title: figureTitles[f], of: (row) => figureText(f, row.figures[i])}))];
  return [element("h1", {class: "clamp"}, `Sweep of ${data.scenario}`), note(`${count(data.all)} results over ${keys.map((k) => `${short(k.key, 80)} (${k.values.length})`).join(" × ")}${data.all > data.rows.length ? `; this page holds the first ${count(data.rows.length)}` : ""}`),
    data.figures.length > 0 ? element("div", {class: "charts"}, card("Figures over the grid", "wide", tools, holder)) : element("p", {class: "verdict"}, "No point has a figure."),
    best.length > 0 ? element("h2", {}, `The best by ${figureTitles[data.figures[0]]}`) : null, best.length > 0 ? table(columns, best) : null];
}

// ---- validation

const validationFields = ["id", "source", "gpu", "gpus", "model", "measured_s", "predicted_s", "measured_bytes", "predicted_bytes", "status", "reason", "split"];

function errorsTable(groups, key) {
  const rows = groups.filter((g) => g[key]);
  const columns = [{title: "group", words: true, of: (g) => (g.kind === "all" ? "all" : `${g.kind}: ${short(g.name, 80)}`)}, {title: "rows", of: (g) => count(g.rows)}, {title: "predicted", of: (g) => count(g.predicted)},
    ...["median", "p90", "maximum", "bias"].map((f) => ({title: f, of: (g) => percent(g[key][f])}))];
  return rows.length > 0 ? table(columns, rows) : null;
}

function validationPage(data) {
  document.title = "Trainyard: predicted against measured";
  const rows = data.rows.map((values) => Object.fromEntries(validationFields.map((f, i) => [f, values[i]])));
  const sources = [...new Set(rows.map((r) => r.source))];
  const pairs = (measured, predicted, unit) => rows.filter((r) => r[measured] > 0 && r[predicted] > 0).map((r) => ({measured: r[measured] / unit, predicted: r[predicted] / unit, source: r.source, gpus: r.gpus || 1, error: r[predicted] / r[measured] - 1,
    tooltip: {"": short(r.id, 120), model: short(r.model, 80), on: `${r.gpus ?? "?"} × ${short(r.gpu, 60)}`, measured: digits(r[measured] / unit, 4), predicted: digits(r[predicted] / unit, 4), error: percent(r[predicted] / r[measured] - 1), split: r.split}}));
  const times = pairs("measured_s", "predicted_s", 1), memory = pairs("measured_bytes", "predicted_bytes", 1e9);
  const shown = legend(Object.fromEntries(sources.map((s, i) => [s, seriesColours[i % seriesColours.length]])));
  const bins = [...Array(41).keys()].map((i) => ({from: Math.round(-100 + 5 * i) / 100, count: 0, range: i === 40 ? "100 % and more" : `${-100 + 5 * i} % to ${-95 + 5 * i} %`}));
  for (const t of times) ++bins[Math.max(0, Math.min(40, Math.floor((t.error + 1) * 20 + 1e-9)))].count;
  const without = rows.length - times.length;
  return [element("h1", {}, "Predicted against measured"),
    note(`${count(data.all)} published measurements; ${count(times.length)} points have a measured and a predicted step time${data.every > 1 ? `, of every ${data.every}th row` : ""}${without > 0 ? `; ${count(without)} have not` : ""}. A miss is shown as a miss.`), shown,
    element("div", {class: "charts"}, [
      times.length > 0 ? card("Step time", "", chartOf("scatter", (w) => scatter(w, times, sources, "s")), note("Dashed: 10 % off.")) : null,
      times.length > 0 ? card("Errors by size", "", chartOf("residual", (w) => residuals(w, times, sources))) : null,
      times.length > 0 ? card("How many errors are how large", "", chartOf("histogram", (w) => histogram(w, bins))) : null,
      memory.length > 0 ? card("Peak memory", "", chartOf("scatter memory", (w) => scatter(w, memory, sources, "GB")), note("Dashed: 10 % off.")) : null].filter(Boolean)),
    element("h2", {}, "Errors of the step time"), errorsTable(data.groups, "step_time_error") ?? note("none"),
    data.groups.some((g) => g.peak_memory_error) ? element("h2", {}, "Errors of the peak memory") : null, errorsTable(data.groups, "peak_memory_error")];
}

{
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  page.replaceChildren(...{results: resultsPage, sweep: sweepPage, validation: validationPage}[data.kind](data).flat().filter(Boolean),
    element("p", {class: "soft"}, `Made by Trainyard ${data.version}, catalogues ${data.catalogue_hash}. Everything is in this file; nothing is fetched.`));
  drawAll(page);
}
