/** Weights of each feature of each word: multi-dimensional attention. */
import { heatMap } from "../charts/heat_map";
import type { Example, WeightMap } from "../data";
import { h } from "../dom";
import { largest, namesOf, type Matrix } from "../matrix";
import { chooser } from "./chooser";
import type { Picture } from "./picture";

function withFeatures(example: Example): WeightMap[] {
  return example.maps.filter((map) => map.features !== undefined && map.keyInput !== null);
}

/** Features by words; of several heads and queries the first. */
export function featurePlane(example: Example, map: WeightMap): Matrix {
  const keys = map.shape.at(-1)!;
  const width = map.features!.shape.at(-1)!;
  const values = new Float32Array(keys * width);
  for (let key = 0; key < keys; key += 1) {
    for (let d = 0; d < width; d += 1) {
      values[d * keys + key] = map.features!.data[key * width + d]!;
    }
  }
  const names = Array.from({ length: width }, (_, i) => String(i + 1));
  return { rows: names, columns: namesOf(example, map.keyInput, keys), values };
}

export const multiDimensional: Picture = {
  id: "multi-dimensional",
  title: "Weights of each feature",
  fits: ({ example }) => withFeatures(example).length > 0,
  draw: ({ example }) =>
    chooser(withFeatures(example), (map) => {
      const matrix = featurePlane(example, map);
      return [
        heatMap({
          title: `${example.id}, ${map.name}, features`,
          matrix,
          rowName: "feature",
          columnName: map.keyInput!,
        }),
        h(
          "p",
          { class: "numbers" },
          `Each of ${matrix.rows.length} features has weights of its own, which sum to 1 along a row. Full colour at ${largest(matrix.values).toFixed(3)}.`,
        ),
      ];
    }),
};
