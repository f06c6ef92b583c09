/** One line of shaded tokens: a single tab stop, the arrow keys move inside it. */
import { shade } from "../color";
import { h, hiddenText } from "../dom";
import { formatWeight } from "../format";
import { hideTooltip, showTooltip } from "../tooltip";
import type { ShadedInput } from "../weights";

export function tokenLine(line: ShadedInput, full: number, label: string): HTMLElement {
  if (line.tokens.length === 0) return h("p", { class: "tokens empty" }, "(empty)");
  const tokens = line.tokens.map((token, i) => tokenView(line, i, token, full));
  const text = h("p", { class: "tokens", dir: "auto", role: "group", "aria-label": label });
  tokens.forEach((token, i) => text.append(...(i > 0 ? [" "] : []), token));

  // Listeners sit on the line: a long document has thousands of tokens.
  const tokenOf = (event: Event): HTMLElement | null =>
    (event.target as Element).closest<HTMLElement>(".token");
  const describe = (event: Event): void => {
    const token = tokenOf(event);
    if (token)
      showTooltip(() => token.getBoundingClientRect(), sentence(line, tokens.indexOf(token)));
  };
  for (const event of ["pointerover", "focusin", "click"]) text.addEventListener(event, describe);
  for (const event of ["pointerout", "focusout"]) text.addEventListener(event, hideTooltip);
  tokens[0]!.tabIndex = 0;
  text.addEventListener("keydown", (event) => {
    const token = tokenOf(event);
    const rightToLeft = getComputedStyle(text).direction === "rtl";
    const forward = rightToLeft ? "ArrowLeft" : "ArrowRight";
    const back = rightToLeft ? "ArrowRight" : "ArrowLeft";
    const step = { [forward]: 1, [back]: -1, Home: -tokens.length, End: tokens.length }[event.key];
    if (!token || step === undefined) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(tokens.length - 1, tokens.indexOf(token) + step));
    token.tabIndex = -1;
    tokens[to]!.tabIndex = 0;
    tokens[to]!.focus();
  });
  return text;
}

function tokenView(line: ShadedInput, i: number, token: string, full: number): HTMLElement {
  const gold = line.gold !== null && line.gold[i]! > 0;
  const weight = line.weights?.[i] ?? NaN;
  const element = h(
    "span",
    { class: gold ? "token gold" : "token", tabindex: -1 },
    h("span", { class: "word" }, token === "" ? "∅" : token),
    line.weights !== null && h("span", { class: "weight" }, formatWeight(weight)),
    gold && hiddenText(" (rationale)"),
  );
  element.style.setProperty("--w", shade(weight, full).toFixed(3));
  return element;
}

function sentence(line: ShadedInput, i: number): string {
  const weight =
    line.weights === null ? "no weight" : `weight ${formatWeight(line.weights[i] ?? NaN)}`;
  const gold = line.gold !== null && line.gold[i]! > 0 ? ", part of the true rationale" : "";
  return `${line.tokens[i]}: ${weight}${gold}`;
}
