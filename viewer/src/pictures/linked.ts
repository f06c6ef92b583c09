/** Words linked by lines: a pair of texts by the weight of both words, other maps by who looks at what. */
import { figure } from "../charts/figure";
import { heatMap } from "../charts/heat_map";
import { linkedWords } from "../charts/linked_words";
import type { Example, WeightMap } from "../data";
import { h, type Child } from "../dom";
import { isMatrix, namesOf, plane, type Matrix } from "../matrix";
import { keyWeights } from "../weights";
import { chooser } from "./chooser";
import { matrixMaps, rightCells } from "./heat_map";
import type { Picture } from "./picture";
import { shaded } from "./shaded";

const kMostWords = 80; // a side; longer texts have the heat map

function linkedFigure(
  title: string,
  matrix: Matrix,
  note: string,
  marked?: (row: number, column: number) => boolean,
): HTMLElement {
  const columns = matrix.columns.length;
  const weight = (i: number, j: number): number => matrix.values[i * columns + j]!;
  return figure({
    title,
    note,
    draw: (width) =>
      linkedWords(
        {
          title,
          left: matrix.rows,
          right: matrix.columns,
          weight,
          ...(marked && { marked }),
        },
        width,
      ),
    table: () => ({
      columns: ["from", "to", "weight"],
      rows: matrix.rows.flatMap((row, i) =>
        matrix.columns.map((column, j) => [row, column, weight(i, j)]),
      ),
    }),
  }).element;
}

/** The last look at each of exactly two texts; null when there are not two. */
export function twoTexts(example: Example): [WeightMap, WeightMap] | null {
  const byInput = new Map<string, WeightMap>();
  for (const map of example.maps) {
    if (isMatrix(map) && map.keyInput !== null) byInput.set(map.keyInput, map);
  }
  const [first, second, ...more] = byInput.values();
  if (!first || !second || more.length > 0) return null;
  const sizes = [first, second].map((map) => example.inputs.get(map.keyInput!)?.length ?? 0);
  const related = [first, second].some(({ queryInput }) => queryInput !== null);
  return !related && sizes.every((size) => size > 0 && size <= kMostWords) ? [first, second] : null;
}

/** How much both words of each pair weigh: the product of their weights. */
export function jointWeights(example: Example, first: WeightMap, second: WeightMap): Matrix {
  const [a, b] = [keyWeights(first), keyWeights(second)];
  return {
    rows: namesOf(example, first.keyInput, a.length),
    columns: namesOf(example, second.keyInput, b.length),
    values: Float32Array.from(a.flatMap((x) => b.map((y) => x * y))),
  };
}

export const pair: Picture = {
  id: "pair",
  title: "Linked texts",
  fits: ({ example }) => twoTexts(example) !== null,
  draw: (subject): Child => {
    const { example } = subject;
    const [first, second] = twoTexts(example)!;
    const joint = jointWeights(example, first, second);
    return [
      shaded.draw(subject),
      h(
        "div",
        { class: "plots" },
        linkedFigure(
          `${example.id}: words that weigh most together`,
          joint,
          `A line for each pair of words, as thick as the product of their weights.`,
        ),
        heatMap({
          title: `${example.id}: weight of both words`,
          matrix: joint,
          rowName: first.keyInput!,
          columnName: second.keyInput!,
        }),
      ),
    ];
  },
};

function linkable(example: Example): WeightMap[] {
  return matrixMaps(example).filter((map) =>
    map.shape.slice(-2).every((size) => size <= kMostWords),
  );
}

export const linked: Picture = {
  id: "linked",
  title: "Linked words",
  fits: ({ example }) => linkable(example).length > 0,
  draw: ({ example }) =>
    chooser(linkable(example), (map, head) =>
      linkedFigure(
        `${example.id}, ${map.name}`,
        plane(example, map, head),
        `From the ${map.queryInput ?? "query"} on the left to what it looks at on the right; the 60 heaviest lines.`,
        rightCells(example, map),
      ),
    ),
};
