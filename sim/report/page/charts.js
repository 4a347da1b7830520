// What each chart shows, as specifications for Vega. Colours of text and lines are the style sheet's.
"use strict";

const kindColours = {
  forward: "#5b9bd5", backward: "#3a6ea5", weight_gradient: "#2f8f9d", recompute: "#8e7cc3", tensor: "#e69138", pipeline: "#d9b300", data: "#d9534f",
  expert: "#c2579e", context: "#a0714f", optimizer: "#57a773", offload: "#4fb3bf", bubble: "#aab1bb", other: "#7d858f",
};
const seriesColours = ["#4a90d9", "#e69138", "#57a773", "#d9534f", "#8e7cc3", "#a0714f", "#c2579e", "#4fb3bf", "#b59f00", "#7d858f", "#6b8e23", "#ad6a6a"];
const font = 'system-ui, "DejaVu Sans", sans-serif';
const config = {
  font, style: {"guide-label": {font, fontSize: 11}, "guide-title": {font, fontSize: 11, fontWeight: "normal"}},
  axis: {domain: false, tickSize: 4, labelPadding: 4, titlePadding: 8},
  range: {category: seriesColours},
};

const frame = (width, height, more) => ({width, height, padding: 4, autosize: {type: "fit", contains: "padding"}, ...more});
const named = (name, values, transform) => ({name, values, transform});
const linear = (name, range, domain, more) => ({name, type: "linear", range, domain, nice: true, zero: true, ...more});
const bottom = (title, more) => ({orient: "bottom", scale: "x", title, grid: true, tickCount: {signal: "max(3, width / 90)"}, labelOverlap: true, ...more});
const left = (title, more) => ({orient: "left", scale: "y", title, grid: true, tickCount: {signal: "max(3, height / 50)"}, ...more});
const bands = (width, more) => ({orient: "left", scale: "y", ticks: false, labelLimit: Math.min(260, width * 0.36), ...more});
const colourOf = (colours) => ({name: "colour", type: "ordinal", domain: Object.keys(colours), range: Object.values(colours)});

/// bars: {row, name, kind, time, share}; unit: {name, title} of their time.
function timeByKind(width, bars, colours, unit) {
  const names = new Map(bars.map((bar) => [bar.row, bar.name]));
  return frame(width, 26 * names.size + 50, {
    data: [named("bars", bars, [{type: "stack", groupby: ["row"], field: "time"}])],
    scales: [linear("x", "width", {data: "bars", field: "y1"}), {name: "y", type: "band", domain: [...names.keys()], range: "height", padding: 0.22},
      {name: "label", type: "ordinal", domain: [...names.keys()], range: [...names.values()]}, colourOf(colours)],
    axes: [bottom(unit.title), bands(width, {encode: {labels: {update: {text: {signal: "scale('label', datum.value)"}}}}})],
    marks: [{type: "rect", from: {data: "bars"}, encode: {update: {
      x: {scale: "x", field: "y0"}, x2: {scale: "x", field: "y1"}, y: {scale: "y", field: "row"}, height: {scale: "y", band: 1}, fill: {scale: "colour", field: "kind"},
      tooltip: {signal: `{'': datum.name, kind: datum.kind, time: format(datum.time, '.4~g') + ' ${unit.name}', share: format(datum.share, '.1%')}`},
    }}}],
  });
}

/// points: {name, rate, price, front}
function pareto(width, points, rateTitle, priceTitle) {
  const front = points.filter((p) => p.front).sort((a, b) => a.rate - b.rate);
  const around = (values) => {
    const low = Math.min(...values), high = Math.max(...values), room = (high - low || high) * 0.12;
    return [Math.max(0, low - room), high + room];
  };
  return frame(width, 290, {
    data: [named("points", points), named("front", front)],
    scales: [linear("x", "width", around(points.map((p) => p.rate)), {zero: false}), linear("y", "height", around(points.map((p) => p.price)), {zero: false})],
    axes: [bottom(rateTitle), left(priceTitle)],
    marks: [
      {type: "line", name: "frontier", from: {data: "front"}, encode: {update: {x: {scale: "x", field: "rate"}, y: {scale: "y", field: "price"}, stroke: {value: "#57a773"}, strokeWidth: {value: 2}, strokeDash: {value: [5, 4]}}}},
      {type: "symbol", name: "dots", from: {data: "points"}, encode: {update: {
        x: {scale: "x", field: "rate"}, y: {scale: "y", field: "price"}, size: {value: 90}, stroke: {signal: "datum.front ? '#57a773' : '#4a90d9'"}, strokeWidth: {value: 2},
        fill: {signal: "datum.front ? '#57a773' : 'transparent'"},
        tooltip: {signal: "{'': datum.name, throughput: format(datum.rate, ',.4~g'), price: format(datum.price, '.4~g') + ' USD', front: datum.front ? 'no other is both faster and cheaper' : 'another is faster and cheaper'}"},
      }}},
      {type: "text", from: {data: "dots"}, encode: {enter: {text: {field: "datum.name"}, limit: {value: 150}, font: {value: font}, fontSize: {value: 11}, fill: {value: "#888"}}},
        transform: [{type: "label", size: {signal: "[width + 30, height + 20]"}, offset: [5], anchor: ["right", "left", "top", "bottom", "top-right", "bottom-right"], avoidMarks: ["frontier"]}]},
    ],
  });
}

