/**
 * A matrix as an image of one pixel a cell, in the page's colours, to be stretched when it is drawn.
 * Below 0, as differences are, the colour is another.
 */
import { shade } from "../color";
import type { Matrix } from "../matrix";

/** null where there is no canvas, as in unit tests. */
export function shadePixels(matrix: Matrix, full: number): HTMLCanvasElement | null {
  const columns = matrix.columns.length;
  const rows = matrix.rows.length;
  const image = document.createElement("canvas");
  image.width = columns;
  image.height = rows;
  const paint = typeof CanvasRenderingContext2D === "undefined" ? null : image.getContext("2d");
  if (!paint) return null;
  const data = paint.createImageData(columns, rows);
  const more = colourOf("--shade");
  const less = colourOf("--v0");
  const ground = colourOf("--panel");
  for (let i = 0; i < rows * columns; i += 1) {
    const strength = shade(Math.abs(matrix.values[i]!), full);
    const tint = matrix.values[i]! < 0 ? less : more;
    for (let channel = 0; channel < 3; channel += 1) {
      data.data[4 * i + channel] =
        ground[channel]! + strength * (tint[channel]! - ground[channel]!);
    }
    data.data[4 * i + 3] = 255;
  }
  paint.putImageData(data, 0, 0);
  return image;
}

/** A colour of the page as three numbers: written "245 158 11" or "#f6f7f9" there. */
export function colourOf(name: string): number[] {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  if (hex) return hex.slice(1).map((part) => parseInt(part, 16));
  return text.split(/\s+/).map(Number);
}
