/** Text measured before it is drawn. */
import { kFont } from "./frame";

let context: CanvasRenderingContext2D | null | undefined;

/** Width in pixels; an estimate where there is no canvas. */
export function textWidth(text: string, size: number): number {
  if (context === undefined) {
    const inBrowser = typeof CanvasRenderingContext2D !== "undefined";
    context = inBrowser ? document.createElement("canvas").getContext("2d") : null;
  }
  if (!context) return text.length * size * 0.56;
  context.font = `${size}px ${kFont}`;
  return context.measureText(text).width;
}

export function shorten(text: string, size: number, room: number): string {
  if (textWidth(text, size) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(`${letters.join("")}…`, size) > room) letters.pop();
  return `${letters.join("")}…`;
}
