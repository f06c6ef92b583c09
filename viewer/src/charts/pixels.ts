/** A matrix as an image of one pixel a cell, in the page's colours, to be stretched when it is drawn. */
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
  const tint = colour("--shade");
  const ground = colour("--panel");
  for (let i = 0; i < rows * columns; i += 1) {
    const strength = shade(matrix.values[i]!, full);
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
function colour(name: string): number[] {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  if (hex) return hex.slice(1).map((part) => parseInt(part, 16));
  return text.split(/\s+/).map(Number);
}
