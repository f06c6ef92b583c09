/**
 * A matrix of weights on a canvas. Only the part in sight is drawn, so thousands of rows and columns
 * scroll and zoom freely; the names of rows and columns stay in sight.
 */
import { button } from "../controls";
import type { Table } from "../csv";
import { h } from "../dom";
import { formatWeight } from "../format";
import { largest, type Matrix } from "../matrix";
import { onThemeChange } from "../theme";
import { hideTooltip, showTooltip } from "../tooltip";
import { exportButtons } from "./figure";
import { kFont } from "./frame";
import { heatMapSvg } from "./heat_map_svg";
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
}

export const kNameSize = 12;
export const kNamed = 13; // pixels of a cell from which its name is written
export const kMostName = 120;
const kTallest = 560;
const kLargestCell = 30; // where everything fits
const kLargestZoom = 48;

const kSteps: Record<string, readonly [row: number, column: number]> = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
};

export function heatMap(options: HeatMapOptions): HTMLElement {
  return new HeatMap(options).element;
}

interface Place {
  row: number;
  column: number;
}

class HeatMap {
  readonly element: HTMLElement;
  private readonly matrix: Matrix;
  private readonly full: number;
  private readonly rows: number;
  private readonly columns: number;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly sizer = h("div", { class: "matrix-size" }, this.canvas);
  private readonly scroller: HTMLElement;
  private readonly nameRoom: { rows: number; columns: number };
  private pixels: HTMLCanvasElement | null = null;
  private zoom = 0; // 0: as large as fits
  private at: Place | null = null;

  constructor(private readonly options: HeatMapOptions) {
    const { matrix, title, rowName, columnName } = options;
    this.matrix = matrix;
    this.rows = matrix.rows.length;
    this.columns = matrix.columns.length;
    this.full = options.full ?? (largest(matrix.values) || 1);
    this.nameRoom = { rows: roomFor(matrix.rows), columns: roomFor(matrix.columns) };
    const size = `${this.rows} ${rowName} by ${this.columns} ${columnName}`;
    this.scroller = h(
      "div",
      {
        class: "matrix",
        tabindex: 0,
        role: "img",
        "aria-label": `${title}: ${size}. Arrow keys read the weights.`,
      },
      this.sizer,
    );
    this.element = h("div", { class: "heat" }, this.tools(), this.scroller);
    this.listen();
  }

  private tools(): HTMLElement {
    const { title } = this.options;
    const zoomTo = (next: (cell: number) => number) => (): void => {
      this.zoom = Math.max(0, Math.min(kLargestZoom, next(this.cell())));
      this.draw();
    };
    const larger = zoomTo((cell) => Math.ceil(cell * 1.5));
    const smaller = zoomTo((cell) => Math.max(1, Math.floor(cell / 1.5)));
    return h(
      "div",
      { class: "heat-tools" },
      button("+", `Enlarge ${title}`, larger),
      button("−", `Shrink ${title}`, smaller),
      button(
        "Fit",
        `Fit ${title} to the page`,
        zoomTo(() => 0),
      ),
      exportButtons(
        title,
        () => matrixTable(this.options),
        () => heatMapSvg(this.options, this.full),
      ),
    );
  }

  private cell(): number {
    if (this.zoom > 0) return this.zoom;
    const room = (this.scroller.clientWidth || 640) - this.nameRoom.rows - 2;
    const fitting = Math.floor(Math.min(kLargestCell, room / this.columns));
    return Math.max(this.columns > 100 ? 1 : 3, fitting);
  }

  /** Where the cells begin: right of and below the names, which stand there if there is room. */
  private start(): { left: number; top: number } {
    const named = this.cell() >= kNamed;
    return { left: named ? this.nameRoom.rows : 4, top: named ? this.nameRoom.columns : 4 };
  }

  private draw = (): void => {
    const cell = this.cell();
    const { left, top } = this.start();
    const wide = left + cell * this.columns;
    const tall = top + cell * this.rows;
    this.scroller.style.height = `${Math.min(kTallest, tall + 16)}px`;
    this.sizer.style.width = `${wide}px`;
    this.sizer.style.height = `${tall}px`;
    const width = Math.min(wide, this.scroller.clientWidth || wide);
    const height = Math.min(tall, this.scroller.clientHeight || tall);
    const ratio = globalThis.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const paint = this.canvas.getContext("2d");
    if (!paint) return;
    paint.scale(ratio, ratio);
    this.pixels ??= shadePixels(this.matrix, this.full);
    this.paint(paint, width, height);
  };

