/** Pictures and the weights over them: a panel for each map, head, class or frame. */
import type { Panel } from "../charts/picture_panels";
import type { Example, Report, WeightMap } from "../data";
import { formatValue, formatWeight } from "../format";
import { isMatrix, planes } from "../matrix";
import type { Subject } from "./picture";

/** The inputs that are pictures, and their maps with a weight a cell. */
export function pictureMaps(example: Example): { map: WeightMap; input: string; grid: number[] }[] {
  const shapes = example.shapes;
  if (!shapes) return [];
  return example.maps.flatMap((map) => {
    const name = map.keyInput;
    const grid = name === null ? undefined : shapes.grids.get(name);
    const input = [...shapes.pictures.keys()].find(
      (each) => name === each || name === `${each} (parts)`,
    );
    return grid && input !== undefined && isMatrix(map) ? [{ map, input, grid }] : [];
  });
}

/** Which weights are wanted; null: the mean of the heads, of the cells that ask. */
export interface Wanted {
  head: number | null;
  query: number | null;
}

const kMean: Wanted = { head: null, query: null };

function cellWeights(map: WeightMap, wanted: Wanted): number[] {
  const [queries = 1, keys = 0] = map.shape.slice(-2);
  const heads = wanted.head === null ? planes(map) : 1;
  const first = wanted.head ?? 0;
  const query = wanted.query !== null && wanted.query < queries ? wanted.query : null;
  const sums = new Array<number>(keys).fill(0);
  for (let head = first; head < first + heads; head += 1) {
    for (let row = query ?? 0; row < (query === null ? queries : query + 1); row += 1) {
      const start = (head * queries + row) * keys;
      for (let key = 0; key < keys; key += 1) sums[key]! += map.data[start + key]!;
    }
  }
  return sums.map((sum) => sum / (heads * (query === null ? queries : 1)));
}

/** Whether cells ask cells: then each has weights of its own. */
export function asksItself(example: Example): boolean {
  return pictureMaps(example).some(
    ({ map, grid }) =>
      grid.length === 2 && map.queryInput === map.keyInput && map.shape.at(-2)! > 1,
  );
}

/** "class 2/attention" is about the second label. */
function labelOf(map: WeightMap, report: Report): string | null {
  const found = /^class (\d+)\//.exec(map.name);
  return found ? (report.task.labels[Number(found[1]) - 1] ?? null) : null;
}

/** What tells names apart: of "t/layer 1/self" and "t/layer 2/self" the layers. */
export function distinctNames(names: string[]): string[] {
  const parts = names.map((name) => name.split("/"));
  const same = (i: number): boolean => parts.every((each) => each[i] === parts[0]![i]);
  return parts.map((each, n) => {
    const own = each.filter((_, i) => !same(i)).join("/");
    return own === "" ? names[n]! : own;
  });
}

/** `each`: a panel a head. `query`: of which cell the weights are; null: the mean of all. */
export function stillPanels(
  { example, report }: Subject,
  each: boolean,
  query: number | null = null,
): Panel[] {
  const still = pictureMaps(example).filter(({ grid }) => grid.length === 2);
  const names = distinctNames(still.map(({ map }) => map.name));
  return still.flatMap(({ map, input, grid }, i) => {
    const heads = planes(map);
    const label = labelOf(map, report);
    const place = label === null ? -1 : report.task.labels.indexOf(label);
    const probability = example.prediction?.probabilities[place];
    const several = each && heads > 1;
    return Array.from({ length: several ? heads : 1 }, (_, head) => ({
      title: several ? `${label ?? names[i]}, head ${head + 1}` : (label ?? names[i]!),
      note: probability === undefined ? "" : formatValue(probability, "share"),
      weight: null,
      said: label !== null && label === example.prediction?.label,
      right: label !== null && label === example.gold?.label,
      picture: example.shapes!.pictures.get(input)![0]!,
      rows: grid[0]!,
      columns: grid[1]!,
      weights: cellWeights(map, { head: several ? head : null, query }),
      gold: example.gold?.weights.get(map.keyInput!) ?? null,
    }));
  });
}

/** A panel a frame: the weight of the frame, and where in it the weight is. */
export function filmPanels({ example }: Subject): Panel[] {
  const film = pictureMaps(example).find(({ grid }) => grid.length === 3);
  if (!film) return [];
  const [frames = 0, rows = 0, columns = 0] = film.grid;
  const cells = rows * columns;
  const within = cellWeights(film.map, kMean);
  const perFrame = film.map.shape.at(-2) === frames ? frames : 1; // each frame asks for itself
  const over = example.maps.find(
    (map) => isMatrix(map) && map.keyInput === `${film.input} (frames)`,
  );
  const weights = over ? cellWeights(over, kMean) : null;
  const gold = example.gold?.weights.get(film.map.keyInput!) ?? null;
  return Array.from({ length: frames }, (_, frame) => {
    const own = within.slice(frame * cells, (frame + 1) * cells).map((weight) => weight * perFrame);
    const weight = weights?.[frame] ?? own.reduce((sum, w) => sum + w, 0);
    return {
      title: `frame ${frame + 1}`,
      note: formatWeight(weight),
      weight,
      said: false,
      right: false,
      picture: example.shapes!.pictures.get(film.input)![frame]!,
      rows,
      columns,
      weights: own,
      gold: gold?.slice(frame * cells, (frame + 1) * cells) ?? null,
    };
  });
}
