/** From runs to the lines of the training chart. */
import type { Line } from "./charts/line_chart";
import { variantMark } from "./color";
import type { Table } from "./csv";
import type { Report, Run } from "./data";
import { describe } from "./metrics";

export type Grouping = "runs" | "means";

const kLabels: Record<string, { text: string; unit: string }> = {
  train_loss: { text: "Training loss", unit: "" },
  val_loss: { text: "Validation loss", unit: "" },
  val_accuracy: { text: "Validation accuracy", unit: "share" },
  seconds: { text: "Time of the epoch", unit: "s" },
};

/** The task's own measure first: what tells the best epoch. */
export function measureKeys(runs: Run[]): string[] {
  const all = [
    ...new Set(runs.flatMap((run) => run.curve.flatMap((point) => [...point.values.keys()]))),
  ];
  const own = all.find((key) => key.startsWith("val_") && key !== "val_loss");
  const order = [own, "val_loss", "train_loss"];
  return [
    ...order.filter((key) => key !== undefined && all.includes(key)),
    ...all.filter((key) => !order.includes(key)),
  ] as string[];
}

/** A softmax classifier's loss is a cross-entropy, and heed's logarithms are natural. */
export function measure(key: string, report: Report): { text: string; unit: string } {
  const known = kLabels[key];
  if (known) {
    return key.endsWith("_loss") && report.task.kind === "classify"
      ? { ...known, unit: "nats" }
      : known;
  }
  const metric = key.startsWith("val_") ? describe(report.variants, key.slice(4)) : undefined;
  return metric
    ? { text: `${metric.label}, validation`, unit: metric.unit }
    : { text: key.replaceAll("_", " "), unit: key.endsWith("_accuracy") ? "share" : "" };
}

function runsOf(report: Report, variant: string): Run[] {
  return report.runs.filter((run) => run.variant === variant && run.curve.length > 0);
}

export function curveLines(
  report: Report,
  key: string,
  grouping: Grouping,
  shown: Set<string>,
): Line[] {
  return report.variants.flatMap((variant, index) => {
    if (!shown.has(variant.name)) return [];
    const runs = runsOf(report, variant.name);
    const line = { group: variant.name, mark: variantMark(index) };
    if (grouping === "means") {
      const points = meanCurve(runs, key);
      return points.length > 0
        ? [{ ...line, name: `${variant.name}, mean`, points, marked: null }]
        : [];
    }
    return runs.map((run) => ({
      ...line,
      name: run.name,
      points: run.curve.map(({ epoch, values }) => ({ x: epoch, y: values.get(key) ?? NaN })),
      marked: run.bestEpoch,
    }));
  });
}

/**
 * Mean and range over seeds, only at epochs that every seed reached: with early stopping the
 * runs that go on are not a fair sample, and the mean would jump where one ends.
 */
function meanCurve(runs: Run[], key: string): Line["points"] {
  const byEpoch = new Map<number, number[]>();
  for (const run of runs) {
    for (const { epoch, values } of run.curve) {
      byEpoch.set(epoch, [...(byEpoch.get(epoch) ?? []), values.get(key) ?? NaN]);
    }
  }
  return [...byEpoch]
    .filter(([, ys]) => ys.length === runs.length)
    .sort(([a], [b]) => a - b)
    .map(([x, ys]) => ({
      x,
      y: ys.reduce((sum, y) => sum + y, 0) / ys.length,
      low: Math.min(...ys),
      high: Math.max(...ys),
    }));
}

export function curveTable(report: Report): Table {
  const keys = measureKeys(report.runs);
  return {
    columns: ["run", "variant", "seed", "epoch", ...keys, "best"],
    rows: report.runs.flatMap((run) =>
      run.curve.map(({ epoch, values }) => [
        run.name,
        run.variant,
        run.seed,
        epoch,
        ...keys.map((key) => values.get(key) ?? null),
        epoch === run.bestEpoch ? 1 : 0,
      ]),
    ),
  };
}
