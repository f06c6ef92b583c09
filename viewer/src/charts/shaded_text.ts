/** A sentence under several variants as a picture to save: what the page shows as HTML. */
import { shade } from "../color";
import { s } from "../dom";
import type { ShadedInput } from "../weights";
import { chart } from "./frame";
import { shorten, textWidth } from "./text";

export interface ShadedRow {
  heading: string;
  lines: ShadedInput[];
}

const kWidth = 760;
const kMargin = 12;
const kSize = 15;
const kLineHeight = 30;

/** Whether the first letter is Hebrew, Arabic or a neighbour: the line then starts on the right. */
export function readsRightToLeft(tokens: string[]): boolean {
  const letter = /\p{L}/u.exec(tokens.join(" "))?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter);
}

export function shadedTextSvg(title: string, rows: ShadedRow[], full: number): SVGSVGElement {
  const parts: SVGElement[] = [s("text", { class: "name best", x: kMargin, y: 24 }, title)];
  let y = 34;
  for (const row of rows) {
    parts.push(s("text", { class: "label", x: kMargin, y: y + 20 }, row.heading));
    y += 30;
    for (const line of row.lines) {
      const mirrored = readsRightToLeft(line.tokens);
      let start = kMargin;
      line.tokens.forEach((token, i) => {
        const text = shorten(token, kSize, kWidth - 2 * kMargin - 8);
        const width = textWidth(text, kSize) + 8;
        if (start > kMargin && start + width > kWidth - kMargin) {
          start = kMargin;
          y += kLineHeight;
        }
        const x = mirrored ? kWidth - start - width : start;
        const strength = shade(line.weights?.[i] ?? NaN, full).toFixed(3);
        parts.push(
          s("rect", { class: "shade", x, y, width, height: 22, rx: 3, "fill-opacity": strength }),
          s("text", { class: "token", x: x + width / 2, y: y + 16, "text-anchor": "middle" }, text),
        );
        if (line.gold && line.gold[i]! > 0) {
          parts.push(s("rect", { class: "gold", x, y: y + 22, width, height: 2.5 }));
        }
        start += width + 3;
      });
      y += kLineHeight + 4;
    }
  }
  return chart(kWidth, y + 10, title, parts);
}
