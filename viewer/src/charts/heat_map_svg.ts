/** The whole of a heat map as a picture to save. */
import { s } from "../dom";
import { chart } from "./frame";
import { kMostName, kNamed, kNameSize, type HeatMapOptions } from "./heat_map";
import { shadePixels } from "./pixels";
import { shorten, textWidth } from "./text";

const kSide = 900;

export function heatMapSvg(options: HeatMapOptions, full: number): SVGSVGElement {
  const { title, matrix } = options;
  const columns = matrix.columns.length;
  const rows = matrix.rows.length;
  const cell = Math.max(1, Math.min(24, Math.floor(kSide / Math.max(columns, rows))));
  const room = (names: string[]): number => {
    if (cell < kNamed) return 4;
    return Math.min(kMostName, Math.max(...names.map((name) => textWidth(name, kNameSize)))) + 10;
  };
  const left = room(matrix.rows);
  const top = room(matrix.columns) + 24;
  return chart(
    left + columns * cell + 4,
    top + rows * cell + 4,
    title,
    s("text", { class: "name best", x: 0, y: 14 }, title),
    s("image", {
      href: shadePixels(matrix, full)?.toDataURL("image/png") ?? "",
      x: left,
      y: top,
      width: columns * cell,
      height: rows * cell,
      preserveAspectRatio: "none",
      "image-rendering": "pixelated",
    }),
    cell >= kNamed && names(options, { cell, left, top }),
    frames(options, { cell, left, top }),
  );
}

interface Layout {
  cell: number;
  left: number;
  top: number;
}

function names({ matrix }: HeatMapOptions, { cell, left, top }: Layout): SVGElement[] {
  const rows = matrix.rows.map((name, i) => {
    const y = top + (i + 0.7) * cell;
    const text = shorten(name, kNameSize, left - 8);
    return s("text", { class: "end", x: left - 5, y, "text-anchor": "end" }, text);
  });
  const columns = matrix.columns.map((name, j) => {
    const x = left + (j + 0.65) * cell;
    const text = shorten(name, kNameSize, top - 30);
    const transform = `rotate(-90 ${x} ${top - 5})`;
    return s("text", { class: "end", x, y: top - 5, transform }, text);
  });
  return [...rows, ...columns];
}

function frames({ matrix, marked }: HeatMapOptions, { cell, left, top }: Layout): SVGElement[] {
  if (!marked) return [];
  const side = Math.max(1, cell - 2);
  return matrix.rows.flatMap((_, i) =>
    matrix.columns.flatMap((_name, j) =>
      marked(i, j)
        ? [
            s("rect", {
              class: "frame",
              x: left + j * cell + 1,
              y: top + i * cell + 1,
              width: side,
              height: side,
            }),
          ]
        : [],
    ),
  );
}