/// view: see LevelOfDetail; rows: labels from top to bottom.
function gantt(width, rows, view, length) {
  const unit = length >= 1e6 ? {by: 1e6, name: "s"} : {by: 1e3, name: "ms"};
  return frame(width, 19 * rows.length + 42, {
    signals: [
      {name: "unit", value: unit.by}, {name: "from", value: view.from}, {name: "to", value: view.to},
      {name: "brush", value: null, on: [
        {events: {source: "view", type: "pointerdown"}, update: "[clamp(x(), 0, width), clamp(x(), 0, width)]"},
        {events: "[view:pointerdown, window:pointerup] > window:pointermove!", update: "brush ? [brush[0], clamp(x(), 0, width)] : null"},
      ]},
      {name: "chosen", value: null, on: [{events: {source: "window", type: "pointerup"}, update: "brush && abs(brush[1] - brush[0]) > 4 ? [invert('x', min(brush[0], brush[1])) * unit, invert('x', max(brush[0], brush[1])) * unit] : null"}]},
      {name: "wheel", value: null, on: [{events: {source: "view", type: "wheel", filter: "event.ctrlKey || event.shiftKey", consume: true}, update: "{at: invert('x', x()) * unit, by: pow(1.002, event.deltaY + event.deltaX)}", force: true}]},
    ],
    data: [named("spans", view.spans)],
    scales: [{name: "x", type: "linear", range: "width", domain: {signal: "[from / unit, to / unit]"}, zero: false},
      {name: "y", type: "band", domain: rows.map((r, i) => i), range: "height", paddingInner: 0.15}, {name: "label", type: "ordinal", domain: rows.map((r, i) => i), range: rows},
      colourOf(kindColours)],
    axes: [bottom(`time of the step, ${unit.name}`), bands(width, {encode: {labels: {update: {text: {signal: "scale('label', datum.value)"}}}}})],
    marks: [
      {type: "group", clip: true, encode: {update: {width: {signal: "width"}, height: {signal: "height"}, fill: {value: "transparent"}}}, marks: [
        {type: "rect", from: {data: "spans"}, encode: {update: {
          x: {signal: "scale('x', datum.start / unit)"}, x2: {signal: "max(scale('x', datum.end / unit), scale('x', datum.start / unit) + 0.6)"},
          y: {scale: "y", field: "row"}, height: {scale: "y", band: 1}, fill: {scale: "colour", field: "kind"},
          tooltip: {signal: "{'': datum.title, row: datum.label, start: format(datum.start / unit, ',.5~g'), length: format((datum.end - datum.start) / unit, ',.4~g')}"},
        }}},
        {type: "rect", interactive: false, encode: {update: {x: {signal: "brush ? min(brush[0], brush[1]) : 0"}, x2: {signal: "brush ? max(brush[0], brush[1]) : 0"}, y: {value: 0}, height: {signal: "height"}, fill: {value: "#4a90d9"}, fillOpacity: {value: 0.25}}}},
      ]},
    ],
  });
}

