/** What every chart stands in: the svg element, its axes and grid lines. */
import { s, type Child } from "../dom";
import type { Scale } from "../scale";

export const kFont = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
export const kTextSize = 12;

export function chart(
  width: number,
  height: number,
  label: string,
  ...children: Child[]
): SVGSVGElement {
  return s(
    "svg",
    {
      class: "chart",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": label,
    },
    children,
  );
}

interface AxisOptions {
  scale: Scale;
  format: (value: number) => string;
  label: string;
}

/** Ticks under the plot, which spans `top` to `bottom`; the label below them, centred. */
export function bottomAxis(options: AxisOptions & { top: number; bottom: number }): SVGGElement {
  const { scale, format, label, top, bottom } = options;
  const [left, right] = scale.range;
  return s(
    "g",
    { class: "axis", "aria-hidden": "true" },
    scale.ticks.map((tick) => [
      s("line", { class: "grid", x1: scale(tick), x2: scale(tick), y1: top, y2: bottom }),
      s("text", { x: scale(tick), y: bottom + 17, "text-anchor": "middle" }, format(tick)),
    ]),
    s("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }),
    s(
      "text",
      { class: "label", x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" },
      label,
    ),
  );
}

/** Ticks left of the plot, which spans `left` to `right`; the label above them, not turned. */
export function leftAxis(options: AxisOptions & { left: number; right: number }): SVGGElement {
  const { scale, format, label, left, right } = options;
  return s(
    "g",
    { class: "axis", "aria-hidden": "true" },
    scale.ticks.map((tick) => [
      s("line", { class: "grid", x1: left, x2: right, y1: scale(tick), y2: scale(tick) }),
      s("text", { x: left - 8, y: scale(tick) + 4, "text-anchor": "end" }, format(tick)),
    ]),
    s("text", { class: "label", x: 0, y: 12 }, label),
  );
}
