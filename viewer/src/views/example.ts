/** One held-out example: the same tokens under each chosen run, each shaded by its weights. */
import { exportButtons } from "../charts/figure";
import { shadedTextSvg } from "../charts/shaded_text";
import { variantMark } from "../color";
import type { Cell, Table } from "../csv";
import type { Example, Report, Run } from "../data";
import { h, type Child } from "../dom";
import { goldLabel, isRight, rankOfRight, type Item } from "../examples";
import { formatValue } from "../format";
import { pictureOf } from "../pictures";
import type { Subject } from "../pictures/picture";
import { shadedInputs } from "../weights";
import { differenceView } from "./difference";
import { swatch } from "./swatch";

export type ShadeScale = "absolute" | "relative";

export interface ExampleOptions {
  report: Report;
  item: Item;
  runs: Run[];
  scale: ShadeScale;
  /** The id of the picture that is wanted; where it does not fit, the most telling is shown. */
  picture: string;
  /** Whether the first two runs are also subtracted from each other. */
  difference: boolean;
}

export function exampleView(options: ExampleOptions): HTMLElement {
  const { report, item, runs } = options;
  const label = goldLabel(item);
  const seen = runs.flatMap((run) => {
    const example = item.byRun.get(run.name);
    return example ? [{ run, example }] : [];
  });
  const full = fullWeight(
    seen.map(({ example }) => example),
    options.scale,
  );
  const title = `Example ${item.id}`;
  return h(
    "article",
    { class: "example", "data-id": item.id },
    h(
      "div",
      { class: "caption" },
      h("h3", {}, item.id, label !== null && h("span", { class: "truth" }, `true label: ${label}`)),
      exportButtons(
        title,
        () => weightTable(item.id, seen),
        () =>
          shadedTextSvg(
            label === null ? title : `${title}, true label: ${label}`,
            seen.map(({ run, example }) => ({
              heading: `${run.name}  ${verdictText(example)}`,
              lines: shadedInputs(example),
            })),
            full,
          ),
      ),
    ),
    runs.map((run) => {
      const example = item.byRun.get(run.name);
      const index = report.variants.findIndex((variant) => variant.name === run.variant);
      return h(
        "div",
        { class: "reading", "data-variant": run.variant },
        h(
          "div",
          { class: "reader" },
          report.variants.length > 1 &&
            h("span", { class: "who" }, swatch(variantMark(index)), run.variant),
          example && verdict(report, example),
        ),
        example
          ? h("div", { class: "picture" }, drawn({ report, run, example, full }, options.picture))
          : h("p", { class: "empty" }, "This run did not record the example."),
      );
    }),
    options.difference && seen[0] && seen[1] && differenceView(seen[0], seen[1]),
  );
}

/** The weight that gets full colour. */
function fullWeight(examples: Example[], scale: ShadeScale): number {
  if (scale === "absolute") return 1;
  const weights = examples.flatMap((example) =>
    shadedInputs(example).flatMap((line) => line.weights ?? []),
  );
  return weights.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0) || 1;
}

/** A picture that fails says so; the others of the page stand. */
function drawn(subject: Subject, wanted: string): Child {
  try {
    return pictureOf(subject, wanted).draw(subject);
  } catch (error) {
    return h("p", { class: "notice" }, `This picture cannot be drawn: ${String(error)}`);
  }
}

function verdictText(example: Example): string {
  if (!example.prediction) return "";
  const right = isRight(example);
  const sign = right === null ? "" : right ? "✓ " : "✗ ";
  const word = verdictWord(example);
  return `${sign}${word}${word && ": "}${example.prediction.label}`;
}

function verdictWord(example: Example): string {
  const right = isRight(example);
  const rank = rankOfRight(example);
  if (rank !== null) return right ? `hit, place ${rank}` : "miss";
  return right === null ? "" : right ? "right" : "wrong";
}

function verdict(report: Report, example: Example): Child {
  if (!example.prediction) return h("span", { class: "verdict-none" }, "no prediction");
  const right = isRight(example);
  const probability =
    example.prediction.probabilities[report.task.labels.indexOf(example.prediction.label)];
  return h(
    "span",
    { class: right === null ? "said" : right ? "said right" : "said wrong" },
    right !== null && h("span", { class: "sign", "aria-hidden": "true" }, right ? "✓" : "✗"),
    right !== null && h("strong", {}, verdictWord(example)),
    ` ${example.prediction.label}`,
    probability !== undefined &&
      Number.isFinite(probability) &&
      h("span", { class: "probability" }, ` ${formatValue(probability, "share")}`),
  );
}

export function weightTable(id: string, seen: { run: Run; example: Example }[]): Table {
  const rows: Cell[][] = seen.flatMap(({ run, example }) =>
    shadedInputs(example).flatMap((line) =>
      line.tokens.map((token, i) => [
        id,
        run.name,
        run.variant,
        run.seed,
        example.gold?.label ?? null,
        example.prediction?.label ?? null,
        line.input,
        line.map,
        i,
        token,
        line.weights?.[i] ?? null,
        line.gold?.[i] ?? null,
      ]),
    ),
  );
  const columns = [
    "example",
    "run",
    "variant",
    "seed",
    "gold",
    "prediction",
    "input",
    "map",
    "position",
    "token",
    "weight",
    "rationale",
  ];
  return { columns, rows };
}
