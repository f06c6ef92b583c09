/** What one run weighs more than another, on the same example. */
import { heatMap } from "../charts/heat_map";
import type { Example, Run } from "../data";
import { h, type Child } from "../dom";
import { largest, plane, type Matrix } from "../matrix";
import { matrixMaps } from "../pictures/heat_map";
import { chooser } from "../pictures/chooser";
import { shadedInputs, type ShadedInput } from "../weights";
import { tokenLine } from "./tokens";

export interface Reading {
  run: Run;
  example: Example;
}

/** First minus second, for each input that both look at by maps of the same place in the list. */
export function differences(first: Example, second: Example): ShadedInput[] {
  const others = shadedInputs(second);
  return shadedInputs(first).flatMap((line, i) => {
    const other =
      others.find(({ input, map }) => input === line.input && map === line.map) ?? others[i];
    if (!line.weights || !other?.weights || other.tokens.length !== line.tokens.length) return [];
    const weights = line.weights.map((weight, token) => weight - other.weights![token]!);
    return [{ ...line, weights }];
  });
}

/** Half the sum of all differences: 0 the same weights, 1 none in common. */
export function totalVariation(difference: ArrayLike<number>): number {
  return Array.from(difference).reduce((sum, d) => sum + Math.abs(d), 0) / 2;
}

export function differenceView(a: Reading, b: Reading): HTMLElement {
  const lines = differences(a.example, b.example);
  const most =
    lines.flatMap(({ weights }) => weights!).reduce((top, d) => Math.max(top, Math.abs(d)), 0) || 1;
  return h(
    "div",
    { class: "reading difference" },
    h(
      "div",
      { class: "reader" },
      h("strong", {}, "Difference"),
      h("span", { class: "key" }, h("span", { class: "token more" }, "more"), ` in ${a.run.name}`),
      h("span", { class: "key" }, h("span", { class: "token less" }, "more"), ` in ${b.run.name}`),
    ),
    h(
      "div",
      { class: "picture" },
      lines.length === 0 && h("p", { class: "empty" }, "These runs look at nothing in common."),
      lines.map((line) => [
        lines.length > 1 && h("p", { class: "what" }, `${line.map} on ${line.input}`),
        tokenLine(line, most, `${a.run.name} minus ${b.run.name}, ${line.input}`),
        h(
          "p",
          { class: "numbers" },
          `total variation ${totalVariation(line.weights!).toFixed(3)}, full colour at ±${most.toFixed(3)}`,
        ),
      ]),
      matrixDifference(a.example, b.example),
    ),
  );
}

/** The same for maps with several queries, where both runs have them in the same shape. */
function matrixDifference(a: Example, b: Example): Child {
  const others = matrixMaps(b);
  const shared = matrixMaps(a).filter((map) =>
    others.some((other) => other.name === map.name && String(other.shape) === String(map.shape)),
  );
  if (shared.length === 0) return null;
  return chooser(shared, (map, head) => {
    const first = plane(a, map, head);
    const second = plane(
      b,
      others.find(({ name }) => name === map.name)!,
      head,
    );
    const values = first.values.map((weight, i) => weight - second.values[i]!);
    const matrix: Matrix = { ...first, values };
    return heatMap({
      title: `${a.id}, ${map.name}, difference`,
      matrix,
      full: largest(values.map(Math.abs)) || 1,
      rowName: map.queryInput ?? "query",
      columnName: map.keyInput ?? "key",
    });
  });
}
