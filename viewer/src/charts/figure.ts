/** A picture with its caption and its numbers: drawn to the width it has, saved as CSV, SVG or PNG. */
import { button } from "../controls";
import type { Table } from "../csv";
import { h } from "../dom";
import { saveCsv, savePng, saveSvg } from "../download";

const kFormats = [
  ["SVG", saveSvg],
  ["PNG", savePng],
] as const;

export interface FigureOptions {
  /** Heads the figure and names its files. */
  title: string;
  note: string;
  draw: (width: number) => SVGSVGElement;
  table: () => Table;
}

export interface Figure {
  element: HTMLElement;
  redraw: () => void;
}

const kDefaultWidth = 640; // where nothing is laid out, as in unit tests

export function figure(options: FigureOptions): Figure {
  const canvas = h("div", { class: "canvas" });
  let drawnWidth = 0;
  const redraw = (): void => {
    drawnWidth = canvas.clientWidth || kDefaultWidth;
    canvas.replaceChildren(options.draw(drawnWidth));
  };
  const element = h(
    "figure",
    {},
    h(
      "figcaption",
      {},
      h("h3", {}, options.title),
      exportButtons(options.title, options.table, () => canvas.querySelector("svg")),
    ),
    canvas,
    h("p", { class: "note" }, options.note),
  );
  if (typeof ResizeObserver === "undefined") {
    redraw();
  } else {
    new ResizeObserver(() => {
      if (canvas.clientWidth !== drawnWidth) redraw();
    }).observe(canvas);
  }
  return { element, redraw };
}

/** The buttons at every picture. `picture` is asked for only when it is wanted. */
export function exportButtons(
  title: string,
  table: () => Table,
  picture?: () => SVGSVGElement | null,
): HTMLElement {
  return h(
    "div",
    { class: "exports" },
    button("CSV", `Save the numbers of “${title}” as CSV`, () => saveCsv(title, table())),
    picture &&
      kFormats.map(([format, save]) =>
        button(format, `Save “${title}” as ${format}`, () => {
          const drawn = picture();
          if (drawn) save(title, drawn);
        }),
      ),
  );
}
