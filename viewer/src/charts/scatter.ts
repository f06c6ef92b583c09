/** Named points in a plane, each with its intervals. */
import { markerPath, type Mark } from "../color";
import { s } from "../dom";
import { tickFormat } from "../format";
import { linear, niceDomain, spread } from "../scale";
import { describeOnHover } from "../tooltip";
import { bottomAxis, chart, leftAxis } from "./frame";
import { textWidth } from "./text";

export interface ScatterPoint {
  name: string;
  mark: Mark;
  x: readonly [mean: number, low: number, high: number];
  y: readonly [mean: number, low: number, high: number];
  /** What hover, focus and screen readers say. */
  sentence: string;
}

export interface ScatterOptions {
  title: string;
  xLabel: string;
  yLabel: string;
  points: ScatterPoint[];
}

const kHeight = 340;

export function scatter(
  { title, xLabel, yLabel, points }: ScatterOptions,
  width: number,
): SVGSVGElement {
  const bottom = kHeight - 46;
  const x = linear(niceDomain([0, ...points.flatMap((point) => point.x)]), [44, width - 24], 5);
  const y = linear(niceDomain([0, ...points.flatMap((point) => point.y)]), [bottom, 30], 5);
  const labels = spread(
    points.map((point) => y(point.y[0]) - 6),
    15,
    20,
    bottom - 4,
  );
  return chart(
    width,
    kHeight,
    title,
    leftAxis({
      scale: y,
      format: tickFormat(y.step, ""),
      label: yLabel,
      left: 40,
      right: width - 20,
    }),
    bottomAxis({ scale: x, format: tickFormat(x.step, ""), label: xLabel, top: 30, bottom }),
    points.map((point, i) => {
      const [px, py] = [x(point.x[0]), y(point.y[0])];
      const color = point.mark.color;
      const besides = px + textWidth(point.name, 12) + 24 < width;
      const textX = besides ? px + 20 : px - 20;
      const g = s(
        "g",
        { class: "row", tabindex: 0, role: "img", "aria-label": point.sentence },
        s("circle", { class: "hit", cx: px, cy: py, r: 12, "data-screen-only": "" }),
        s("path", {
          class: "interval",
          style: `stroke:${color}`,
          d: `M${x(point.x[1])} ${py}H${x(point.x[2])}M${px} ${y(point.y[1])}V${y(point.y[2])}`,
        }),
        s("path", {
          class: "mean",
          style: `fill:${color}`,
          d: markerPath(point.mark.shape, px, py, 5),
        }),
        s("path", {
          class: "leader",
          d: `M${px} ${py}L${besides ? textX - 3 : textX + 3} ${labels[i]! - 4}`,
        }),
        s(
          "text",
          { class: "end", x: textX, y: labels[i]!, "text-anchor": besides ? "start" : "end" },
          point.name,
        ),
      );
      describeOnHover(g, () => point.sentence);
      return g;
    }),
  );
}
