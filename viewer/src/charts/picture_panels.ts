/** Pictures side by side, each under its weights. */
import { s, type Child } from "../dom";
import { formatWeight } from "../format";
import { largest } from "../matrix";
import { cellReader, outlinedCells, shadedCells, type CellBox } from "./cells";
import { chart } from "./frame";
import { shorten } from "./text";

/** One picture with weights over it. */
export interface Panel {
  title: string;
  /** Said after the title: a probability, the weight of a frame. */
  note: string;
  /** Of a frame: its weight among the others. */
  weight: number | null;
  /** Whether it is what was answered, and what is right. */
  said: boolean;
  right: boolean;
  picture: string;
  rows: number;
  columns: number;
  weights: number[];
  gold: number[] | null;
}

const kGap = 14;
const kTitle = 20;
const kLeast = 100; // pixels of a panel

/** Rows of about equal length, of panels that are large enough to see into. */
function panelSize(count: number, width: number): { side: number; across: number } {
  const wanted = count === 1 ? 280 : count <= 4 ? 180 : 128;
  const most = Math.max(1, Math.floor((width + kGap) / (kLeast + kGap)));
  const across = Math.ceil(count / Math.ceil(count / most));
  return { side: Math.min(wanted, (width - kGap * (across - 1)) / across), across };
}

export interface Look {
  panels: Panel[];
  opacity: number;
  title: string;
  /** Each panel has full colour at its own largest weight. */
  own: boolean;
  /** The cell that asks, where one was picked. */
  asked?: number | null;
  onPick?: (cell: number, panel: number) => void;
}

export function drawPanels(look: Look, width: number): SVGSVGElement {
  const { panels, title } = look;
  const { side, across } = panelSize(panels.length, width);
  const first = panels[0]!;
  const tall = (side * first.rows) / first.columns;
  const stride = kTitle + tall + (first.weight === null ? 0 : 12) + kGap;
  const full = largest(panels.flatMap(({ weights }) => weights)) || 1;
  const height = Math.ceil(panels.length / across) * stride;
  return chart(
    across * (side + kGap) - kGap,
    height,
    title,
    panels.map((panel, i) => {
      const x = (i % across) * (side + kGap);
      const y = Math.floor(i / across) * stride;
      const box = {
        x,
        y: y + kTitle,
        width: side,
        height: tall,
        rows: panel.rows,
        columns: panel.columns,
      };
      return s(
        "g",
        { class: "panel" },
        heading(panel, x, y, side),
        drawCells(look, i, box, look.own ? largest(panel.weights) || 1 : full),
        panel.weight !== null && bar(panel.weight, x, y + kTitle + tall + 4, side),
      );
    }),
  );
}

function heading(panel: Panel, x: number, y: number, side: number): Child {
  const sign = panel.said ? (panel.right ? "✓ " : "✗ ") : panel.right ? "○ " : "";
  const room = side - (panel.note === "" ? 0 : 52);
  return [
    s(
      "text",
      { class: panel.said ? "end best" : "end", x, y: y + 14 },
      shorten(sign + panel.title, 12, room),
    ),
    panel.note !== "" &&
      s("text", { class: "end", x: x + side, y: y + 14, "text-anchor": "end" }, panel.note),
  ];
}

function drawCells(look: Look, place: number, box: CellBox, full: number): Child {
  const panel = look.panels[place]!;
  const { x, y, width, height } = box;
  const { gold } = panel;
  const { asked, onPick, opacity } = look;
  const name = `${panel.title}: ${panel.rows} by ${panel.columns} cells.`;
  const describe = (row: number, column: number): string => {
    const cell = row * panel.columns + column;
    const inside = gold && gold[cell]! > 0 ? ", part of the true rationale" : "";
    return `${panel.title}, row ${row + 1}, column ${column + 1}: ${formatWeight(panel.weights[cell]!)}${inside}`;
  };
  const pick = onPick && ((cell: number): void => onPick(cell, place));
  return [
    s("image", {
      href: panel.picture,
      x,
      y,
      width,
      height,
      preserveAspectRatio: "none",
      style: "image-rendering: pixelated",
      "image-rendering": "pixelated",
    }),
    shadedCells(panel.weights, box, { full, opacity, class: "overlay" }),
    gold && outlinedCells((cell) => gold[cell]! > 0, box),
    s("rect", { class: "rim", x, y, width, height }),
    asked != null && outlinedCells((cell) => cell === asked, box, "asked"),
    cellReader(box, onPick ? `${name} Enter picks the one that asks.` : name, describe, pick),
  ];
}

function bar(weight: number, x: number, y: number, side: number): Child {
  return [
    s("rect", { class: "bar-ground", x, y, width: side, height: 7 }),
    s("rect", {
      class: "frame-bar",
      x,
      y,
      width: side * Math.max(0, Math.min(1, weight)),
      height: 7,
    }),
  ];
}
