/** What the model says, before → after, and how far weights and answer went. */
import type { Prediction } from "../data";
import { exportButtons } from "../charts/figure";
import { h, replaceChildren, type Child } from "../dom";
import { formatValue } from "../format";
import { jensenShannon, totalVariation } from "./weights";

export interface Answer {
  labels: string[];
  now: Prediction;
  /** Without the edits; null when there are none. */
  before: Prediction | null;
}

const kMostLabels = 12;

/** A bar a class; a tick marks where it was before the edits. */
export class PredictionView {
  readonly element = h("div", { class: "prediction" });

  update(answer: Answer): void {
    const { now, before } = answer;
    replaceChildren(
      this.element,
      h(
        "p",
        { class: "answer" },
        before && before.label !== now.label
          ? [h("span", { class: "before" }, before.label), " → ", h("strong", {}, now.label)]
          : h("strong", {}, now.label === "" ? "(nothing)" : now.label),
        before && before.label !== now.label && h("span", { class: "flip" }, "the answer changed"),
      ),
      now.probabilities.length > 0 && this.classes(answer),
    );
  }

  private classes({ labels, now, before }: Answer): Child {
    const order = now.probabilities
      .map((p, i) => ({ label: labels[i] ?? String(i + 1), p, was: before?.probabilities[i] }))
      .sort((a, b) => (labels.length > kMostLabels ? b.p - a.p : 0));
    const table = {
      columns: ["class", "probability", "probability without edits"],
      rows: order.map(({ label, p, was }) => [label, p, was ?? p]),
    };
    return [
      h("div", { class: "classes" }, order.slice(0, kMostLabels).map(classRow)),
      order.length > kMostLabels &&
        h("p", { class: "note" }, `The ${kMostLabels} most probable of ${order.length} classes.`),
      exportButtons("Probabilities", () => table),
    ];
  }
}

function classRow({
  label,
  p,
  was,
}: {
  label: string;
  p: number;
  was?: number | undefined;
}): Child {
  const moved = was !== undefined && Math.abs(p - was) >= 0.0005;
  const bar = h("span", { class: "meter" }, h("span", { class: "fill" }));
  bar.style.setProperty("--p", p.toFixed(4));
  if (was !== undefined) {
    bar.append(h("span", { class: "was" }));
    bar.style.setProperty("--was", was.toFixed(4));
  }
  return h(
    "div",
    { class: "class" },
    h("span", { class: "label" }, label),
    bar,
    h(
      "span",
      { class: "share" },
      moved && [h("span", { class: "before" }, formatValue(was, "share")), " → "],
      formatValue(p, "share"),
    ),
  );
}

export interface Movement {
  own: number[];
  weights: number[];
  before: Prediction | null;
  now: Prediction;
}

/**
 * The debate in two numbers: how far attention went, and how far the answer. They are there before
 * anything moved, so that nothing jumps while a bar is dragged.
 */
export function movement({ own, weights, before, now }: Movement): Child {
  const far = totalVariation(own, weights);
  const change = before === null ? 0 : totalVariation(before.probabilities, now.probabilities);
  const fact = (name: string, value: string, note: string): Child =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), " ", note));
  return [
    h(
      "dl",
      { class: "facts" },
      fact("Weights moved", formatValue(far, "share"), "total variation"),
      fact("Weights moved", jensenShannon(own, weights).toFixed(3), "nats, Jensen-Shannon"),
      fact("Answer moved", formatValue(change, "share"), "total variation"),
    ),
    h(
      "p",
      { class: "note" },
      before === null
        ? "Drag a bar, or mask or drop a word, and see whether the answer follows."
        : inWords(far, change),
    ),
  ];
}

function inWords(far: number, change: number): string {
  if (far < 0.005) return "The weights are nearly the model's own.";
  if (far >= 0.3 && change < 0.05)
    return "Much of the attention lies elsewhere, and the answer hardly moved: here it does not hang on these weights.";
  if (change >= 0.3) return "The answer follows the weights: here it does hang on them.";
  return "The answer moved with the weights, somewhat.";
}
