/** Lines over a shared x axis, with optional bands, marked points and labels at their ends. */
import { markerPath, type Mark } from "../color";
import { s, type Child } from "../dom";
import { axisLabel, tickFormat } from "../format";
import { linear, niceDomain, spread, type Scale } from "../scale";
import { hideTooltip, showTooltip, type Place } from "../tooltip";
import { bottomAxis, chart, kTextSize, leftAxis } from "./frame";
import { shorten, textWidth } from "./text";

export interface LinePoint {
  x: number;
  y: number;
  /** Edges of the band round the line, where there is one. */
  low?: number;
  high?: number;
}

export interface Line {
  name: string;
  /** Lines of one group share a mark and one label at the end. */
  group: string;
  mark: Mark;
  points: LinePoint[];
  /** The x to mark with a ring. */
  marked: number | null;
}

export interface LineChartOptions {
  title: string;
  xLabel: string;
  yLabel: string;
  unit: string;
  lines: Line[];
  /** What the box says about one x. */
  readout: (x: number) => Child;
}

const kNarrow = 560;

export function lineChart(options: LineChartOptions, width: number): SVGSVGElement {
  const { lines, unit } = options;
  const narrow = width < kNarrow;
  const height = narrow ? 300 : 360;
  const points = lines.flatMap((line) => line.points.filter(({ y }) => Number.isFinite(y)));
  const limits = unit === "share" ? { limits: [0, 1] as const } : {};
  const yDomain = niceDomain(
    points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]),
    limits,
  );
  const yTop = 30;
  const yBottom = height - 46;
  const y = linear(yDomain, [yBottom, yTop], 5);
  const format = tickFormat(y.step, unit);
  const left = Math.max(...y.ticks.map((tick) => textWidth(format(tick), kTextSize))) + 14;
  const groups = [...new Set(lines.map((line) => line.group))];
  const widest = Math.max(0, ...groups.map((group) => textWidth(group, kTextSize)));
  const labelRoom = narrow ? 12 : Math.min(widest + 30, width * 0.25);
  const x = epochScale(
    points.map((point) => point.x),
    [left + 6, width - labelRoom - 4],
    narrow ? 5 : 10,
  );

  return chart(
    width,
    height,
    options.title,
    leftAxis({
      scale: y,
      format,
      label: axisLabel(options.yLabel, unit),
      left,
      right: x.range[1] + 4,
    }),
    bottomAxis({ scale: x, format: String, label: options.xLabel, top: yBottom, bottom: yBottom }),
    points.length === 0 &&
      s(
        "text",
        { class: "empty", x: (left + width) / 2, y: height / 2, "text-anchor": "middle" },
        "No values",
      ),
    lines.map((line) => drawLine(line, x, y)),
    !narrow && endLabels(lines, groups, x, y, labelRoom),
    points.length > 0 && cursor(options, x, y, width),
  );
}

/** Ticks of epochs are whole numbers, also when there are two of them. */
function epochScale(xs: number[], range: readonly [number, number], count: number): Scale {
  const low = xs.length > 0 ? Math.min(...xs) : 0;
  const high = xs.length > 0 ? Math.max(...xs) : 1;
  const scale = linear(low < high ? [low, high] : [low - 1, high + 1], range, count);
  scale.ticks = scale.ticks.filter(Number.isInteger);
  return scale;
}

/** A gap where a value is missing: the line is not drawn across it. */
function segments(points: LinePoint[]): LinePoint[][] {
  const parts: LinePoint[][] = [[]];
  for (const point of points) {
    if (Number.isFinite(point.y)) parts.at(-1)!.push(point);
    else if (parts.at(-1)!.length > 0) parts.push([]);
  }
  return parts.filter((part) => part.length > 0);
}

const at = (px: number, py: number): string => `${px.toFixed(1)} ${py.toFixed(1)}`;

