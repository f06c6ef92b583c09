/** Who looks at what: queries by keys; with gold links it is an alignment grid. */
import { heatMap } from "../charts/heat_map";
import type { Example, WeightMap } from "../data";
import { h } from "../dom";
import { isMatrix, largest, plane } from "../matrix";
import { chooser } from "./chooser";
import type { Picture } from "./picture";

/** Maps with several queries. */
export function matrixMaps(example: Example): WeightMap[] {
  return example.maps.filter((map) => isMatrix(map) && map.shape.at(-2)! > 1);
}

/** The right cells of a map, where the data knows them: links of a translation. */
export function rightCells(
  example: Example,
  map: WeightMap,
): ((row: number, column: number) => boolean) | undefined {
  const links = example.gold?.links ?? [];
  if (map.queryInput !== "target" || links.length === 0) return undefined;
  const written = example.inputs.get("target") ?? [];
  // The links are of the right answer: a row counts where the same word was written.
  const right = new Set(
    links
      .filter(([target]) => example.gold?.sequence?.[target] === written[target])
      .map(([target, source]) => `${target} ${source}`),
  );
  return (row, column) => right.has(`${row} ${column}`);
}

export function mapHeat(example: Example, map: WeightMap, head: number | null): HTMLElement {
  const matrix = plane(example, map, head);
  const marked = rightCells(example, map);
  const which = head === null ? "" : `, head ${head + 1}`;
  return h(
    "div",
    {},
    heatMap({
      title: `${example.id}, ${map.name}${which}`,
      matrix,
      rowName: map.queryInput ?? "query",
      columnName: map.keyInput ?? "key",
      ...(marked && { marked }),
    }),
    h(
      "p",
      { class: "numbers" },
      `Rows: ${map.queryInput ?? "queries"}; columns: ${map.keyInput ?? "keys"}. Full colour at ${largest(matrix.values).toFixed(3)}.`,
      marked && " Framed: the right links.",
    ),
  );
}

export const heatMapPicture: Picture = {
  id: "heat-map",
  title: "Heat map",
  fits: ({ example }) => matrixMaps(example).length > 0,
  draw: ({ example }) => chooser(matrixMaps(example), (map, head) => mapHeat(example, map, head)),
};
