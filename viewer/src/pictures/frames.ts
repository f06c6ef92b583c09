/** Sound and what was written of it: symbols by frames, the frames themselves beneath. */
import { cellReader, outlinedCells, shadedCells, type CellBox } from "../charts/cells";
import { figure } from "../charts/figure";
import { bottomAxis, chart } from "../charts/frame";
import { shorten } from "../charts/text";
import type { Table } from "../csv";
import type { Example, WeightMap } from "../data";
import { h, s, type Child } from "../dom";
import { formatWeight } from "../format";
import { isMatrix, largest, plane, type Matrix } from "../matrix";
import { linear } from "../scale";
import { chooser } from "./chooser";
import { rightCells } from "./heat_map";
import type { Picture } from "./picture";

const kLeastBands = 3; // numbers a frame; fewer are points

/** Maps from symbols to frames of numbers. */
export function frameMaps(example: Example): WeightMap[] {
  return example.maps.filter((map) => {
    const frames = example.shapes?.values.get(map.keyInput ?? "");
    return (
      frames !== undefined &&
      (frames[0]?.length ?? 0) >= kLeastBands &&
      isMatrix(map) &&
      map.queryInput !== null
    );
  });
}

export interface Span {
  symbol: string;
  first: number;
  last: number;
}

/** Where each symbol of the right answer sounds. */
export function goldSpans(example: Example): Span[] {
  const spans = new Map<number, Span>();
  for (const [target, frame] of example.gold?.links ?? []) {
    const known = spans.get(target);
    const symbol = example.gold?.sequence?.[target] ?? String(target + 1);
    if (!known) spans.set(target, { symbol, first: frame, last: frame });
    else {
      known.first = Math.min(known.first, frame);
      known.last = Math.max(known.last, frame);
    }
  }
  return [...spans.values()];
}

interface Alignment {
  title: string;
  matrix: Matrix;
  frames: number[][];
  spans: Span[];
  marked: ((row: number, column: number) => boolean) | undefined;
}

const kLeft = 44;
const kBand = 9;

function drawAlignment(alignment: Alignment, width: number): SVGSVGElement {
  const { matrix, frames, spans, marked, title } = alignment;
  const rows = matrix.rows.length;
  const columns = frames.length;
  const bands = frames[0]!.length;
  const wide = Math.min(width, kLeft + columns * 22 + 4);
  const top = spans.length > 0 ? 26 : 6;
  const across = { x: kLeft, width: wide - kLeft - 4, columns };
  const grid: CellBox = { ...across, y: top, height: rows * 22, rows };
  const strip: CellBox = {
    ...across,
    y: top + grid.height + 12,
    height: bands * kBand,
    rows: bands,
  };
  const bottom = strip.y + strip.height;
  const scale = linear(
    [0.5, columns + 0.5],
    [kLeft, wide - 4],
    Math.min(columns, across.width / 60),
  );
  const full = largest(matrix.values) || 1;
  return chart(
    wide,
    bottom + 44,
    title,
    goldBand(spans, grid),
    bottomAxis({ scale, format: String, label: "frame", top, bottom }),
    s("rect", { class: "rim", x: grid.x, y: grid.y, width: grid.width, height: grid.height }),
    shadedCells(matrix.values, grid, { full }),
    marked && outlinedCells((cell) => marked(Math.floor(cell / columns), cell % columns), grid),
    matrix.rows.map((symbol, i) =>
      s(
        "text",
        { class: "end", x: kLeft - 6, y: top + (i + 0.68) * 22, "text-anchor": "end" },
        shorten(symbol, 12, kLeft - 8),
      ),
    ),
    cellReader(grid, `${rows} symbols by ${columns} frames.`, (row, column) => {
      const right = marked?.(row, column) ? ", right" : "";
      return `${matrix.rows[row]} at frame ${column + 1}: ${formatWeight(matrix.values[row * columns + column]!)}${right}`;
    }),
    bandStrip(frames, strip),
  );
}

/** The right symbols over the frames where they sound. */
function goldBand(spans: Span[], grid: CellBox): Child {
  const cell = grid.width / grid.columns;
  return spans.map(({ symbol, first, last }) => {
    const x = grid.x + first * cell;
    const width = (last - first + 1) * cell;
    return [
      s("rect", { class: "span", x: x + 0.5, y: 2, width: width - 1, height: 18, rx: 3 }),
      s(
        "text",
        { class: "end", x: x + width / 2, y: 15, "text-anchor": "middle" },
        shorten(symbol, 12, width),
      ),
    ];
  });
}

/** The numbers of each frame: above and below zero in two colours. */
function bandStrip(frames: number[][], strip: CellBox): Child {
  const value = (row: number, column: number): number => frames[column]![row]!;
  const cells = Array.from({ length: strip.rows * strip.columns }, (_, i) =>
    value(Math.floor(i / strip.columns), i % strip.columns),
  );
  const full = largest(cells.map(Math.abs)) || 1;
  return [
    s(
      "text",
      { class: "end", x: kLeft - 6, y: strip.y + strip.height / 2 + 4, "text-anchor": "end" },
      "bands",
    ),
    s("rect", { class: "rim", x: strip.x, y: strip.y, width: strip.width, height: strip.height }),
    shadedCells(cells, strip, { full, class: "above" }),
    shadedCells(
      cells.map((cell) => -cell),
      strip,
      { full, class: "below" },
    ),
    cellReader(
      strip,
      `${strip.rows} bands by ${strip.columns} frames.`,
      (row, column) => `frame ${column + 1}, band ${row + 1}: ${value(row, column).toFixed(2)}`,
    ),
  ];
}

function tableOf({ matrix, spans }: Alignment): Table {
  const columns = matrix.columns.length;
  const sounding = (frame: number): string | null =>
    spans.find(({ first, last }) => first <= frame && frame <= last)?.symbol ?? null;
  return {
    columns: ["step", "symbol", "frame", "weight", "right symbol of the frame"],
    rows: matrix.rows.flatMap((symbol, row) =>
      matrix.columns.map((_, column) => [
        row + 1,
        symbol,
        column + 1,
        matrix.values[row * columns + column]!,
        sounding(column),
      ]),
    ),
  };
}

export const frames: Picture = {
  id: "frames",
  title: "Sound and symbols",
  fits: ({ example }) => frameMaps(example).length > 0,
  draw: ({ example }) =>
    chooser(frameMaps(example), (map, head) => {
      const matrix = plane(example, map, head);
      const alignment: Alignment = {
        title: `${example.id}: symbols by frames`,
        matrix,
        frames: example.shapes!.values.get(map.keyInput!)!,
        spans: goldSpans(example),
        marked: rightCells(example, map),
      };
      const note = [
        `Rows: what was written, in order. Full colour at weight ${formatWeight(largest(matrix.values))}.`,
        alignment.spans.length > 0 &&
          "Above: the right symbols where they sound, framed in the grid.",
        "Below: the numbers of each frame, orange above zero, blue below.",
      ];
      return h(
        "div",
        { class: "shape frames" },
        figure({
          title: alignment.title,
          note: note.filter(Boolean).join(" "),
          draw: (width) => drawAlignment(alignment, width),
          table: () => tableOf(alignment),
        }).element,
      );
    }),
};
