/** A node among its neighbours: an edge as thick as its weight, a sector for each relation. */
import { figure } from "../charts/figure";
import {
  drawNeighbourhood,
  labelMarker,
  type Neighbour,
  type RelationView,
} from "../charts/neighbourhood";
import { select } from "../controls";
import type { Table } from "../csv";
import type { Example, WeightMap } from "../data";
import { h, s } from "../dom";
import { planes } from "../matrix";
import type { Picture, Subject } from "./picture";

const kMost = 50; // neighbours of a relation; the heaviest are shown

/** Maps by layer: "layer 1/cites" belongs to "layer 1". */
export function layersOf(example: Example): Map<string, WeightMap[]> {
  const layers = new Map<string, WeightMap[]>();
  for (const map of example.maps) {
    const known = example.shapes?.neighbours.has(map.keyInput ?? "");
    if (!known && map.keyInput !== "relations") continue;
    const layer = map.name.split("/")[0]!;
    layers.set(layer, [...(layers.get(layer) ?? []), map]);
  }
  return layers;
}

/** The weight of each key of a map with one query: of one head, or the mean with null. */
function headWeights(map: WeightMap, head: number | null): number[] {
  const keys = map.shape.at(-1) ?? 0;
  const heads = planes(map);
  const of = (plane: number, key: number): number => map.data[plane * keys + key] ?? NaN;
  return Array.from({ length: keys }, (_, key) => {
    if (head !== null && head < heads) return of(head, key);
    return (
      Array.from({ length: heads }, (_plane, plane) => of(plane, key)).reduce((a, b) => a + b, 0) /
      heads
    );
  });
}

export function neighbourhood(
  example: Example,
  maps: WeightMap[],
  head: number | null,
): RelationView[] {
  const over = maps.find(({ keyInput }) => keyInput === "relations");
  const names = example.inputs.get("relations") ?? [];
  const shares = over && headWeights(over, head);
  return maps.flatMap((map) => {
    const relation = map.keyInput;
    const labels = relation === null ? undefined : example.shapes?.neighbours.get(relation);
    if (relation === null || !labels) return [];
    const weights = headWeights(map, head);
    const ids = example.inputs.get(relation) ?? [];
    const all = ids.map((id, i) => ({
      id,
      label: labels[i]!,
      weight: weights[i]!,
      self: id === example.id,
    }));
    const heaviest = [...all].sort((a, b) => b.weight - a.weight).slice(0, kMost);
    const place = names.indexOf(relation);
    return {
      relation,
      weight: shares && place >= 0 ? shares[place]! : null,
      neighbours: byLabel(heaviest),
      left: all.length - heaviest.length,
    };
  });
}

/** Those of one label side by side. */
function byLabel(neighbours: Neighbour[]): Neighbour[] {
  return [...neighbours].sort((a, b) => a.label.localeCompare(b.label) || b.weight - a.weight);
}

function legend(labels: string[], shown: Set<string>): HTMLElement {
  return h(
    "p",
    { class: "key" },
    labels
      .filter((label) => shown.has(label))
      .map((label) =>
        h(
          "span",
          {},
          s(
            "svg",
            { class: "sample", width: 16, height: 16, "aria-hidden": "true" },
            labelMarker(label, labels, 8, 8, 6),
          ),
          label,
        ),
      ),
  );
}

function tableOf(example: Example): Table {
  const rows = example.maps.flatMap((map) => {
    const labels = example.shapes?.neighbours.get(map.keyInput ?? "");
    const ids = map.keyInput === null ? undefined : example.inputs.get(map.keyInput);
    if (!ids) return [];
    return Array.from({ length: planes(map) }, (_, head) =>
      headWeights(map, head).map((weight, i) => [
        map.name,
        head + 1,
        map.keyInput,
        ids[i]!,
        labels?.[i] ?? null,
        weight,
      ]),
    ).flat();
  });
  return { columns: ["map", "head", "relation", "neighbour", "label", "weight"], rows };
}

/** Share of the weight on neighbours with the node's own label. */
function sameLabel(example: Example, views: RelationView[]): number {
  const truth = example.gold?.label;
  if (truth == null) return NaN;
  const total = (of: (n: Neighbour) => boolean): number =>
    views
      .flatMap(({ neighbours, weight }) =>
        neighbours.filter(of).map((n) => n.weight * (weight ?? 1)),
      )
      .reduce((a, b) => a + b, 0);
  return total(({ label }) => label === truth) / total(() => true);
}

function note(example: Example, views: RelationView[]): string {
  const left = views.reduce((sum, view) => sum + view.left, 0);
  const share = sameLabel(example, views);
  return [
    views.length > 1
      ? "An edge is as thick as its weight in its relation, and as dark as what is left of it after the relation's own weight. The ring is the weight of the node itself."
      : "An edge is as thick as its weight, the ring round the node as the weight of itself.",
    Number.isFinite(share) &&
      `${(100 * share).toFixed(0)} % of the weight is on nodes of its own label.`,
    left > 0 && `${left} lighter neighbours are not drawn.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function neighbourhoodPicture({ example, report }: Subject): HTMLElement {
  const layers = [...layersOf(example)];
  let [, maps] = layers[0]!;
  let head: number | null = null;
  const labels = report.task.labels;
  const title = `${example.id}: neighbours`;
  const views = (): RelationView[] => neighbourhood(example, maps, head);
  const told = h("p", { class: "numbers" });
  const heads = h("div", {});
  const drawn = figure({
    title,
    note: "",
    draw: (width) => drawNeighbourhood({ example, views: views(), labels, title }, width),
    table: () => tableOf(example),
  });
  const redraw = (): void => {
    told.textContent = note(example, views());
    drawn.redraw();
  };
  const offerHeads = (): void => {
    const count = Math.max(...maps.map(planes));
    head = null;
    heads.replaceChildren();
    if (count < 2) return;
    const each = Array.from({ length: count }, (_, i) => ({
      value: String(i),
      text: `Head ${i + 1}`,
    }));
    heads.append(
      select("Head", [{ value: "", text: `Mean of ${count}` }, ...each], "", (value) => {
        head = value === "" ? null : Number(value);
        redraw();
      }),
    );
  };
  offerHeads();
  told.textContent = note(example, views());
  const present = new Set([...(example.shapes?.neighbours.values() ?? [])].flat());
  if (example.gold?.label != null) present.add(example.gold.label);
  return h(
    "div",
    { class: "shape graph" },
    h(
      "div",
      { class: "controls" },
      layers.length > 1 &&
        select(
          "Layer",
          layers.map(([name], i) => ({ value: String(i), text: name })),
          "0",
          (value) => {
            [, maps] = layers[Number(value)]!;
            offerHeads();
            redraw();
          },
        ),
      heads,
    ),
    legend(labels, present),
    drawn.element,
    told,
  );
}

export const graph: Picture = {
  id: "graph",
  title: "Neighbours",
  fits: ({ example }) => layersOf(example).size > 0 && (example.shapes?.neighbours.size ?? 0) > 0,
  draw: neighbourhoodPicture,
};