/// points: {series, at, value}, in order of time; each value holds until the next point.
function courses(width, height, points, series, xTitle, yTitle, options = {}) {
  const area = options.area ?? false;
  return frame(width, height, {
    data: [named("points", points)],
    scales: [linear("x", "width", {data: "points", field: "at"}, {nice: false}), linear("y", "height", options.domain ?? {data: "points", field: "value"}),
      {name: "colour", type: "ordinal", domain: series, range: options.colours ?? "category"}],
    axes: [bottom(xTitle), left(yTitle, options.format ? {format: options.format} : {})],
    marks: [
      {type: "group", from: {facet: {name: "one", data: "points", groupby: "series"}}, marks: [{
        type: area ? "area" : "line", from: {data: "one"}, encode: {update: {
          x: {scale: "x", field: "at"}, y: {scale: "y", field: "value"}, ...(area ? {y2: {scale: "y", value: 0}, fill: {scale: "colour", field: "series"}, fillOpacity: {value: 0.35}} : {}),
          stroke: {scale: "colour", field: "series"}, strokeWidth: {value: 1.6}, interpolate: {value: options.interpolate ?? "step-after"}, defined: {signal: "isValid(datum.value)"}}}}]},
      ...(options.dots ? [{type: "symbol", from: {data: "points"}, encode: {update: {x: {scale: "x", field: "at"}, y: {scale: "y", field: "value"}, size: {value: 36}, fill: {scale: "colour", field: "series"}, opacity: {signal: "isValid(datum.value) ? 1 : 0"}, tooltip: {signal: "datum.tooltip"}}}}] : []),
      ...(options.limit ? [{type: "rule", name: "limit", encode: {update: {x: {value: 0}, x2: {signal: "width"}, y: {scale: "y", value: options.limit}, stroke: {value: "#d9534f"}, strokeDash: {value: [5, 4]}}}}] : []),
    ],
  });
}

/// bars: {at, name, share, kind, tooltip}
function shareBars(width, bars) {
  return frame(width, 22 * bars.length + 46, {
    data: [named("bars", bars)],
    scales: [linear("x", "width", {data: "bars", field: "share"}), {name: "y", type: "band", domain: bars.map((b) => b.at), range: "height", padding: 0.25}, {name: "label", type: "ordinal", domain: bars.map((b) => b.at), range: bars.map((b) => b.name)}, colourOf({...kindColours, wait: kindColours.bubble})],
    axes: [bottom("share of the step", {format: "%"}), bands(width, {encode: {labels: {update: {text: {signal: "scale('label', datum.value)"}}}}})],
    marks: [{type: "rect", from: {data: "bars"}, encode: {update: {x: {value: 0}, x2: {scale: "x", field: "share"}, y: {scale: "y", field: "at"}, height: {scale: "y", band: 1}, fill: {scale: "colour", field: "kind"}, tooltip: {field: "tooltip"}}}}],
  });
}

/// links: {at, name, load, busy}
function linkBars(width, links) {
  return frame(width, 22 * links.length + 46, {
    data: [named("links", links)],
    scales: [linear("x", "width", [0, Math.max(0.1, ...links.map((l) => Math.max(l.load, l.busy)))]), {name: "y", type: "band", domain: links.map((l, i) => i), range: "height", padding: 0.25}, {name: "label", type: "ordinal", domain: links.map((l, i) => i), range: links.map((l) => l.name)}],
    axes: [bottom("share of the step (pale: carries something) and of the capacity (full)", {format: "%"}), bands(width, {encode: {labels: {update: {text: {signal: "scale('label', datum.value)"}}}}})],
    marks: [["busy", "#e69138", 0.3], ["load", "#e69138", 1]].map(([field, colour, opacity]) => ({type: "rect", from: {data: "links"}, encode: {update: {
      x: {value: 0}, x2: {scale: "x", field}, y: {scale: "y", field: "at"}, height: {scale: "y", band: 1}, fill: {value: colour}, fillOpacity: {value: opacity},
      tooltip: {signal: "{'': datum.name, 'mean load': format(datum.load, '.1%') + ' of ' + datum.rate, 'carries something': format(datum.busy, '.1%') + ' of the step'}"}}}})),
  });
}

