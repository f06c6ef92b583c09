/** Several looks at the same words, side by side: hops, classes' capsules, heads with one query. */
import { heatMap } from "../charts/heat_map";
import type { Example } from "../data";
import { h } from "../dom";
import { isMatrix, namesOf, planes, type Matrix } from "../matrix";
import { formatValue } from "../format";
import { rationaleShare } from "../weights";
import type { Picture } from "./picture";

interface Look {
  name: string;
  input: string;
  weights: number[];
}

/** A row for each map and head that asks once, by the input it looks at. */
export function looks(example: Example): Look[] {
  return example.maps.flatMap((map) => {
    if (!isMatrix(map) || map.shape.at(-2) !== 1 || map.keyInput === null) return [];
    const keys = map.shape.at(-1)!;
    const count = planes(map);
    return Array.from({ length: count }, (_, head) => ({
      name: count > 1 ? `${map.name} ${head + 1}` : map.name,
      input: map.keyInput!,
      weights: Array.from({ length: keys }, (_, key) => map.data[head * keys + key]!),
    }));
  });
}

/** The input that is looked at most often, if more than once. */
function mostLookedAt(example: Example): string | null {
  const counts = new Map<string, number>();
  for (const { input } of looks(example)) counts.set(input, (counts.get(input) ?? 0) + 1);
  const [best] = [...counts].sort((a, b) => b[1] - a[1]);
  return best && best[1] > 1 ? best[0] : null;
}

const kMostColumns = 40;

export const sideBySide: Picture = {
  id: "side-by-side",
  title: "Side by side",
  fits: ({ example }) => mostLookedAt(example) !== null,
  draw: ({ example, full }) => {
    const input = mostLookedAt(example)!;
    const shown = looks(example).filter((look) => look.input === input);
    const tokens = namesOf(example, input, shown[0]!.weights.length);
    const names = shown.map(({ name }) => name);
    const flat = shown.flatMap(({ weights }) => weights);
    const across: Matrix = { rows: names, columns: tokens, values: Float32Array.from(flat) };
    const long = tokens.length > kMostColumns;
    const gold = example.gold?.weights.get(input) ?? null;
    const shares = shown
      .map(({ name, weights }) => [name, rationaleShare(weights, gold)] as const)
      .filter(([, share]) => Number.isFinite(share))
      .map(([name, share]) => `${name} ${formatValue(share, "share")}`);
    return h(
      "div",
      {},
      heatMap({
        title: `${example.id}, ${input}, side by side`,
        matrix: long ? transposed(across) : across,
        full,
        rowName: long ? input : "map",
        columnName: long ? "map" : input,
        ...(gold && {
          marked: (row: number, column: number) => gold[long ? row : column]! > 0,
        }),
      }),
      shares.length > 0 &&
        h("p", { class: "numbers" }, `On the rationale (framed): ${shares.join(", ")}.`),
    );
  },
};

function transposed({ rows, columns, values }: Matrix): Matrix {
  const turned = new Float32Array(values.length);
  rows.forEach((_, i) =>
    columns.forEach((_name, j) => {
      turned[j * rows.length + i] = values[i * columns.length + j]!;
    }),
  );
  return { rows: columns, columns: rows, values: turned };
}
