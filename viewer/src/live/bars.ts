/**
 * Words under their weights. A bar is a slider: dragged, moved by the arrow keys, or set in the
 * field below. One tab stop for all; left and right go from word to word.
 */
import { shade } from "../color";
import { h } from "../dom";
import { formatWeight } from "../format";
import { hideTooltip, showTooltip } from "../tooltip";
import { barScale } from "./weights";

export interface BarWord {
  token: string;
  /** Place among the weights; null: the word was dropped. */
  at: number | null;
  masked: boolean;
}

export interface BarsState {
  words: BarWord[];
  weights: number[];
  /** The model's own, to compare with. */
  own: number[];
  editable: boolean;
}

export interface BarsEvents {
  set: (at: number, value: number) => void;
  select: (word: number) => void;
}

interface Cell {
  element: HTMLElement;
  weight: HTMLElement;
}

const kStep = 0.01;
const kLeap = 0.1;

export class Bars {
  readonly element = h("div", { class: "bars", role: "group", dir: "auto" });
  private cells: Cell[] = [];
  private state: BarsState = { words: [], weights: [], own: [], editable: false };
  private selected = 0;
  private scale = 1;
  private dragging = false;

  constructor(private readonly events: BarsEvents) {
    this.listen();
  }

  /** Words that stay keep their elements, so that nothing flickers and the focus stays. */
  update(state: BarsState): void {
    const same =
      state.words.length === this.state.words.length &&
      state.words.every((word, i) => word.token === this.state.words[i]!.token);
    this.state = state;
    if (!same) this.build();
    if (!this.dragging) this.scale = barScale(state.weights, state.own);
    this.cells.forEach((_, i) => this.paint(i));
  }

  get fullBar(): number {
    return this.scale;
  }

  get selection(): number {
    return this.selected;
  }

  private build(): void {
    this.selected = Math.max(0, Math.min(this.selected, this.state.words.length - 1));
    this.cells = this.state.words.map(({ token }) => {
      const weight = h("span", { class: "number", "aria-hidden": "true" });
      const element = h(
        "span",
        { class: "cell" },
        h("span", { class: "well" }, h("span", { class: "fill" }), h("span", { class: "was" })),
        weight,
        h("span", { class: "word" }, token === "" ? "∅" : token),
      );
      return { element, weight };
    });
    this.element.replaceChildren(...this.cells.map(({ element }) => element));
  }

  private paint(i: number): void {
    const { element, weight } = this.cells[i]!;
    const { at, masked, token } = this.state.words[i]!;
    const value = at === null ? NaN : (this.state.weights[at] ?? NaN);
    const own = at === null ? NaN : (this.state.own[at] ?? NaN);
    const text = at === null ? "dropped" : `${formatWeight(value)}${masked ? ", masked" : ""}`;
    weight.textContent = at === null ? "" : formatWeight(value).replace(/^0(?=\.)/, "");
    element.style.setProperty("--h", shade(value, this.scale).toFixed(4));
    element.style.setProperty("--own", shade(own, this.scale).toFixed(4));
    element.style.setProperty("--w", shade(value, this.scale).toFixed(4));
    element.classList.toggle("dropped", at === null);
    element.classList.toggle("masked", masked);
    element.classList.toggle("moved", at !== null && Math.abs(value - own) > 5e-4);
    element.classList.toggle("selected", i === this.selected);
    element.tabIndex = i === this.selected ? 0 : -1;
    element.setAttribute("role", "slider");
    element.setAttribute("aria-label", token);
    element.setAttribute("aria-valuemin", "0");
    element.setAttribute("aria-valuemax", "1");
    element.setAttribute("aria-valuenow", Number.isFinite(value) ? value.toFixed(4) : "0");
    element.setAttribute("aria-valuetext", text);
    element.setAttribute("aria-disabled", String(!this.state.editable || at === null));
    element.setAttribute("aria-orientation", "vertical");
  }

  private select(i: number, focus: boolean): void {
    const before = this.selected;
    this.selected = i;
    if (this.cells[before]) this.paint(before);
    this.paint(i);
    if (focus) this.cells[i]!.element.focus();
    this.events.select(i);
  }

  private set(i: number, value: number): void {
    const at = this.state.words[i]?.at ?? null;
    if (this.state.editable && at !== null) this.events.set(at, Math.max(0, value));
  }

  private describe(i: number): void {
    const { token, at } = this.state.words[i]!;
    const number = (row: number[]): string => formatWeight(at === null ? NaN : (row[at] ?? NaN));
    showTooltip(
      () => this.cells[i]!.element.getBoundingClientRect(),
      at === null
        ? `${token}: dropped`
        : `${token}: weight ${number(this.state.weights)}, the model's own ${number(this.state.own)}`,
    );
  }

  private indexOf(event: Event): number {
    const cell = (event.target as Element).closest(".cell");
    return this.cells.findIndex(({ element }) => element === cell);
  }

  private listen(): void {
    const bars = this.element;
    bars.addEventListener("pointerdown", (event) => this.drag(event));
    bars.addEventListener("keydown", (event) => this.key(event));
    bars.addEventListener("pointerover", (event) => {
      const i = this.indexOf(event);
      if (i >= 0) this.describe(i);
    });
    bars.addEventListener("focusin", (event) => {
      const i = this.indexOf(event);
      if (i < 0) return;
      if (i !== this.selected) this.select(i, false);
      this.describe(i);
    });
    for (const name of ["pointerout", "focusout"]) bars.addEventListener(name, hideTooltip);
  }

  /** From the bar the weight follows the pointer, also above its top; the word only selects. */
  private drag(event: PointerEvent): void {
    const i = this.indexOf(event);
    if (i < 0) return;
    event.preventDefault(); // no selection of text
    this.select(i, true);
    const well = (event.target as Element).closest(".well");
    if (!well || !this.state.editable) return;
    const { bottom, height } = well.getBoundingClientRect();
    const follow = ({ clientY }: PointerEvent): void => {
      this.set(i, Math.min(1, ((bottom - clientY) / height) * this.scale));
      this.describe(i);
    };
    const end = (): void => {
      this.dragging = false;
      this.element.removeEventListener("pointermove", follow);
      this.update(this.state);
    };
    this.dragging = true;
    this.element.setPointerCapture(event.pointerId);
    this.element.addEventListener("pointermove", follow);
    this.element.addEventListener("lostpointercapture", end, { once: true });
    follow(event);
  }

  private key(event: KeyboardEvent): void {
    const i = this.indexOf(event);
    if (i < 0) return;
    const rightToLeft = getComputedStyle(this.element).direction === "rtl";
    const forward = rightToLeft ? -1 : 1;
    const last = this.cells.length - 1;
    const value = this.state.weights[this.state.words[i]!.at ?? -1] ?? 0;
    const actions: Record<string, () => void> = {
      ArrowRight: () => this.select(Math.max(0, Math.min(last, i + forward)), true),
      ArrowLeft: () => this.select(Math.max(0, Math.min(last, i - forward)), true),
      Home: () => this.select(0, true),
      End: () => this.select(last, true),
      ArrowUp: () => this.set(i, value + kStep),
      ArrowDown: () => this.set(i, value - kStep),
      PageUp: () => this.set(i, value + kLeap),
      PageDown: () => this.set(i, value - kLeap),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.describe(this.selected);
  }
}