/// cells: {x, y, value, tooltip}; with `continuous` x is a position from 0 to `continuous.end`.
function heat(width, rows, columns, cells, options) {
  const height = (options.end ? 22 : Math.max(22, Math.min(46, 420 / Math.max(rows.length, 1)))) * rows.length + 60;
  const values = cells.map((c) => c.value).filter((v) => v !== null);
  const x = options.end ? {name: "x", type: "linear", domain: [0, options.end], range: "width"} : {name: "x", type: "band", domain: columns, range: "width", padding: 0.02};
  return frame(width, height, {
    data: [named("cells", cells)],
    scales: [x, {name: "y", type: "band", domain: rows, range: "height", padding: options.end ? 0.15 : 0.02},
      {name: "shade", type: "linear", domain: options.domain ?? [Math.min(...values), Math.max(...values)], range: options.range ?? ["#f1f4e4", "#4fa3a0"], interpolate: "lab", zero: false}],
    axes: [bottom(options.xTitle, {grid: false, ...(options.end ? {} : {tickCount: undefined})}), bands(width, {title: options.yTitle})],
    marks: [{type: "rect", name: "squares", from: {data: "cells"}, encode: {update: {
      x: {scale: "x", field: "x"}, ...(options.end ? {x2: {scale: "x", field: "x2"}} : {width: {scale: "x", band: 1}}), y: {scale: "y", field: "y"}, height: {scale: "y", band: 1},
      fill: {signal: "datum.value === null ? 'transparent' : scale('shade', datum.value)"}, stroke: {signal: "datum.value === null ? '#d9534f' : null"}, strokeDash: {value: [3, 3]},
      ...(options.opacity ? {fillOpacity: {field: "value"}} : {}), tooltip: {signal: "datum.tooltip"}}}},
    ...(options.text ? [{type: "text", interactive: false, from: {data: "cells"}, encode: {update: {
      x: {scale: "x", field: "x", band: 0.5}, y: {scale: "y", field: "y", band: 0.5}, align: {value: "center"}, baseline: {value: "middle"}, text: {signal: "datum.value === null ? '–' : format(datum.value, '.3~s')"},
      limit: {signal: "bandwidth('x')"}, fontSize: {value: 10}, font: {value: font}}}, name: "inside"}] : [])],
  });
}

/// rows: {measured, predicted, source, tooltip}; both axes logarithmic, lines at equality and 10 % beside it.
function scatter(width, rows, sources, title) {
  const all = rows.flatMap((r) => [r.measured, r.predicted]);
  const domain = [Math.min(...all) / 1.2, Math.max(...all) * 1.2];
  const lines = [1, 0.9, 1.1].map((by) => ({by}));
  return frame(width, Math.min(width * 0.8, 420), {
    data: [named("rows", rows), named("lines", lines)],
    scales: [{name: "x", type: "log", domain, range: "width"}, {name: "y", type: "log", domain, range: "height"}, {name: "colour", type: "ordinal", domain: sources, range: "category"}],
    axes: [bottom(`measured, ${title}`, {format: ".2~g"}), left("predicted", {format: ".2~g"})],
    marks: [
      {type: "group", clip: true, encode: {update: {width: {signal: "width"}, height: {signal: "height"}}}, marks: [
        {type: "rule", name: "ink", from: {data: "lines"}, encode: {update: {x: {scale: "x", value: domain[0]}, y: {signal: `scale('y', ${domain[0]} * datum.by)`}, x2: {scale: "x", value: domain[1]}, y2: {signal: `scale('y', ${domain[1]} * datum.by)`}, stroke: {value: "#888"}, strokeDash: {signal: "datum.by === 1 ? [1, 0] : [4, 4]"}}}},
        {type: "symbol", name: "dots", from: {data: "rows"}, encode: {update: {x: {scale: "x", field: "measured"}, y: {scale: "y", field: "predicted"}, size: {value: 22}, fill: {scale: "colour", field: "source"}, fillOpacity: {value: 0.6}, tooltip: {field: "tooltip"}}}},
      ]},
    ],
  });
}

/// rows: {gpus, error, source, tooltip}
function residuals(width, rows, sources) {
  return frame(width, Math.min(width * 0.8, 420), {
    data: [named("rows", rows)],
    scales: [{name: "x", type: "log", base: 2, domain: {data: "rows", field: "gpus"}, range: "width", padding: 8}, {name: "y", type: "linear", domain: {data: "rows", field: "error"}, range: "height", nice: true}, {name: "colour", type: "ordinal", domain: sources, range: "category"}],
    axes: [bottom("GPUs", {format: "~s"}), left("predicted over measured, less 1", {format: "+.0%"})],
    marks: [
      {type: "rule", name: "ink", encode: {update: {x: {value: 0}, x2: {signal: "width"}, y: {scale: "y", value: 0}, stroke: {value: "#888"}}}},
      {type: "symbol", name: "dots", from: {data: "rows"}, encode: {update: {x: {scale: "x", field: "gpus"}, y: {scale: "y", field: "error"}, size: {value: 22}, fill: {scale: "colour", field: "source"}, fillOpacity: {value: 0.6}, tooltip: {field: "tooltip"}}}},
    ],
  });
}

