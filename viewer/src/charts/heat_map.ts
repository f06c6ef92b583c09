/**
 * A matrix of weights on a canvas. Only the part in sight is drawn, so thousands of rows and columns
 * scroll and zoom freely; the names of rows and columns stay in sight.
 */
import { button } from "../controls";
import type { Table } from "../csv";
import { h, s } from "../dom";
import { formatWeight } from "../format";
import { largest, type Matrix } from "../matrix";
import { onThemeChange } from "../theme";
import { hideTooltip, showTooltip } from "../tooltip";
import { exportButtons } from "./figure";
import { chart, kFont } from "./frame";
import { shadePixels } from "./pixels";
import { shorten, textWidth } from "./text";

export interface HeatMapOptions {
  title: string;
  matrix: Matrix;
  /** The weight that gets full colour; by default the largest. */
  full?: number;
  /** What rows and columns are, for the table and for readers of the screen. */
  rowName: string;
  columnName: string;
  /** Cells to be framed: the right ones, where they are known. */
  marked?: (row: number, column: number) => boolean;
  /** Said after the weight in the box of a cell. */
  describe?: (row: number, column: number) => string;
}

const kText = 12;
const kLeast = 13; // pixels of a cell from which its name is written
const kMostName = 120;
const kTallest = 560;

interface Layout {
  cell: number;
  left: number;
  top: number;
}

