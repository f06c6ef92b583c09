/** All layers and heads at a glance; a press on one shows it large. */
import { shadePixels } from "../charts/pixels";
import type { Example, WeightMap } from "../data";
import { h, replaceChildren } from "../dom";
import { largest, planes, type Matrix } from "../matrix";
import { mapHeat, matrixMaps } from "./heat_map";
import type { Picture } from "./picture";

const kThumb = 64; // cells a side; larger planes show the largest weight of each block

/** A head's plane in at most kThumb × kThumb cells. */
export function thumbnail(map: WeightMap, head: number): Matrix {
  const [queries = 0, keys = 0] = map.shape.slice(-2);
  const step = Math.max(1, Math.ceil(Math.max(queries, keys) / kThumb));
  const rows = Math.ceil(queries / step);
  const columns = Math.ceil(keys / step);
  const values = new Float32Array(rows * columns);
  const { data } = map;
  const start = head * queries * keys;
  for (let query = 0; query < queries; query += 1) {
    for (let key = 0; key < keys; key += 1) {
      const weight = data[start + query * keys + key]!;
      const cell = Math.floor(query / step) * columns + Math.floor(key / step);
      if (weight > values[cell]!) values[cell] = weight;
    }
  }
  const names = (count: number): string[] => Array.from({ length: count }, () => "");
  return { rows: names(rows), columns: names(columns), values };
}

/** Draws when the row of heads comes into sight: a large model has a hundred of them. */
function whenSeen(element: Element, draw: () => void): void {
  if (typeof IntersectionObserver === "undefined") return;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    draw();
  });
  observer.observe(element);
}

function thumbs(example: Example, large: HTMLElement): HTMLElement[] {
  let pressed: HTMLElement | null = null;
  const open = (control: HTMLElement, map: WeightMap, head: number): void => {
    pressed?.setAttribute("aria-pressed", "false");
    control.setAttribute("aria-pressed", "true");
    pressed = control;
    replaceChildren(large, h("h4", {}, control.title), mapHeat(example, map, head));
  };
  return matrixMaps(example).map((map) => {
    const controls = Array.from({ length: planes(map) }, (_, head) => {
      const name = `${map.name}, head ${head + 1}`;
      const control: HTMLElement = h("button", {
        type: "button",
        class: "thumb",
        title: name,
        "aria-label": name,
        "aria-pressed": "false",
        onclick: () => open(control, map, head),
      });
      return control;
    });
    const row = h("div", { class: "thumb-row" }, h("span", { class: "what" }, map.name), controls);
    whenSeen(row, () =>
      controls.forEach((control, head) => {
        const small = thumbnail(map, head);
        const image = shadePixels(small, largest(small.values) || 1);
        if (image) control.append(image);
      }),
    );
    return row;
  });
}

export const heads: Picture = {
  id: "heads",
  title: "Layers and heads",
  fits: ({ example }) => matrixMaps(example).reduce((count, map) => count + planes(map), 0) > 1,
  draw: ({ example }) => {
    const large = h("div", { class: "large" });
    return h(
      "div",
      { class: "heads" },
      h("div", { class: "thumbs" }, thumbs(example, large)),
      h(
        "p",
        { class: "numbers" },
        "Each square is a head, in its own scale. Press one to enlarge it.",
      ),
      large,
    );
  },
};
