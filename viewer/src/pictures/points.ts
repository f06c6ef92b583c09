/** Points in the plane: the path that was pointed, the right one, and the weights of each step. */
import { figure } from "../charts/figure";
import { bottomAxis, chart, leftAxis } from "../charts/frame";
import { slider } from "../controls";
import type { Table } from "../csv";
import type { Example, WeightMap } from "../data";
import { h, s, type Child } from "../dom";
import { formatWeight, tickFormat } from "../format";
import { isMatrix, planes } from "../matrix";
import { linear, niceDomain, type Scale } from "../scale";
import { describeOnHover } from "../tooltip";
import type { Picture } from "./picture";

const kNamed = 60; // points; the names of more would hide each other

export interface PointTask {
  map: WeightMap;
  /** x and y; of numbers on a line the place in the input and the number. */
  points: [number, number][];
  plane: boolean;
  chosen: number[];
  right: number[];
  /** weights[step][point], the mean of the heads; the last step ends the answer. */
  weights: number[][];
}

export function pointTask(example: Example): PointTask | null {
  for (const map of example.maps) {
    const rows = example.shapes?.values.get(map.keyInput ?? "");
    const width = rows?.[0]?.length ?? 0;
    if (!rows || width < 1 || width > 2 || !isMatrix(map) || map.queryInput === null) continue;
    const places = (sequence: string[] | undefined): number[] =>
      (sequence ?? []).map(Number).filter((i) => Number.isInteger(i) && i >= 0 && i < rows.length);
    return {
      map,
      points: rows.map((row, i) => (width === 2 ? [row[0]!, row[1]!] : [i, row[0]!])),
      plane: width === 2,
      chosen: places(example.prediction?.sequence),
      right: places(example.gold?.sequence),
      weights: stepWeights(map),
    };
  }
  return null;
}

function stepWeights(map: WeightMap): number[][] {
  const [steps = 0, keys = 0] = map.shape.slice(-2);
  const heads = planes(map);
  return Array.from({ length: steps }, (_, step) =>
    Array.from({ length: keys }, (_key, key) => {
      let sum = 0;
      for (let head = 0; head < heads; head += 1) {
        sum += map.data[(head * steps + step) * keys + key]!;
      }
      return sum / heads;
    }),
  );
}

/** Step 0 is the whole answer, with the mean of all steps. */
function weightsAt({ weights, points }: PointTask, step: number): number[] {
  const row = weights[step - 1];
  if (row) return row;
  return points.map(
    (_, i) => weights.reduce((sum, each) => sum + each[i]!, 0) / Math.max(1, weights.length),
  );
}

function sayStep(task: PointTask, step: number): string {
  if (step === 0) return "whole answer, mean of the steps";
  const row = task.weights[step - 1]!;
  const of = `step ${step} of ${task.weights.length}`;
  const chosen = task.chosen[step - 1];
  const right = task.right[step - 1];
  if (chosen === undefined) {
    const rest = 1 - row.reduce((sum, weight) => sum + weight, 0);
    return `${of}: the end, weight ${formatWeight(Math.max(0, rest))}`;
  }
  const said = `${of}: point ${chosen}, weight ${formatWeight(row[chosen]!)}`;
  if (task.right.length === 0 || right === chosen) return said;
  return `${said}, ${right ?? "the end"} is right`;
}

interface Plot {
  x: Scale;
  y: Scale;
  side: number;
  top: number;
}

function layout(task: PointTask, width: number): Plot {
  const side = Math.max(160, Math.min(440, width - 60));
  const top = 26;
  const axis = (values: number[], range: [number, number]): Scale => {
    const inside = task.plane && values.every((value) => value >= 0 && value <= 1);
    return linear(inside ? [0, 1] : padded(niceDomain(values)), range, 5);
  };
  return {
    x: axis(
      task.points.map(([x]) => x),
      [44, 44 + side],
    ),
    y: axis(
      task.points.map(([, y]) => y),
      [top + side, top],
    ),
    side,
    top,
  };
}

function padded([low, high]: readonly [number, number]): [number, number] {
  const room = (high - low) * 0.04;
  return [low - room, high + room];
}

function route(task: PointTask, plot: Plot, order: number[], closed: boolean): string {
  if (order.length === 0) return "";
  const corner = (i: number): string => {
    const [x, y] = task.points[i]!;
    return `${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}`;
  };
  return `M${order.map(corner).join("L")}${closed && order.length > 2 ? "Z" : ""}`;
}

/** A small arrow in the middle of each stretch: which way the answer goes. */
function arrows(task: PointTask, plot: Plot, order: number[]): Child {
  return order.slice(1).map((to, i) => {
    const [x1, y1] = task.points[order[i]!]!;
    const [x2, y2] = task.points[to]!;
    const [dx, dy] = [plot.x(x2) - plot.x(x1), plot.y(y2) - plot.y(y1)];
    if (Math.hypot(dx, dy) < 24) return false;
    const turn = (Math.atan2(dy, dx) * 180) / Math.PI;
    const middle = `${(plot.x(x1) + dx / 2).toFixed(1)} ${(plot.y(y1) + dy / 2).toFixed(1)}`;
    return s("path", {
      class: "arrow",
      d: "M-4 -4.5L5 0L-4 4.5Z",
      transform: `translate(${middle}) rotate(${turn.toFixed(1)})`,
    });
  });
}

