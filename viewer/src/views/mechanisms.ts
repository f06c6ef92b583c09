/** What each variant is: its parts with formula, paper and advice, and its resolved config. */
import { variantMark } from "../color";
import type { Part, Report, Run, Variant } from "../data";
import { h, type Child } from "../dom";
import { formula } from "../math";
import { swatch } from "./swatch";

export function mechanismsView(report: Report): Child {
  return h(
    "div",
    { class: "mechanisms" },
    report.variants.map((variant, i) =>
      mechanism(
        variant,
        i,
        report.runs.filter((run) => run.variant === variant.name),
      ),
    ),
  );
}

function mechanism(variant: Variant, index: number, runs: Run[]): HTMLElement {
  const { id, title } = variant.mechanism;
  return h(
    "article",
    { class: "mechanism" },
    h("h3", {}, h("span", { class: "who" }, swatch(variantMark(index)), variant.name)),
    (title || id) &&
      h("p", { class: "kind" }, title || id, title && id && [" ", h("code", {}, id)]),
    variant.wiring !== "" && wiring(variant),
    variant.parts.map(partView),
    runs
      .filter((run) => run.config !== "")
      .map((run) =>
        h("details", {}, h("summary", {}, `Config of ${run.name}`), h("pre", {}, run.config)),
      ),
  );
}

/** As an image, in which no script of the data could run. */
function wiring({ name, wiring: svg }: Variant): HTMLElement {
  return h("img", {
    class: "wiring",
    src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`,
    alt: `Wiring of ${name}: its modules, and what feeds what`,
    loading: "lazy",
  });
}

function partView(part: Part): HTMLElement {
  return h(
    "div",
    { class: "part" },
    h("h4", {}, part.group && h("span", { class: "group" }, part.group), part.title),
    part.formula !== "" && formula(part.formula),
    part.advice !== "" && h("p", {}, sentence(part.advice)),
    part.paper !== "" && h("p", { class: "paper" }, part.paper),
  );
}

/** The registry writes advice as a clause; here it stands alone. */
function sentence(clause: string): string {
  const text = clause.charAt(0).toUpperCase() + clause.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