function drawLine(line: Line, x: Scale, y: Scale): SVGGElement {
  const { mark } = line;
  const best = line.points.find((point) => point.x === line.marked && Number.isFinite(point.y));
  return s(
    "g",
    { class: "series", "aria-hidden": "true" },
    s("title", {}, line.name),
    segments(line.points).map((part) => [
      part.every(({ low, high }) => low !== undefined && high !== undefined) &&
        s("path", { class: "band", style: `fill:${mark.color}`, d: bandPath(part, x, y) }),
      s("path", {
        class: "line",
        style: `stroke:${mark.color}`,
        "stroke-dasharray": mark.dash || null,
        d: `M${part.map((point) => at(x(point.x), y(point.y))).join("L")}`,
      }),
      part.length === 1 &&
        s("circle", { style: `fill:${mark.color}`, cx: x(part[0]!.x), cy: y(part[0]!.y), r: 2.5 }),
    ]),
    best &&
      s("path", {
        class: "marked",
        style: `stroke:${mark.color}`,
        d: markerPath(mark.shape, x(best.x), y(best.y), 4.5),
      }),
  );
}

function bandPath(part: LinePoint[], x: Scale, y: Scale): string {
  const upper = part.map((point) => at(x(point.x), y(point.high!)));
  const lower = part.map((point) => at(x(point.x), y(point.low!))).reverse();
  return `M${[...upper, ...lower].join("L")}Z`;
}

/** One label a group, at the height where its longest line ends, tied to it by a thin line. */
function endLabels(lines: Line[], groups: string[], x: Scale, y: Scale, room: number): Child {
  const ends = groups.flatMap((group) => {
    const last = lines
      .filter((line) => line.group === group)
      .flatMap((line) => line.points.filter((point) => Number.isFinite(point.y)).slice(-1))
      .reduce<LinePoint | null>((far, point) => (far && far.x >= point.x ? far : point), null);
    return last ? [{ group, last }] : [];
  });
  const heights = spread(
    ends.map(({ last }) => y(last.y)),
    16,
    y.range[1],
    y.range[0],
  );
  const edge = x.range[1];
  return ends.map(({ group, last }, i) => [
    s("path", {
      class: "leader",
      d: `M${at(x(last.x) + 3, y(last.y))}L${at(edge + 14, heights[i]!)}`,
    }),
    s(
      "text",
      { class: "end", x: edge + 17, y: heights[i]! + 4 },
      shorten(group, kTextSize, room - 18),
    ),
  ]);
}

/** Follows the pointer, or the arrow keys once the plot has the focus. */
function cursor(options: LineChartOptions, x: Scale, y: Scale, width: number): SVGGElement {
  const xs = [...new Set(options.lines.flatMap((line) => line.points.map((point) => point.x)))];
  xs.sort((a, b) => a - b);
  const rule = s("line", { class: "rule", y1: y.range[1], y2: y.range[0], visibility: "hidden" });
  let current = -1;
  const show = (index: number): void => {
    current = Math.max(0, Math.min(xs.length - 1, index));
    const px = x(xs[current]!);
    for (const end of ["x1", "x2"]) rule.setAttribute(end, String(px));
    rule.setAttribute("visibility", "visible");
    area.setAttribute("aria-valuenow", String(xs[current]));
    const where = (): Place => {
      const plot = area.getBoundingClientRect();
      const share = (px - x.range[0] + 12) / (x.range[1] - x.range[0] + 24);
      return { left: plot.left + share * plot.width, top: plot.top, width: 0, height: 24 };
    };
    showTooltip(where, options.readout(xs[current]!));
  };
  const hide = (): void => {
    rule.setAttribute("visibility", "hidden");
    hideTooltip();
  };
  const area = s("rect", {
    class: "hit",
    x: x.range[0] - 12,
    y: y.range[1] - 4,
    width: Math.min(width, x.range[1] - x.range[0] + 24),
    height: y.range[0] - y.range[1] + 8,
    rx: 4,
    tabindex: 0,
    role: "slider",
    "aria-label": `${options.xLabel} whose values are read out`,
    "aria-valuemin": xs[0],
    "aria-valuemax": xs.at(-1),
    "aria-valuenow": xs[0],
    onpointermove: (event: PointerEvent) => {
      const plot = area.getBoundingClientRect();
      const px =
        x.range[0] -
        12 +
        ((event.clientX - plot.left) / plot.width) * (x.range[1] - x.range[0] + 24);
      const gaps = xs.map((value) => Math.abs(x(value) - px));
      show(gaps.indexOf(Math.min(...gaps)));
    },
    onpointerleave: hide,
    onblur: hide,
    onfocus: () => show(current < 0 ? 0 : current),
    onkeydown: (event: KeyboardEvent) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -xs.length, End: xs.length }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      show(current + step);
    },
  });
  return s("g", { "data-screen-only": "" }, rule, area);
}