function mark(
  task: PointTask,
  plot: Plot,
  i: number,
  weight: number,
  full: number,
  step: number,
): Child {
  const [x, y] = task.points[i]!;
  const share = Math.min(1, weight / full);
  const place = task.chosen.indexOf(i);
  const rightPlace = task.right.indexOf(i);
  const now = step > 0 && task.chosen[step - 1] === i;
  const [cx, cy] = [plot.x(x), plot.y(y)];
  const dot = s(
    "g",
    { class: "point", tabindex: 0, role: "img" },
    s("circle", {
      class: "shade",
      cx,
      cy,
      r: 4 + 13 * Math.sqrt(share),
      "fill-opacity": (0.25 + 0.75 * share).toFixed(3),
    }),
    now && s("circle", { class: "now", cx, cy, r: 6 + 13 * Math.sqrt(share) }),
    s("circle", { class: "dot", cx, cy, r: 3 }),
    task.points.length <= kNamed &&
      s(
        "text",
        { class: "end", x: cx + 5 + 9 * Math.sqrt(share), y: cy - 5 - 9 * Math.sqrt(share) },
        String(i),
      ),
  );
  const words = [
    `point ${i} at ${task.plane ? `(${x.toFixed(3)}, ${y.toFixed(3)})` : y.toFixed(3)}`,
    `weight ${formatWeight(weight)}`,
    place >= 0 ? `chosen at step ${place + 1}` : "never chosen",
    task.right.length > 0 &&
      (rightPlace >= 0 ? `right at step ${rightPlace + 1}` : "not in the right answer"),
  ].filter((part) => part !== false);
  dot.setAttribute("aria-label", words.join(", "));
  describeOnHover(dot, () => words.join(", "));
  return dot;
}

function drawPlot(task: PointTask, title: string, step: number, width: number): SVGSVGElement {
  const plot = layout(task, width);
  const { x, y, side, top } = plot;
  const weights = weightsAt(task, step);
  const full = step === 0 ? weights.reduce((a, b) => Math.max(a, b), 0) || 1 : 1;
  const shown = step === 0 ? task.chosen : task.chosen.slice(0, step);
  const axes = [
    bottomAxis({
      scale: x,
      format: tickFormat(x.step, ""),
      label: task.plane ? "x" : "place in the input",
      top,
      bottom: top + side,
    }),
    leftAxis({
      scale: y,
      format: tickFormat(y.step, ""),
      label: task.plane ? "y" : "number",
      left: 44,
      right: 44 + side,
    }),
  ];
  return chart(
    44 + side + 12,
    top + side + 44,
    title,
    axes,
    s("path", { class: "route right-route", d: route(task, plot, task.right, task.plane) }),
    s("path", { class: "route rest", d: route(task, plot, task.chosen, task.plane) }),
    s("path", { class: "route", d: route(task, plot, shown, task.plane && step === 0) }),
    arrows(task, plot, shown),
    task.points.map((_, i) => mark(task, plot, i, weights[i]!, full, step)),
  );
}

function tableOf(task: PointTask): Table {
  return {
    columns: ["step", "chosen", "right", "point", "x", "y", "weight"],
    rows: task.weights.flatMap((row, step) =>
      row.map((weight, i) => [
        step + 1,
        task.chosen[step] ?? null,
        task.right[step] ?? null,
        i,
        task.points[i]![0],
        task.points[i]![1],
        weight,
      ]),
    ),
  };
}

const sample = (kind: string, text: string): HTMLElement =>
  h(
    "span",
    {},
    s(
      "svg",
      { class: "sample", width: 26, height: 10, "aria-hidden": "true" },
      s("path", { class: kind, d: "M1 5H25" }),
    ),
    text,
  );

export const points: Picture = {
  id: "points",
  title: "Points",
  fits: ({ example }) => pointTask(example) !== null,
  draw: ({ example }) => {
    const task = pointTask(example)!;
    const title = `${example.id}: points`;
    let step = 0;
    const drawn = figure({
      title,
      note: "A point is as large and dark as its weight. Slide through the steps to see each choice; the last one ends the answer.",
      draw: (width) => drawPlot(task, title, step, width),
      table: () => tableOf(task),
    });
    return h(
      "div",
      { class: "shape points" },
      slider(
        "Step",
        { min: 0, max: task.weights.length, step: 1, value: 0 },
        (at) => sayStep(task, at),
        (at) => {
          step = at;
          drawn.redraw();
        },
      ),
      h(
        "p",
        { class: "key" },
        sample("route", "the answer"),
        task.right.length > 0 && sample("route right-route", "the right one"),
      ),
      drawn.element,
    );
  },
};
