/** One run: its answer, and its attention to be moved by hand. */
import { exportButtons } from "../charts/figure";
import { shadedTextSvg } from "../charts/shaded_text";
import { button, checkbox, select } from "../controls";
import type { Table } from "../csv";
import type { WeightMap } from "../data";
import { freshId, h, replaceChildren, type Child } from "../dom";
import { formatValue } from "../format";
import { shadedInputs } from "../weights";
import { tokenLine } from "../views/tokens";
import { Bars, type BarWord } from "./bars";
import { movement, PredictionView } from "./prediction";
import { rowAxes, rowName, rowOf, shownMaps } from "./rows";
import type { Session } from "./session";
import { isShares, only, shuffled, total, uniform, withWeight } from "./weights";

const kAll = "all";

export class Panel {
  readonly element: HTMLElement;
  private readonly answer = new PredictionView();
  private readonly moved = h("div", { class: "movement", "aria-live": "polite" });
  private readonly choices = h("div", { class: "controls" });
  private readonly caption = h("p", { class: "note" });
  private readonly tools = h("div", { class: "tools" });
  private readonly overview = h("div", { class: "every" });
  private readonly problem = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly bars: Bars;
  private map = "";
  private row: number[] | null = null;
  private keepSum: boolean | null = null; // null: as the model's weights suggest
  private drawnChoices = "";

  constructor(private readonly session: Session) {
    this.bars = new Bars({
      set: (at, value) => this.setWeight(at, value),
      select: () => this.drawTools(),
    });
    this.element = h(
      "div",
      { class: "panel" },
      this.problem,
      this.answer.element,
      this.moved,
      h("div", { class: "attention" }, this.choices, this.bars.element, this.caption, this.tools),
      this.overview,
    );
  }

  /** Shows what the session holds now; what was shown stays until there is something newer. */
  draw(): void {
    const { phase, shown, run } = this.session;
    this.problem.hidden = phase.state !== "failed";
    this.problem.textContent = phase.state === "failed" ? phase.message : "";
    this.element.classList.toggle("stale", phase.state === "failed");
    if (!shown) return;
    const before = this.session.edited ? (shown.now.without ?? shown.whole.prediction) : null;
    this.answer.update({ labels: run.labels, now: shown.now.prediction!, before });
    this.drawAttention();
    const current = this.current();
    replaceChildren(
      this.moved,
      current && run.editable ? movement({ ...current, before, now: shown.now.prediction! }) : null,
    );
  }

  private maps(): WeightMap[] {
    return this.session.shown ? shownMaps(this.session.shown.own) : [];
  }

  private current(): { map: WeightMap; own: number[]; weights: number[] } | null {
    const maps = this.maps();
    const map = maps.find(({ name }) => name === this.map) ?? widest(maps);
    if (!map) return null;
    if (map.name !== this.map || !this.rowFits(map)) {
      this.map = map.name;
      this.row = null;
    }
    const own = rowOf(map, this.row);
    return { map, own, weights: this.session.row(map.name, this.row) ?? own };
  }

  private rowFits(map: WeightMap): boolean {
    return this.row === null || this.row.every((index, axis) => index < map.shape[axis]!);
  }

  private drawAttention(): void {
    const current = this.current();
    this.bars.element.hidden = current === null;
    this.drawOverview();
    if (!current) {
      replaceChildren(this.choices);
      replaceChildren(this.tools);
      this.caption.textContent = this.without();
      return;
    }
    this.drawChoices(current.map);
    this.bars.element.setAttribute("aria-label", `Weights of ${current.map.keyInput}`);
    this.bars.update({
      words: this.words(current.map),
      weights: current.weights,
      own: current.own,
      editable: this.session.run.editable,
    });
    this.drawCaption(current.weights);
    this.drawTools();
  }

  private without(): string {
    const left = this.session.shown?.own.leftOut ?? [];
    return left.length > 0
      ? `The weights (${left.join(", ")}) are too many to be sent; shorten the text.`
      : "This mechanism has no weights over the input.";
  }

  private drawCaption(weights: number[]): void {
    const full = `A full bar is a weight of ${this.bars.fullBar}.`;
    const sum = total(weights);
    this.caption.textContent =
      Math.abs(sum - 1) < 1e-3 ? full : `${full} They sum to ${sum.toFixed(3)}.`;
  }

