/** A node in the middle, its neighbours round it; a hub for each relation where there are several. */
import { markerPath, variantMark } from "../color";
import type { Example } from "../data";
import { s, type Child } from "../dom";
import { formatWeight } from "../format";
import { describeOnHover } from "../tooltip";
import { chart } from "./frame";
import { shorten } from "./text";

export interface Neighbour {
  id: string;
  label: string;
  weight: number;
  self: boolean;
}

export interface RelationView {
  relation: string;
  /** Of the relation among the others; null when there is one. */
  weight: number | null;
  neighbours: Neighbour[];
  /** Neighbours that are too many to be shown. */
  left: number;
}

export interface Drawing {
  example: Example;
  views: RelationView[];
  labels: string[];
  title: string;
}

export function drawNeighbourhood(
  { example, views, labels, title }: Drawing,
  width: number,
): SVGSVGElement {
  const size = Math.max(260, Math.min(480, width));
  const middle = size / 2;
  const radius = middle - 46;
  const others = views.map(({ neighbours }) => neighbours.filter(({ self }) => !self));
  const gap = views.length > 1 ? 1 : 0; // an empty place between two relations
  const places = others.reduce((sum, list) => sum + list.length + gap, 0) || 1;
  const most =
    views.flatMap(({ neighbours }) => neighbours).reduce((a, b) => Math.max(a, b.weight), 0) || 1;
  const at = (turn: number, far: number): [number, number] => {
    const angle = turn * 2 * Math.PI - Math.PI / 2;
    return [middle + far * Math.cos(angle), middle + far * Math.sin(angle)];
  };
  const edges: Child[] = [];
  const nodes: Child[] = [];
  const hubs: Child[] = [];
  let place = 0;
  views.forEach((view, r) => {
    const list = others[r]!;
    const sector = (place + (list.length - 1) / 2) / places;
    const hub =
      view.weight === null ? ([middle, middle] as [number, number]) : at(sector, radius * 0.56);
    if (view.weight !== null) {
      const { relation, weight } = view;
      const name = `relation ${relation}`;
      edges.push(
        edge({ from: [middle, middle], to: hub, name, weight, width: weight, shade: weight }),
      );
      hubs.push(hubMark(view, hub));
    }
    list.forEach((neighbour) => {
      const turn = place / places;
      const end = at(turn, radius);
      const { id, weight } = neighbour;
      const share = Math.max(0, Math.min(1, weight / most));
      const shade = share * (view.weight ?? 1);
      edges.push(
        edge({ from: hub, to: end, name: `${example.id} ← ${id}`, weight, width: share, shade }),
      );
      nodes.push(
        node(neighbour, end, labels, list.length + places > 70 ? null : at(turn, radius + 13)),
      );
      place += 1;
    });
    place += gap;
  });
  return chart(size, size, title, edges, nodes, centre(example, views, labels, middle, most), hubs);
}

interface Edge {
  from: [number, number];
  to: [number, number];
  name: string;
  weight: number;
  /** How thick and how dark, 0 to 1. */
  width: number;
  shade: number;
}

function edge({ from, to, name, weight, width, shade }: Edge): Child {
  const line = s("line", {
    class: "edge",
    x1: from[0],
    y1: from[1],
    x2: to[0],
    y2: to[1],
    "stroke-width": (0.6 + 8 * width).toFixed(2),
    "stroke-opacity": (0.18 + 0.72 * shade).toFixed(2),
  });
  describeOnHover(line, () => `${name}: ${formatWeight(weight)}`);
  return line;
}

export function labelMarker(
  label: string,
  labels: string[],
  x: number,
  y: number,
  r: number,
): SVGElement {
  const place = labels.indexOf(label);
  const { color, shape } = variantMark(Math.max(0, place));
  return s("path", {
    class: "node",
    d: markerPath(shape, x, y, r),
    fill: place < 0 ? "var(--muted)" : color,
  });
}

function node(
  neighbour: Neighbour,
  [x, y]: [number, number],
  labels: string[],
  name: [number, number] | null,
): Child {
  const words = `${neighbour.id}, ${neighbour.label || "label not known"}, weight ${formatWeight(neighbour.weight)}`;
  const group = s(
    "g",
    { class: "point", tabindex: 0, role: "img", "aria-label": words },
    labelMarker(neighbour.label, labels, x, y, 6.5),
    name &&
      s(
        "text",
        {
          class: "end",
          x: name[0],
          y: name[1] + 4,
          "text-anchor": name[0] < x - 4 ? "end" : name[0] > x + 4 ? "start" : "middle",
        },
        shorten(neighbour.id, 12, 42),
      ),
  );
  describeOnHover(group, () => words);
  return group;
}

function hubMark(view: RelationView, [x, y]: [number, number]): Child {
  return s(
    "g",
    { class: "hub" },
    s("circle", { cx: x, cy: y, r: 4 }),
    s(
      "text",
      { class: "halo name best", x, y: y - 8, "text-anchor": "middle" },
      `${view.relation} ${formatWeight(view.weight!)}`,
    ),
  );
}

/** The node itself; a ring as thick as the weight it gives itself, over all relations. */
function centre(
  example: Example,
  views: RelationView[],
  labels: string[],
  middle: number,
  most: number,
): Child {
  const own = views.map(
    ({ neighbours, weight }) => (neighbours.find(({ self }) => self)?.weight ?? 0) * (weight ?? 1),
  );
  const self = own.reduce((a, b) => a + b, 0);
  const truth = example.gold?.label ?? "";
  const words = `${example.id}, ${truth || "label not known"}, weight of itself ${formatWeight(self)}`;
  const group = s(
    "g",
    { class: "point", tabindex: 0, role: "img", "aria-label": words },
    s("circle", {
      class: "loop",
      cx: middle,
      cy: middle,
      r: 17,
      "stroke-width": (0.6 + 8 * Math.min(1, self / most)).toFixed(2),
    }),
    labelMarker(truth, labels, middle, middle, 9),
    s(
      "text",
      { class: "halo name best", x: middle, y: middle + 36, "text-anchor": "middle" },
      example.id,
    ),
  );
  describeOnHover(group, () => words);
  return group;
}
