/** Maps as rows over their keys: which rows there are, what they are called, and one of them. */
import type { Example, WeightMap } from "../data";
import { keyWeights } from "../weights";

/** The maps whose keys are words or other things that are shown, with at least one of them. */
export function shownMaps(example: Example): WeightMap[] {
  return example.maps.filter(
    (map) =>
      map.keyInput !== null &&
      map.axes.at(-1) === "key" &&
      (map.shape.at(-1) ?? 0) > 0 &&
      example.inputs.get(map.keyInput)?.length === map.shape.at(-1),
  );
}

/** The axes before the keys along which there is more than one row. */
export function rowAxes(map: WeightMap): { axis: string; index: number; size: number }[] {
  return map.axes
    .slice(0, -1)
    .map((axis, index) => ({ axis, index, size: map.shape[index]! }))
    .filter(({ size }) => size > 1);
}

/** The weights of one row, or, for null, the mean of all. */
export function rowOf(map: WeightMap, row: number[] | null): number[] {
  if (row === null) return keyWeights(map);
  const keys = map.shape.at(-1)!;
  const start = row.reduce((place, index, axis) => place * map.shape[axis]! + index, 0) * keys;
  return Array.from({ length: keys }, (_, i) => map.data[start + i]!);
}

/** What a row is called on an axis: “3 food” where the axis counts words, else its number. */
export function rowName(example: Example, map: WeightMap, axis: number, index: number): string {
  const asking =
    map.axes[axis] === "query" && map.queryInput !== null
      ? example.inputs.get(map.queryInput)
      : undefined;
  const word = asking?.[index];
  return word === undefined ? String(index + 1) : `${index + 1} ${word}`;
}