  /** The words of the whole text, the dropped ones among them. */
  private words(map: WeightMap): BarWord[] {
    const input = map.keyInput!;
    const whole = this.session.shown!.whole.inputs.get(input) ?? [];
    const left = this.session.shown!.own.inputs.get(input) ?? [];
    const gone = this.session.dropped.get(input);
    const tokens = gone && whole.length === left.length + gone.size ? whole : left;
    const dropped = tokens === whole ? gone : undefined;
    const masked = this.session.masked.get(input);
    let at = 0;
    return tokens.map((token, i) => ({
      token,
      at: dropped?.has(i) ? null : at++,
      masked: masked?.has(i) ?? false,
    }));
  }

  /** Which map and which of its rows; drawn anew only when there is something else to choose. */
  private drawChoices(map: WeightMap): void {
    const maps = this.maps();
    const key = JSON.stringify([
      maps.map(({ name, shape }) => [name, shape]),
      this.map,
      this.row,
      map.queryInput && this.session.shown!.own.inputs.get(map.queryInput),
    ]);
    if (key === this.drawnChoices) return;
    this.drawnChoices = key;
    replaceChildren(
      this.choices,
      maps.length > 1 &&
        select(
          "Attention module",
          maps.map(({ name, keyInput }) => ({ value: name, text: mapTitle(name, keyInput!) })),
          this.map,
          (name) => this.choose(name, null),
        ),
      rowAxes(map).map(({ axis, index, size }) =>
        select(
          `Which ${axis}`,
          [
            { value: kAll, text: axis === "query" ? "all queries" : `all ${axis}s` },
            ...Array.from({ length: size }, (_, i) => ({
              value: String(i),
              text: rowName(this.session.shown!.own, map, index, i),
            })),
          ],
          this.row === null ? kAll : String(this.row[index]),
          (value) => this.choose(map.name, this.rowWith(map, index, value)),
        ),
      ),
    );
  }

  /** Every row, or one: with an index on one axis the others start at their first. */
  private rowWith(map: WeightMap, axis: number, value: string): number[] | null {
    if (value === kAll) return null;
    const row = this.row ?? map.shape.slice(0, -1).map(() => 0);
    return row.map((index, i) => (i === axis ? Number(value) : index));
  }

  private choose(map: string, row: number[] | null): void {
    this.map = map;
    this.row = row;
    this.draw();
  }

  private get keepsSum(): boolean {
    return this.keepSum ?? isShares(this.current()?.own ?? []);
  }

  private setWeight(at: number, value: number): void {
    const current = this.current();
    if (current) this.give(withWeight(current.weights, at, value, this.keepsSum));
  }

  /** Shown at once; the answer follows. */
  private give(weights: number[]): void {
    this.session.give(this.map, this.row, weights);
    this.drawAttention();
  }

  private drawTools(): void {
    const current = this.current();
    if (!current) return;
    const words = this.words(current.map);
    const selected = words[this.bars.selection];
    // A field that is being typed in stays as it is.
    if (this.tools.contains(document.activeElement) && document.activeElement?.tagName === "INPUT")
      return;
    replaceChildren(
      this.tools,
      selected && this.wordTools(current, selected),
      h(
        "div",
        { class: "controls" },
        this.session.run.editable && [
          button("Uniform", "Uniform: the same weight for every word", () => this.change(uniform)),
          button("Shuffle", "Shuffle: the same weights on other words", () =>
            this.change(shuffled),
          ),
        ],
        button("Reset", "Reset: the model's own reading again", () => this.session.reset()),
        exportButtons(
          "Weights",
          () => this.table(),
          () => this.picture(),
        ),
        this.session.run.editable &&
          checkbox("Other words give way, so that the sum stays", this.keepsSum, (checked) => {
            this.keepSum = checked;
          }),
      ),
    );
  }

  private change(how: (row: number[]) => number[]): void {
    const current = this.current();
    if (current) this.give(how(current.weights));
  }

