/**
 * One line of shaded tokens: a single tab stop, the arrow keys move inside it. Of a long document
 * only what comes into sight is shaded; the rest is plain text until then.
 */
import { shade } from "../color";
import { h, hiddenText, replaceChildren } from "../dom";
import { formatWeight } from "../format";
import { hideTooltip, showTooltip } from "../tooltip";
import type { ShadedInput } from "../weights";
import { overview } from "./overview";

const kLong = 600; // tokens from which a line is drawn in pieces
const kPiece = 150;

export function tokenLine(line: ShadedInput, full: number, label: string): HTMLElement {
  const count = line.tokens.length;
  if (count === 0) return h("p", { class: "tokens empty" }, "(empty)");
  const text = h("p", { class: "tokens", dir: "auto", role: "group", "aria-label": label });
  const pieces = new Pieces(line, full);
  text.append(...pieces.elements);

  // Listeners sit on the line: a long document has thousands of tokens.
  const tokenOf = (event: Event): HTMLElement | null =>
    (event.target as Element).closest<HTMLElement>(".token");
  const describe = (event: Event): void => {
    const token = tokenOf(event);
    if (token) showTooltip(() => token.getBoundingClientRect(), sentence(line, position(token)));
  };
  for (const event of ["pointerover", "focusin", "click"]) text.addEventListener(event, describe);
  for (const event of ["pointerout", "focusout"]) text.addEventListener(event, hideTooltip);
  pieces.token(0).tabIndex = 0;
  text.addEventListener("keydown", (event) => {
    const token = tokenOf(event);
    const rightToLeft = getComputedStyle(text).direction === "rtl";
    const forward = rightToLeft ? "ArrowLeft" : "ArrowRight";
    const back = rightToLeft ? "ArrowRight" : "ArrowLeft";
    const step = { [forward]: 1, [back]: -1, Home: -count, End: count }[event.key];
    if (!token || step === undefined) return;
    event.preventDefault();
    const next = pieces.token(Math.max(0, Math.min(count - 1, position(token) + step)));
    token.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  if (count < kLong || line.weights === null) return text;
  const find = (i: number): void => pieces.token(i).scrollIntoView({ block: "center" });
  return h("div", {}, overview(line, full, find), text);
}

/** The tokens in pieces, each made when it is needed. */
class Pieces {
  readonly elements: HTMLElement[] = [];
  private readonly made = new Set<number>();
  private readonly size: number;

  constructor(
    private readonly line: ShadedInput,
    private readonly full: number,
  ) {
    const count = line.tokens.length;
    this.size = count < kLong ? count : kPiece;
    for (let start = 0; start < count; start += this.size) {
      const words = line.tokens.slice(start, start + this.size);
      this.elements.push(h("span", { class: "piece", "data-start": start }, `${words.join(" ")} `));
    }
    if (this.elements.length === 1 || typeof IntersectionObserver === "undefined") {
      this.elements.forEach((_, i) => this.make(i));
    } else {
      this.makeWhenSeen();
    }
  }

  token(i: number): HTMLElement {
    const piece = Math.floor(i / this.size);
    this.make(piece);
    return this.elements[piece]!.querySelector<HTMLElement>(`[data-start="${i}"]`)!;
  }

  private make(piece: number): void {
    if (this.made.has(piece)) return;
    this.made.add(piece);
    const start = position(this.elements[piece]!);
    const end = Math.min(start + this.size, this.line.tokens.length);
    const tokens = [];
    for (let i = start; i < end; i += 1) tokens.push(tokenView(this.line, i, this.full), " ");
    replaceChildren(this.elements[piece]!, tokens);
  }

  private makeWhenSeen(): void {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          observer.unobserve(target);
          this.make(this.elements.indexOf(target as HTMLElement));
        }
      },
      { rootMargin: "400px" },
    );
    this.elements.forEach((each) => observer.observe(each));
  }
}

function position(element: HTMLElement): number {
  return Number(element.dataset["start"]);
}

function tokenView(line: ShadedInput, i: number, full: number): HTMLElement {
  const token = line.tokens[i]!;
  const gold = line.gold !== null && line.gold[i]! > 0;
  const weight = line.weights?.[i] ?? NaN;
  const classes = ["token", gold && "gold", weight < 0 && "less"].filter(Boolean).join(" ");
  const element = h(
    "span",
    { class: classes, tabindex: -1, "data-start": i },
    h("span", { class: "word" }, token === "" ? "∅" : token),
    line.weights !== null && h("span", { class: "weight" }, formatWeight(weight)),
    gold && hiddenText(" (rationale)"),
  );
  element.style.setProperty("--w", shade(Math.abs(weight), full).toFixed(3));
  return element;
}

function sentence(line: ShadedInput, i: number): string {
  const weight =
    line.weights === null ? "no weight" : `weight ${formatWeight(line.weights[i] ?? NaN)}`;
  const gold = line.gold !== null && line.gold[i]! > 0 ? ", part of the true rationale" : "";
  return `${line.tokens[i]}: ${weight}${gold}`;
}
