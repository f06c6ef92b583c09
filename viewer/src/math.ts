/**
 * Formulas. KaTeX turns LaTeX into MathML, which browsers draw with their own fonts.
 * What it cannot read is shown as it was written.
 */
import katex from "katex";
import { h } from "./dom";

export function formula(latex: string, block = true): HTMLElement {
  // A long formula scrolls sideways on a phone, which the keyboard must be able to do as well.
  const element = h("span", { class: block ? "math block" : "math", tabindex: block && 0 });
  try {
    katex.render(latex, element, {
      output: "mathml",
      displayMode: block,
      throwOnError: true,
      strict: "ignore",
      trust: false,
      maxExpand: 200,
    });
  } catch {
    element.replaceChildren(h("code", {}, latex));
  }
  return element;
}