  private paint(paint: CanvasRenderingContext2D, width: number, height: number): void {
    const cell = this.cell();
    const { left, top } = this.start();
    const [x, y] = [left - this.scroller.scrollLeft, top - this.scroller.scrollTop];
    paint.imageSmoothingEnabled = false;
    if (this.pixels) paint.drawImage(this.pixels, x, y, this.columns * cell, this.rows * cell);
    const rows = inSight(this.rows, (top - y) / cell, height / cell);
    const columns = inSight(this.columns, (left - x) / cell, width / cell);
    const frame = (row: number, column: number, colour: string, line: number): void => {
      paint.strokeStyle = this.colour(colour);
      paint.lineWidth = line;
      const inset = line / 2;
      const side = cell - line;
      paint.strokeRect(x + column * cell + inset, y + row * cell + inset, side, side);
    };
    if (this.options.marked && cell >= 4) {
      for (const row of rows) {
        for (const column of columns) {
          if (this.options.marked(row, column)) {
            frame(row, column, "--gold", Math.min(2.5, cell / 5));
          }
        }
      }
    }
    if (this.at) frame(this.at.row, this.at.column, "--ink", 1.5);
    if (cell < kNamed) return;
    paint.fillStyle = this.colour("--bg");
    paint.fillRect(0, 0, left, height);
    paint.fillRect(0, 0, width, top);
    paint.font = `${kNameSize}px ${kFont}`;
    paint.fillStyle = this.colour("--ink");
    paint.textBaseline = "middle";
    paint.textAlign = "right";
    for (const row of rows) {
      const middle = y + (row + 0.5) * cell;
      const name = shorten(this.matrix.rows[row]!, kNameSize, left - 8);
      if (middle >= top) paint.fillText(name, left - 5, middle);
    }
    paint.textAlign = "left";
    for (const column of columns) {
      const middle = x + (column + 0.5) * cell;
      if (middle < left) continue;
      paint.save();
      paint.translate(middle, top - 5);
      paint.rotate(-Math.PI / 2);
      paint.fillText(shorten(this.matrix.columns[column]!, kNameSize, top - 8), 0, 0);
      paint.restore();
    }
  }

  private colour(name: string): string {
    return getComputedStyle(this.scroller).getPropertyValue(name).trim() || "#000";
  }

  private tell(place: Place): void {
    this.at = place;
    const { row, column } = place;
    const weight = formatWeight(this.matrix.values[row * this.columns + column]!);
    const text = `${this.matrix.rows[row]} → ${this.matrix.columns[column]}: ${weight}`;
    showTooltip(() => {
      const box = this.scroller.getBoundingClientRect();
      const cell = this.cell();
      const { left, top } = this.start();
      return {
        left: box.left + left + column * cell - this.scroller.scrollLeft,
        top: box.top + top + row * cell - this.scroller.scrollTop,
        width: cell,
        height: cell,
      };
    }, text);
    this.draw();
  }

  private leave = (): void => {
    if (!this.at) return;
    this.at = null;
    hideTooltip();
    this.draw();
  };

  private point = (event: PointerEvent): void => {
    const cell = this.cell();
    const { left, top } = this.start();
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left + this.scroller.scrollLeft) / cell);
    const row = Math.floor((event.clientY - box.top - top + this.scroller.scrollTop) / cell);
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return this.leave();
    if (this.at?.row !== row || this.at.column !== column) this.tell({ row, column });
  };

  private step = (event: KeyboardEvent): void => {
    const step = kSteps[event.key];
    if (!step) return;
    event.preventDefault();
    const from = this.at ?? { row: 0, column: -1 };
    const row = Math.max(0, Math.min(this.rows - 1, from.row + step[0]));
    const column = Math.max(0, Math.min(this.columns - 1, from.column + step[1]));
    this.show(row, column);
    this.tell({ row, column });
  };

  /** Scrolls as little as is needed for the cell to be in sight. */
  private show(row: number, column: number): void {
    const cell = this.cell();
    const { left, top } = this.start();
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = this.scroller;
    const [x, y] = [column * cell, row * cell];
    this.scroller.scrollLeft = Math.max(x - (clientWidth - left - cell), Math.min(scrollLeft, x));
    this.scroller.scrollTop = Math.max(y - (clientHeight - top - cell), Math.min(scrollTop, y));
  }

  private listen(): void {
    this.canvas.addEventListener("pointermove", this.point);
    this.canvas.addEventListener("pointerleave", this.leave);
    this.scroller.addEventListener("blur", this.leave);
    this.scroller.addEventListener("scroll", this.draw, { passive: true });
    this.scroller.addEventListener("keydown", this.step);
    onThemeChange(this.scroller, () => {
      this.pixels = null;
      this.draw();
    });
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(this.draw).observe(this.scroller);
  }
}

function roomFor(names: string[]): number {
  let most = 0;
  for (const name of names) {
    most = Math.max(most, textWidth(name, kNameSize));
    if (most >= kMostName) return kMostName + 10;
  }
  return most + 10;
}

/** The indices of the rows or columns from `first` on, as many as there is room for. */
function inSight(count: number, first: number, room: number): number[] {
  const from = Math.max(0, Math.floor(first));
  const to = Math.min(count - 1, Math.ceil(first + room));
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

function matrixTable({ matrix, rowName, columnName }: HeatMapOptions): Table {
  const columns = matrix.columns.length;
  return {
    columns: [rowName, `${rowName} position`, columnName, `${columnName} position`, "weight"],
    rows: matrix.rows.flatMap((row, i) =>
      matrix.columns.map((column, j) => [
        row,
        i,
        column,
        j,
        matrix.values[i * columns + j] ?? null,
      ]),
    ),
  };
}
