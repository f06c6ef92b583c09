/** A long document in one strip: where its weight lies. A press goes there. */
import { colourOf } from "../charts/pixels";
import { shade } from "../color";
import { h } from "../dom";
import { formatWeight } from "../format";
import { onThemeChange } from "../theme";
import { hideTooltip, showTooltip } from "../tooltip";
import type { ShadedInput } from "../weights";

const kHeight = 28;

/** The heaviest token of each of `count` equal stretches. */
export function peaks(weights: number[], count: number): number[] {
  const last = weights.length - 1;
  return Array.from({ length: count }, (_, stretch) => {
    const from = Math.min(last, Math.floor((stretch * weights.length) / count));
    const to = Math.min(last, Math.ceil(((stretch + 1) * weights.length) / count) - 1);
    let best = from;
    for (let i = from; i <= to; i += 1) {
      if (weights[i]! > weights[best]!) best = i;
    }
    return best;
  });
}

export function overview(
  line: ShadedInput,
  full: number,
  find: (token: number) => void,
): HTMLElement {
  const weights = line.weights!;
  const canvas = h("canvas", { class: "overview", "aria-hidden": "true" });
  let heaviest: number[] = [];
  const draw = (): void => {
    const width = canvas.clientWidth;
    const paint = width > 0 ? canvas.getContext("2d") : null;
    if (!paint) return;
    canvas.width = width;
    canvas.height = kHeight;
    heaviest = peaks(weights, width);
    const most =
      Math.min(
        full,
        heaviest.reduce((top, i) => Math.max(top, weights[i] ?? 0), 0),
      ) || 1;
    const [tint, gold] = [colourOf("--shade"), colourOf("--gold")];
    heaviest.forEach((token, x) => {
      const strength = shade(weights[token] ?? NaN, most);
      paint.fillStyle = `rgb(${tint.join(" ")} / ${strength})`;
      paint.fillRect(x, 0, 1, kHeight - 4);
      paint.fillStyle = `rgb(${gold.join(" ")})`;
      if (line.gold && line.gold[token]! > 0) paint.fillRect(x, kHeight - 4, 1, 4);
    });
  };
  const at = (event: MouseEvent): number | undefined =>
    heaviest[Math.floor(event.clientX - canvas.getBoundingClientRect().left)];
  canvas.addEventListener("pointermove", (event) => {
    const token = at(event);
    if (token === undefined) return hideTooltip();
    const place = {
      left: event.clientX,
      top: canvas.getBoundingClientRect().top,
      width: 0,
      height: kHeight,
    };
    showTooltip(
      () => place,
      `${line.tokens[token]}, token ${token + 1}: ${formatWeight(weights[token]!)}`,
    );
  });
  canvas.addEventListener("pointerleave", hideTooltip);
  canvas.addEventListener("click", (event) => {
    const token = at(event);
    if (token !== undefined) find(token);
  });
  onThemeChange(canvas, draw);
  if (typeof ResizeObserver !== "undefined") new ResizeObserver(draw).observe(canvas);
  return canvas;
}
