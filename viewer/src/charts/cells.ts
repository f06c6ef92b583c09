/** A grid of shaded cells: however many, a few paths; read by pointing or with the arrow keys. */
import { shade } from "../color";
import { s, type Child } from "../dom";
import { hideTooltip, showTooltip, type Place } from "../tooltip";

export interface CellBox {
  x: number;
  y: number;
  width: number;
  height: number;
  rows: number;
  columns: number;
}

const kLevels = 32; // of opacity; more cannot be told apart

export interface Shading {
  /** The weight that gets full colour. */
  full: number;
  /** Opacity of full colour. */
  opacity?: number;
  class?: string;
}

/** The cells of one level of opacity are one path: a grid of thousands stays quick. */
export function shadedCells(weights: ArrayLike<number>, box: CellBox, shading: Shading): Child {
  const byLevel = new Map<number, string>();
  const width = box.width / box.columns;
  const height = box.height / box.rows;
  for (let i = 0; i < box.rows * box.columns; i += 1) {
    const level = Math.round(shade(weights[i] ?? NaN, shading.full) * kLevels);
    if (level === 0) continue;
    const x = box.x + (i % box.columns) * width;
    const y = box.y + Math.floor(i / box.columns) * height;
    const cell = `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`;
    byLevel.set(level, (byLevel.get(level) ?? "") + cell);
  }
  const opacity = shading.opacity ?? 1;
  return [...byLevel].map(([level, d]) =>
    s("path", {
      class: shading.class ?? "shade",
      d,
      "fill-opacity": ((level / kLevels) * opacity).toFixed(3),
    }),
  );
}

/** A line round the marked cells: neighbours share one outline. */
export function outlinedCells(
  marked: (cell: number) => boolean,
  box: CellBox,
  name = "frame",
): Child {
  const width = box.width / box.columns;
  const height = box.height / box.rows;
  const inside = (row: number, column: number): boolean =>
    row >= 0 &&
    column >= 0 &&
    row < box.rows &&
    column < box.columns &&
    marked(row * box.columns + column);
  let d = "";
  for (let i = 0; i < box.rows * box.columns; i += 1) {
    const row = Math.floor(i / box.columns);
    const column = i % box.columns;
    if (!inside(row, column)) continue;
    const [left, top] = [round(box.x + column * width), round(box.y + row * height)];
    const [right, bottom] = [round(left + width), round(top + height)];
    if (!inside(row - 1, column)) d += `M${left} ${top}H${right}`;
    if (!inside(row + 1, column)) d += `M${left} ${bottom}H${right}`;
    if (!inside(row, column - 1)) d += `M${left} ${top}V${bottom}`;
    if (!inside(row, column + 1)) d += `M${right} ${top}V${bottom}`;
  }
  return d !== "" && s("path", { class: name, d });
}

/**
 * A transparent sheet over the cells that tells of the one pointed at; one tab stop. `pick` is
 * called with the cell that is clicked, or at which Enter is pressed.
 */
export function cellReader(
  box: CellBox,
  label: string,
  describe: (row: number, column: number) => Child,
  pick?: (cell: number) => void,
): SVGGElement {
  const width = box.width / box.columns;
  const height = box.height / box.rows;
  const mark = s("rect", { class: "at", width, height, visibility: "hidden" });
  const sheet = s("rect", {
    class: "hit",
    x: box.x,
    y: box.y,
    width: box.width,
    height: box.height,
    tabindex: 0,
    role: "img",
    "aria-label": `${label} Arrow keys read the cells.`,
  });
  let at: { row: number; column: number } | null = null;
  const tell = (row: number, column: number): void => {
    at = { row, column };
    mark.setAttribute("x", String(box.x + column * width));
    mark.setAttribute("y", String(box.y + row * height));
    mark.setAttribute("visibility", "visible");
    showTooltip(() => placeOf(sheet, box, row, column), describe(row, column));
  };
  const leave = (): void => {
    at = null;
    mark.setAttribute("visibility", "hidden");
    hideTooltip();
  };
  sheet.addEventListener("pointermove", (event) => {
    const seen = sheet.getBoundingClientRect();
    const column = Math.floor(((event.clientX - seen.left) / seen.width) * box.columns);
    const row = Math.floor(((event.clientY - seen.top) / seen.height) * box.rows);
    if (row < 0 || column < 0 || row >= box.rows || column >= box.columns) return leave();
    if (at?.row !== row || at.column !== column) tell(row, column);
  });
  for (const event of ["pointerleave", "blur"]) sheet.addEventListener(event, leave);
  const picked = (): void => {
    if (at) pick?.(at.row * box.columns + at.column);
  };
  sheet.addEventListener("click", picked);
  sheet.addEventListener("keydown", (event) => {
    if (event.key === "Enter") picked();
    const step = kSteps[event.key];
    if (!step) return;
    event.preventDefault();
    const from = at ?? { row: 0, column: -1 };
    tell(clamp(from.row + step[0], box.rows), clamp(from.column + step[1], box.columns));
  });
  return s("g", { "data-screen-only": "" }, mark, sheet);
}

const kSteps: Record<string, [row: number, column: number] | undefined> = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
};

function placeOf(sheet: Element, box: CellBox, row: number, column: number): Place {
  const seen = sheet.getBoundingClientRect();
  const width = seen.width / box.columns;
  const height = seen.height / box.rows;
  return { left: seen.left + column * width, top: seen.top + row * height, width, height };
}

function clamp(place: number, count: number): number {
  return Math.max(0, Math.min(count - 1, place));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