/// How many errors lie in each range of 5 %; those beyond 100 % in the last.
function histogram(width, bins) {
  return frame(width, 240, {
    data: [named("bins", bins)],
    scales: [{name: "x", type: "band", domain: bins.map((b) => b.from), range: "width", padding: 0.1}, linear("y", "height", {data: "bins", field: "count"})],
    axes: [bottom("predicted over measured, less 1", {grid: false, format: "+.0%", tickCount: undefined, labelOverlap: true}), left("rows")],
    marks: [{type: "rect", from: {data: "bins"}, encode: {update: {x: {scale: "x", field: "from"}, width: {scale: "x", band: 1}, y: {scale: "y", field: "count"}, y2: {scale: "y", value: 0}, fill: {value: "#4a90d9"}, tooltip: {signal: "{'': datum.range, rows: datum.count}"}}}}],
  });
}

/// points: {name, what, tier, members, x}, lines: {from, to, rate, links}; lines in a tier are arcs over it.
function topology(width, drawing) {
  const tiers = Math.max(0, ...drawing.points.map((p) => p.tier)) + 1;
  const at = (i) => drawing.points[i];
  const lines = drawing.lines.map((l) => ({...l, x: at(l.from).x, t: at(l.from).tier, x2: at(l.to).x, t2: at(l.to).tier, tooltip: {"": `${at(l.from).name} – ${at(l.to).name}`, "one way, each": l.rate, links: l.links}}));
  const widest = Math.max(1, ...[...Array(tiers).keys()].map((t) => drawing.points.filter((p) => p.tier === t).length));
  const box = Math.max(30, Math.min(200, width / widest - 8));
  const arcs = lines.some((l) => l.t === l.t2), labelled = lines.length <= 12 && !arcs;
  const centre = {scale: "y", field: "tier", band: 0.5};
  const text = (of, offset, size, more) => ({type: "text", interactive: false, from: {data: "points"}, encode: {update: {x: {scale: "x", field: "x"}, y: {...centre, offset}, align: {value: "center"}, baseline: {value: "middle"}, text: of, limit: {value: box - 6}, font: {value: font}, fontSize: {value: size}, ...more}}});
  return frame(width, 92 * tiers + (arcs ? 80 : 10), {
    data: [named("points", drawing.points), named("lines", lines, [
      {type: "formula", as: "y", expr: "scale('y', datum.t) + bandwidth('y') / 2"}, {type: "formula", as: "y2", expr: "scale('y', datum.t2) + bandwidth('y') / 2"},
      {type: "formula", as: "path", expr: "'M' + scale('x', datum.x) + ',' + datum.y + 'Q' + (scale('x', datum.x) + scale('x', datum.x2)) / 2 + ',' + (datum.t === datum.t2 ? datum.y - 50 - 110 * abs(datum.x2 - datum.x) : (datum.y + datum.y2) / 2) + ' ' + scale('x', datum.x2) + ',' + datum.y2"}])],
    scales: [{name: "x", type: "linear", domain: [0, 1], range: "width"}, {name: "y", type: "band", domain: [...Array(tiers).keys()].reverse(), range: [{signal: arcs ? "70" : "0"}, {signal: "height"}]}],
    marks: [
      {type: "path", name: "ink", from: {data: "lines"}, encode: {update: {path: {field: "path"}, stroke: {value: "#888"}, strokeWidth: {signal: "1 + log(1 + datum.links) / 1.5"}, tooltip: {field: "tooltip"}}}},
      ...(labelled ? [{type: "text", name: "rates", from: {data: "lines"}, encode: {update: {x: {signal: "(scale('x', datum.x) + scale('x', datum.x2)) / 2 + 6"}, y: {signal: "(datum.y + datum.y2) / 2"}, text: {field: "rate"}, font: {value: font}, fontSize: {value: 11}, baseline: {value: "middle"}}}}] : []),
      {type: "rect", name: "box", from: {data: "points"}, encode: {update: {xc: {scale: "x", field: "x"}, width: {value: box}, yc: centre, height: {value: 44}, cornerRadius: {value: 6}, strokeWidth: {value: 1.3}, tooltip: {signal: "{'': datum.name, what: datum.what, 'how many': datum.members}"}}}},
      text({signal: "(datum.members > 1 ? datum.members + ' × ' : '') + datum.name"}, -8, 12, {fontWeight: {value: "bold"}}),
      text({field: "what"}, 9, 10.5, {}),
    ],
  });
}