  private wordTools(current: { map: WeightMap; weights: number[] }, word: BarWord): Child {
    const input = current.map.keyInput!;
    const position = this.bars.selection;
    const { at } = word;
    const id = freshId("weight");
    const number = h("input", {
      id,
      type: "number",
      min: 0,
      max: 1,
      step: 0.01,
      inputmode: "decimal",
      value: at === null ? "" : (current.weights[at] ?? 0).toFixed(3),
      oninput: () => {
        const value = number.valueAsNumber;
        if (at !== null && Number.isFinite(value)) this.setWeight(at, value);
      },
      onchange: () => {
        number.blur();
        this.drawTools();
      },
    });
    const typed = this.session.run.inputs.length > 0 && this.droppable(input);
    const editable = this.session.run.editable && at !== null;
    return h(
      "div",
      { class: "controls word-tools" },
      h("span", { class: "chosen", dir: "auto" }, word.token),
      editable && h("div", { class: "control inline" }, h("label", { for: id }, "weight"), number),
      editable &&
        button("Only this word", `Only this word: all weight on “${word.token}”`, () =>
          this.change((row) => only(row, at)),
        ),
      editable &&
        button(
          word.masked ? "Unmask" : "Mask",
          `${word.masked ? "Unmask" : "Mask"} “${word.token}”: its weight in every module`,
          () => this.session.toggleMasked(input, position),
        ),
      typed &&
        button(
          at === null ? "Put back" : "Drop",
          `${at === null ? "Put back" : "Drop"} “${word.token}”`,
          () => this.session.toggleDropped(input, position),
        ),
    );
  }

  /** Words can be taken out of inputs, not of what stands for several of them (sentences). */
  private droppable(input: string): boolean {
    const whole = this.session.shown?.whole.inputs.get(input) ?? [];
    const gone = this.session.dropped.get(input)?.size ?? 0;
    return !input.includes(" (") && whole.length - gone > 0;
  }

  private drawOverview(): void {
    const now = this.session.shown!.now;
    const lines = shadedInputs(now).filter((line) => line.weights !== null);
    replaceChildren(
      this.overview,
      lines.length > 1 && [
        h("h3", {}, "All it attends to"),
        lines.map((line) => [
          h(
            "p",
            { class: "what" },
            mapTitle(line.map!, line.input),
            line.merged !== "" && `, mean of ${line.merged}`,
          ),
          tokenLine(
            line,
            Math.max(...line.weights!.filter(Number.isFinite)),
            `${line.map}, ${line.input}`,
          ),
        ]),
      ],
    );
  }

  private table(): Table {
    const { map, own, weights } = this.current()!;
    return {
      columns: ["module", "row", "position", "word", "own weight", "weight"],
      rows: this.words(map)
        .filter(({ at }) => at !== null)
        .map(({ token, at }) => [
          map.name,
          this.row?.join(" ") ?? kAll,
          at! + 1,
          token,
          own[at!]!,
          weights[at!]!,
        ]),
    };
  }

  private picture(): SVGSVGElement {
    const { map, own, weights } = this.current()!;
    const tokens = this.session.shown!.own.inputs.get(map.keyInput!)!;
    const line = (heading: string, row: number[]) => ({
      heading,
      lines: [
        { input: map.keyInput!, map: map.name, tokens, weights: row, gold: null, merged: "" },
      ],
    });
    const { now, whole } = this.session.shown!;
    const says = (label: string, p: number[]): string =>
      p.length > 0 ? `${label} (${formatValue(Math.max(...p), "share")})` : label;
    const rows = [
      line(
        `the model's own: ${says(whole.prediction!.label, whole.prediction!.probabilities)}`,
        own,
      ),
      ...(this.session.edited
        ? [
            line(
              `moved by hand: ${says(now.prediction!.label, now.prediction!.probabilities)}`,
              weights,
            ),
          ]
        : []),
    ];
    return shadedTextSvg(`${this.session.run.name}: ${map.name}`, rows, this.bars.fullBar);
  }
}

/** The first of the maps over most words: there is more to see. */
function widest(maps: WeightMap[]): WeightMap | undefined {
  return maps.reduce<WeightMap | undefined>(
    (best, map) => (best && best.shape.at(-1)! >= map.shape.at(-1)! ? best : map),
    undefined,
  );
}

function mapTitle(name: string, input: string): string {
  return name === input ? name : `${name} → ${input}`;
}
