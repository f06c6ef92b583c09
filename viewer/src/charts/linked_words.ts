/** Two lists of words, and a line for each pair that belongs together, the thicker the more. */
import { s } from "../dom";
import { formatWeight } from "../format";
import { describeOnHover } from "../tooltip";
import { chart } from "./frame";
import { shorten } from "./text";

export interface LinkedWords {
  title: string;
  left: string[];
  right: string[];
  weight: (left: number, right: number) => number;
  /** Pairs that are right, where it is known. */
  marked?: (left: number, right: number) => boolean;
}

const kRow = 24;
const kMost = 60; // lines; more would hide each other

export function linkedWords(options: LinkedWords, width: number): SVGSVGElement {
  const { left, right, title } = options;
  const column = Math.min(170, width * 0.32);
  const height = Math.max(left.length, right.length) * kRow + 12;
  const y = (count: number, i: number): number =>
    6 + (i + 0.5) * kRow + ((Math.max(left.length, right.length) - count) * kRow) / 2;
  const links = strongest(options);
  const most = links[0]?.weight ?? 1;
  const lines = links.map(({ i, j, weight }) => {
    const right_ = options.marked?.(i, j) ?? false;
    const line = s("path", {
      class: right_ ? "link gold" : "link",
      d: `M${column} ${y(left.length, i)}C${width / 2} ${y(left.length, i)} ${width / 2} ${y(right.length, j)} ${width - column} ${y(right.length, j)}`,
      "stroke-width": (0.5 + 5 * (weight / most)).toFixed(2),
      "stroke-opacity": (0.15 + 0.75 * (weight / most)).toFixed(2),
    });
    describeOnHover(line, () => `${left[i]} – ${right[j]}: ${formatWeight(weight)}`);
    return line;
  });
  const word = (name: string, x: number, at: number, anchor: string): SVGElement =>
    s(
      "text",
      { class: "name", x, y: at + 4, "text-anchor": anchor },
      shorten(name, 13, column - 10),
    );
  return chart(
    width,
    height,
    title,
    lines,
    left.map((name, i) => word(name, column - 6, y(left.length, i), "end")),
    right.map((name, j) => word(name, width - column + 6, y(right.length, j), "start")),
  );
}

function strongest({
  left,
  right,
  weight,
}: LinkedWords): { i: number; j: number; weight: number }[] {
  const links = left.flatMap((_, i) => right.map((_word, j) => ({ i, j, weight: weight(i, j) })));
  return links
    .filter((link) => link.weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, kMost);
}