export function heatMap(options: HeatMapOptions): HTMLElement {
  const { matrix, title } = options;
  const rows = matrix.rows.length;
  const columns = matrix.columns.length;
  const full = options.full ?? (largest(matrix.values) || 1);
  const canvas = h("canvas", { "aria-hidden": "true" });
  const sizer = h("div", { class: "matrix-size" }, canvas);
  const scroller = h(
    "div",
    {
      class: "matrix",
      tabindex: 0,
      role: "img",
      "aria-label": `${title}: ${rows} ${options.rowName} by ${columns} ${options.columnName}. Arrow keys read the weights.`,
    },
    sizer,
  );
  let pixels: HTMLCanvasElement | null = null;
  let zoom = 0; // 0: as large as fits
  let at: { row: number; column: number } | null = null;

  const layout = (): Layout => {
    const width = scroller.clientWidth || 640;
    const names = (list: string[]): number =>
      Math.min(
        kMostName,
        list.reduce((most, name) => Math.max(most, textWidth(name, kText)), 0),
      ) + 10;
    const rowNames = names(matrix.rows);
    const fitted = Math.min(30, (width - rowNames - 2) / columns);
    const cell = zoom === 0 ? Math.max(columns > 100 ? 1 : 3, Math.floor(fitted)) : zoom;
    const named = cell >= kLeast;
    return { cell, left: named ? rowNames : 4, top: named ? names(matrix.columns) : 4 };
  };

  const draw = (): void => {
    const { cell, left, top } = layout();
    const wide = left + cell * columns;
    const tall = top + cell * rows;
    scroller.style.height = `${Math.min(kTallest, tall + 16)}px`;
    sizer.style.width = `${wide}px`;
    sizer.style.height = `${tall}px`;
    const width = Math.min(wide, scroller.clientWidth || wide);
    const height = Math.min(tall, scroller.clientHeight || tall);
    const ratio = globalThis.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const paint = canvas.getContext("2d");
    if (!paint) return;
    pixels ??= shadePixels(matrix, full);
    paint.scale(ratio, ratio);
    paintPart(paint, { width, height, x: scroller.scrollLeft, y: scroller.scrollTop });
  };

  const paintPart = (
    paint: CanvasRenderingContext2D,
    { width, height, x, y }: { width: number; height: number; x: number; y: number },
  ): void => {
    const { cell, left, top } = layout();
    const style = getComputedStyle(scroller);
    const ink = style.getPropertyValue("--ink").trim() || "#000";
    const ground = style.getPropertyValue("--bg").trim() || "#fff";
    paint.clearRect(0, 0, width, height);
    paint.imageSmoothingEnabled = false;
    if (pixels) paint.drawImage(pixels, left - x, top - y, columns * cell, rows * cell);
    const firstRow = Math.max(0, Math.floor(y / cell));
    const lastRow = Math.min(rows - 1, Math.ceil((y + height) / cell));
    const firstColumn = Math.max(0, Math.floor(x / cell));
    const lastColumn = Math.min(columns - 1, Math.ceil((x + width) / cell));
    if (options.marked && cell >= 4) {
      paint.strokeStyle = style.getPropertyValue("--gold").trim() || "#000";
      paint.lineWidth = Math.min(2.5, cell / 5);
      for (let row = firstRow; row <= lastRow; row += 1) {
        for (let column = firstColumn; column <= lastColumn; column += 1) {
          if (!options.marked(row, column)) continue;
          paint.strokeRect(
            left - x + column * cell + 1.5,
            top - y + row * cell + 1.5,
            cell - 3,
            cell - 3,
          );
        }
      }
    }
    if (at) {
      paint.strokeStyle = ink;
      paint.lineWidth = 1.5;
      paint.strokeRect(left - x + at.column * cell, top - y + at.row * cell, cell, cell);
    }
    if (cell < kLeast) return;
    paint.font = `${kText}px ${kFont}`;
    paint.fillStyle = ground;
    paint.fillRect(0, 0, left, height);
    paint.fillRect(0, 0, width, top);
    paint.fillStyle = ink;
    paint.textBaseline = "middle";
    paint.textAlign = "right";
    for (let row = firstRow; row <= lastRow; row += 1) {
      const middle = top - y + (row + 0.5) * cell;
      if (middle < top) continue;
      paint.fillText(shorten(matrix.rows[row]!, kText, left - 8), left - 5, middle);
    }
    paint.textAlign = "left";
    for (let column = firstColumn; column <= lastColumn; column += 1) {
      const middle = left - x + (column + 0.5) * cell;
      if (middle < left) continue;
      paint.save();
      paint.translate(middle, top - 5);
      paint.rotate(-Math.PI / 2);
      paint.fillText(shorten(matrix.columns[column]!, kText, top - 8), 0, 0);
      paint.restore();
    }
    paint.fillStyle = ground;
    paint.fillRect(0, 0, left, top);
  };

  const tell = (row: number, column: number): void => {
    at = { row, column };
    const { cell, left, top } = layout();
    const weight = formatWeight(matrix.values[row * columns + column]!);
    const more = options.describe?.(row, column) ?? "";
    showTooltip(
      () => {
        const box = scroller.getBoundingClientRect();
        return {
          left: box.left + left + column * cell - scroller.scrollLeft,
          top: box.top + top + row * cell - scroller.scrollTop,
          width: cell,
          height: cell,
        };
      },
      `${matrix.rows[row]} → ${matrix.columns[column]}: ${weight}${more === "" ? "" : `, ${more}`}`,
    );
    draw();
  };
  const leave = (): void => {
    at = null;
    hideTooltip();
    draw();
  };
  canvas.addEventListener("pointermove", (event) => {
    const { cell, left, top } = layout();
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left + scroller.scrollLeft) / cell);
    const row = Math.floor((event.clientY - box.top - top + scroller.scrollTop) / cell);
    if (row < 0 || column < 0 || row >= rows || column >= columns) return leave();
    if (at?.row !== row || at.column !== column) tell(row, column);
  });
  canvas.addEventListener("pointerleave", leave);
  scroller.addEventListener("blur", leave);
  scroller.addEventListener("scroll", draw, { passive: true });
  scroller.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[
      event.key
    ];
    if (!step) return;
    event.preventDefault();
    const from = at ?? { row: 0, column: -1 };
    const row = Math.max(0, Math.min(rows - 1, from.row + step[0]!));
    const column = Math.max(0, Math.min(columns - 1, from.column + step[1]!));
    const { cell, left, top } = layout();
    keepInSight(scroller, { x: column * cell, y: row * cell, cell, left, top });
    tell(row, column);
  });
  onThemeChange(scroller, () => {
    pixels = null;
    draw();
  });
  if (typeof ResizeObserver === "undefined") draw();
  else new ResizeObserver(draw).observe(scroller);

  const zoomBy = (factor: number) => (): void => {
    const { cell } = layout();
    zoom = Math.max(
      1,
      Math.min(48, factor > 1 ? Math.ceil(cell * factor) : Math.floor(cell * factor)),
    );
    draw();
  };
  return h(
    "div",
    { class: "heat" },
    h(
      "div",
      { class: "heat-tools" },
      button("+", `Enlarge ${title}`, zoomBy(1.5)),
      button("−", `Shrink ${title}`, zoomBy(1 / 1.5)),
      button("Fit", `Fit ${title} to the page`, () => {
        zoom = 0;
        draw();
      }),
      exportButtons(
        title,
        () => matrixTable(options),
        () => heatMapSvg(options, full),
      ),
    ),
    scroller,
  );
}

