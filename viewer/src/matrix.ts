/** Weights as rows of queries and columns of keys. */
import type { Example, WeightMap } from "./data";

export interface Matrix {
  /** What each row and each column stands for. */
  rows: string[];
  columns: string[];
  /** Row by row; NaN where there is no weight. */
  values: Float32Array;
}

/** How many [query, key] planes a map holds: its heads. */
export function planes(map: WeightMap): number {
  return map.shape.slice(0, -2).reduce((product, size) => product * size, 1);
}

/** Whether a map has rows and columns at all, each at least one. */
export function isMatrix(map: WeightMap): boolean {
  const [queries = 0, keys = 0] = map.shape.slice(-2);
  return map.axes.at(-1) === "key" && map.axes.length >= 2 && queries > 0 && keys > 0;
}

/** One head's rows and columns, or with `null` the mean of all heads. */
export function plane(example: Example, map: WeightMap, head: number | null): Matrix {
  const [queries = 0, keys = 0] = map.shape.slice(-2);
  const size = queries * keys;
  const values = new Float32Array(size);
  const { data } = map;
  if (head !== null) {
    for (let i = 0; i < size; i += 1) values[i] = data[head * size + i]!;
  } else {
    const count = planes(map);
    for (let p = 0; p < count; p += 1) {
      for (let i = 0; i < size; i += 1) values[i]! += data[p * size + i]! / count;
    }
  }
  return {
    rows: namesOf(example, map.queryInput, queries),
    columns: namesOf(example, map.keyInput, keys),
    values,
  };
}

/** The tokens that an axis counts, where the example names as many; else numbers. */
export function namesOf(example: Example, input: string | null, count: number): string[] {
  const tokens = input === null ? undefined : example.inputs.get(input);
  if (tokens?.length === count) return tokens;
  return Array.from({ length: count }, (_, i) => String(i + 1));
}

export function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i += 1) {
    if (values[i]! > most) most = values[i]!;
  }
  return most;
}
