/** Is attention an explanation in these runs? The verdict in words, then every test behind it. */
import { modelTable, testTable, type Audit, type AuditModel, type AuditTest } from "../audit";
import { dotPlot, type DotRow } from "../charts/dot_plot";
import { figure } from "../charts/figure";
import { scatter, type ScatterPoint } from "../charts/scatter";
import { variantMark } from "../color";
import type { Report } from "../data";
import { h, type Child } from "../dom";
import { formatInterval, formatValue } from "../format";

export function auditView({ runs }: Report): Child {
  const audited = runs.filter((run) => run.audit !== null);
  return audited.map((run) => [
    audited.length > 1 && h("h3", {}, run.name),
    oneAudit(run.audit!, audited.length > 1 ? `${run.name}: ` : ""),
  ]);
}

function oneAudit(audit: Audit, prefix: string): Child {
  return h(
    "div",
    { class: "audit" },
    audit.verdict.length > 0 &&
      h(
        "div",
        { class: "says" },
        h("h4", {}, "What these tests allow one to say"),
        h(
          "ul",
          {},
          audit.verdict.map((sentence) => h("li", {}, sentence)),
        ),
      ),
    h(
      "div",
      { class: "plots" },
      audit.tests.map((test) => testFigure(test, prefix)),
      modelFigure(audit.models, prefix),
      tradeOff(audit.models, prefix),
    ),
    audit.skipped.map(([test, why]) => h("p", { class: "note" }, `Not made: ${test}: ${why}.`)),
  );
}

function testFigure(test: AuditTest, prefix: string): HTMLElement {
  const rows = test.rows.map(({ name, mean, low, high, count }): DotRow => {
    const shown = formatInterval([mean, low, high], "");
    const nested = name.startsWith(" ");
    return {
      name: name.trim(),
      mark: variantMark(nested ? 5 : 0),
      mean,
      low,
      high,
      values: [],
      text: formatInterval([mean, NaN, NaN], ""),
      best: !nested && name !== "random",
      hollow: nested,
      sentence: `${name.trim()}: ${shown}${Number.isFinite(count) ? `, ${count} examples` : ""}`,
    };
  });
  return figure({
    title: prefix + test.title,
    note: `${test.note} Line: 95 % interval over examples.`,
    draw: (width) =>
      dotPlot({ label: test.label, unit: "", limits: [-1, 1], rule: 0, rows }, width),
    table: () => testTable(test),
  }).element;
}

const kExplained: [prefix: string, meaning: string][] = [
  ["uniform", "trained with the same weight for every word"],
  ["seed+", "trained with another seed"],
  ["mlp-own", "sees each word alone, learns its own weights"],
  ["mlp-uniform", "sees each word alone, uniform weights"],
  ["mlp-given", "sees each word alone, with this model’s weights"],
  ["adversary-", "trained to answer alike with other weights; λ is how hard it is pushed away"],
];

function meaningOf(model: string): string {
  return kExplained.find(([prefix]) => model.startsWith(prefix))?.[1] ?? "";
}

function modelFigure(models: AuditModel[], prefix: string): Child {
  const known = models.filter(({ accuracy }) => Number.isFinite(accuracy));
  if (known.length < 2) return null;
  const rows = known.map(({ name, accuracy }, i): DotRow => {
    const text = formatValue(accuracy, "share");
    return {
      name,
      mark: variantMark(i === 0 ? 1 : 0),
      mean: accuracy,
      low: NaN,
      high: NaN,
      values: [],
      text,
      best: i === 0,
      sentence: [`${name}: ${text}`, meaningOf(name)].filter(Boolean).join(", "),
    };
  });
  return figure({
    title: `${prefix}Could a model do without these weights?`,
    note: `Test accuracy of this model and of others: ${kExplained.map(([name, meaning]) => `${name.replace(/[-+]$/, "")}: ${meaning}`).join("; ")}.`,
    draw: (width) => dotPlot({ label: "Test accuracy", unit: "share", rows }, width),
    table: () => modelTable(models),
  }).element;
}

/** The debate in one picture: how far weights can go while the answers stay. */
function tradeOff(models: AuditModel[], prefix: string): Child {
  const points = models.flatMap(({ name, output, weights }): ScatterPoint[] => {
    if (!output || !weights) return [];
    const adversary = name.startsWith("adversary-");
    return [
      {
        name: adversary ? `λ ${name.slice("adversary-".length)}` : name,
        mark: variantMark(adversary ? 1 : 0),
        x: [output.mean, output.low, output.high],
        y: [weights.mean, weights.low, weights.high],
        sentence: `${name}: output differs by ${formatValue(output.mean, "")}, weights by ${formatValue(weights.mean, "")} nats`,
      },
    ];
  });
  if (points.length === 0) return null;
  return figure({
    title: `${prefix}How far can the weights go?`,
    note: "Each mark is another model. Up and to the left: other weights, the same answers. Other seeds show what chance does.",
    draw: (width) =>
      scatter(
        {
          title: "Trained adversaries and other seeds",
          xLabel: "Change of the output (total variation)",
          yLabel: "Distance of the weights (Jensen-Shannon, nats)",
          points,
        },
        width,
      ),
    table: () => modelTable(models),
  }).element;
}