function keepInSight(
  scroller: HTMLElement,
  { x, y, cell, left, top }: { x: number; y: number; cell: number; left: number; top: number },
): void {
  const wide = scroller.clientWidth - left - cell;
  const tall = scroller.clientHeight - top - cell;
  scroller.scrollLeft = Math.max(x - wide, Math.min(scroller.scrollLeft, x));
  scroller.scrollTop = Math.max(y - tall, Math.min(scroller.scrollTop, y));
}

function matrixTable({ matrix, rowName, columnName }: HeatMapOptions): Table {
  return {
    columns: [rowName, `${rowName} position`, columnName, `${columnName} position`, "weight"],
    rows: matrix.rows.flatMap((row, i) =>
      matrix.columns.map((column, j) => [
        row,
        i,
        column,
        j,
        matrix.values[i * matrix.columns.length + j] ?? null,
      ]),
    ),
  };
}

/** The whole matrix as a picture to save. */
function heatMapSvg({ title, matrix, marked }: HeatMapOptions, full: number): SVGSVGElement {
  const columns = matrix.columns.length;
  const rows = matrix.rows.length;
  const cell = Math.max(1, Math.min(24, Math.floor(900 / Math.max(columns, rows))));
  const named = cell >= kLeast;
  const room = (list: string[]): number =>
    named ? Math.min(kMostName, Math.max(...list.map((name) => textWidth(name, kText)))) + 10 : 4;
  const left = room(matrix.rows);
  const top = room(matrix.columns) + 24;
  const parts: SVGElement[] = [s("text", { class: "name best", x: 0, y: 14 }, title)];
  parts.push(
    s("image", {
      href: shadePixels(matrix, full)?.toDataURL("image/png") ?? "",
      x: left,
      y: top,
      width: columns * cell,
      height: rows * cell,
      preserveAspectRatio: "none",
      style: "image-rendering: pixelated",
      "image-rendering": "pixelated",
    }),
  );
  if (named) {
    matrix.rows.forEach((name, i) =>
      parts.push(
        s(
          "text",
          { class: "end", x: left - 5, y: top + (i + 0.7) * cell, "text-anchor": "end" },
          shorten(name, kText, left - 8),
        ),
      ),
    );
    matrix.columns.forEach((name, j) => {
      const x = left + (j + 0.65) * cell;
      const text = shorten(name, kText, top - 30);
      parts.push(
        s("text", { class: "end", x, y: top - 5, transform: `rotate(-90 ${x} ${top - 5})` }, text),
      );
    });
  }
  if (marked) {
    for (let i = 0; i < rows; i += 1) {
      for (let j = 0; j < columns; j += 1) {
        if (marked(i, j)) {
          parts.push(
            s("rect", {
              class: "frame",
              x: left + j * cell + 1,
              y: top + i * cell + 1,
              width: cell - 2,
              height: cell - 2,
            }),
          );
        }
      }
    }
  }
  return chart(left + columns * cell + 4, top + rows * cell + 4, title, parts);
}
