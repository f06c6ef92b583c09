/** One row a variant: the mean as a mark, an interval as a line, each seed below it. */
import { markerPath, type Mark } from "../color";
import { s } from "../dom";
import { axisLabel, formatValue, tickFormat } from "../format";
import { linear, niceDomain, type DomainOptions, type Scale } from "../scale";
import { describeOnHover } from "../tooltip";
import { bottomAxis, chart, kTextSize } from "./frame";
import { shorten, textWidth } from "./text";

export interface DotRow {
  name: string;
  mark: Mark;
  mean: number;
  /** The ends of the line; NaN: none. */
  low: number;
  high: number;
  values: number[];
  /** What stands at the right. */
  text: string;
  best: boolean;
  /** The mark is an outline: what it shows may be chance. */
  hollow?: boolean;
  /** What hover, focus and screen readers say. */
  sentence: string;
}

export interface DotPlotOptions {
  label: string;
  unit: string;
  rows: DotRow[];
  /** Where the axis may not go; a share stays between 0 and 1 if nothing is said. */
  limits?: DomainOptions["limits"];
  /** A line across all rows, to compare with. */
  rule?: number;
}

/** With less room than this for the plot itself, names and numbers go above their rows. */
const kNarrow = 220;

export function dotPlot(options: DotPlotOptions, width: number): SVGSVGElement {
  const { label, unit, rows, rule } = options;
  const numbers = rows.map((row) => row.text);
  const widest = (texts: string[]): number =>
    Math.max(0, ...texts.map((text) => textWidth(text, kTextSize + 1)));
  const besideName = Math.min(widest(rows.map((row) => row.name)) + 18, width * 0.4);
  const besideNumber = widest(numbers) + 22;
  const narrow = width - besideName - besideNumber < kNarrow;
  const nameRoom = narrow ? 0 : besideName;
  const numberRoom = narrow ? 0 : besideNumber;
  const rowHeight = narrow ? 54 : 40;
  const bottom = rows.length * rowHeight + 6;

  const reach = rows.flatMap(({ mean, low, high, values }) => [...values, mean, low, high]);
  if (rule !== undefined) reach.push(rule);
  const bounds = options.limits ?? (unit === "share" ? ([0, 1] as const) : undefined);
  const limits = bounds ? { limits: bounds } : {};
  const tickCount = Math.max(2, Math.min(6, Math.floor((width - nameRoom - numberRoom) / 64)));
  const x = linear(
    niceDomain(reach, { ...limits, tickCount }),
    [nameRoom + 14, width - numberRoom - 14],
    tickCount,
  );
  return chart(
    width,
    bottom + 44,
    `${label} by variant`,
    bottomAxis({
      scale: x,
      format: tickFormat(x.step, unit),
      label: axisLabel(label, unit),
      top: 0,
      bottom,
    }),
    rule !== undefined && s("line", { class: "rule", x1: x(rule), x2: x(rule), y1: 0, y2: bottom }),
    rows.map((row, i) => {
      const top = i * rowHeight + 3;
      const y = narrow ? top + 30 : top + rowHeight / 2 - 5;
      const textY = narrow ? top + 15 : y + 5;
      const g = s(
        "g",
        { class: "row", tabindex: 0, role: "img", "aria-label": row.sentence },
        s("rect", {
          class: "hit",
          x: 0.5,
          y: top,
          width: width - 1,
          height: rowHeight,
          rx: 4,
          "data-screen-only": "",
        }),
        s(
          "text",
          { class: row.best ? "name best" : "name", x: 4, y: textY },
          shorten(row.name, kTextSize + 1, narrow ? width * 0.55 : nameRoom - 8),
        ),
        s(
          "text",
          {
            class: row.best ? "number best" : "number",
            x: width - 4,
            y: textY,
            "text-anchor": "end",
          },
          numbers[i],
        ),
        interval(row, x, y),
      );
      describeOnHover(g, () => row.sentence);
      return g;
    }),
  );
}

function interval(row: DotRow, x: Scale, y: number): SVGGElement | null {
  if (!Number.isFinite(row.mean)) return null;
  const [low, high] = x.domain;
  const clip = (value: number): number => x(Math.min(high, Math.max(low, value)));
  const color = row.mark.color;
  return s(
    "g",
    { "aria-hidden": "true" },
    Number.isFinite(row.low) &&
      s("path", {
        class: "interval",
        style: `stroke:${color}`,
        d: `M${clip(row.low)} ${y - 4}v8m0-4H${clip(row.high)}m0-4v8`,
      }),
    row.values
      .filter(Number.isFinite)
      .map((value) =>
        s("circle", { class: "seed", style: `stroke:${color}`, cx: x(value), cy: y + 12, r: 3 }),
      ),
    s("path", {
      class: row.hollow ? "marked" : "mean",
      style: row.hollow ? `stroke:${color}` : `fill:${color}`,
      d: markerPath(row.mark.shape, x(row.mean), y, 5),
    }),
  );
}

/** The same in the height of a line of text, for a table cell. `domain` is shared by the column. */
export function strip(row: DotRow, domain: readonly [number, number], unit: string): SVGSVGElement {
  const width = 96;
  const x = linear(domain, [6, width - 6], 2);
  const seeds = row.values.map((value) => formatValue(value, unit)).join(", ");
  return s(
    "svg",
    {
      class: "strip",
      width,
      height: 14,
      viewBox: `0 0 ${width} 14`,
      role: "img",
      "aria-label": `Seeds: ${seeds}`,
    },
    s("line", { class: "track", x1: 0, x2: width, y1: 7, y2: 7 }),
    Number.isFinite(row.mean) &&
      s("line", { class: "middle", x1: x(row.mean), x2: x(row.mean), y1: 1, y2: 13 }),
    row.values.filter(Number.isFinite).map((value) =>
      s("circle", {
        class: "seed",
        style: `stroke:${row.mark.color}`,
        cx: x(value),
        cy: 7,
        r: 3,
      }),
    ),
  );
}
