/** Questions about the metrics of several variants at once. */
import type { Metric, Variant } from "./data";
import { formatSpread, formatValue } from "./format";
import type { Table } from "./csv";

const kRationale = "correctness";

/** The task's own measure, which the data has first, then the weight on the rationale, then the others. */
export function metricKeys(variants: Variant[]): string[] {
  const all = [...new Set(variants.flatMap((variant) => [...variant.metrics.keys()]))];
  const [own, ...others] = all.filter((key) => key !== kRationale);
  return [
    ...(own === undefined ? [] : [own]),
    ...(all.includes(kRationale) ? [kRationale] : []),
    ...others,
  ];
}

/** The metrics that get a plot of their own, two at most. */
export function headlineKeys(variants: Variant[]): string[] {
  return metricKeys(variants)
    .slice(0, 2)
    .filter((key, i) => i === 0 || key === kRationale);
}

/** How the metric is labelled: by the first variant that has it. */
export function describe(variants: Variant[], key: string): Metric | undefined {
  return variants.find((variant) => variant.metrics.has(key))?.metrics.get(key);
}

/**
 * Names of the best variants by mean; several when they read the same. None with fewer than two to
 * compare, when every one is equal, or when the metric has no better end.
 */
export function bestVariants(variants: Variant[], key: string): Set<string> {
  const known = variants.filter((v) => Number.isFinite(v.metrics.get(key)?.mean));
  const first = known[0]?.metrics.get(key);
  if (known.length < 2 || !first || first.higherIsBetter === null) return new Set();
  const direction = first.higherIsBetter ? 1 : -1;
  const metric = (variant: Variant): Metric => variant.metrics.get(key)!;
  const best = known.reduce((a, b) =>
    direction * metric(b).mean > direction * metric(a).mean ? b : a,
  );
  const reads = (variant: Variant): string => formatValue(metric(variant).mean, first.unit);
  const winners = known.filter((variant) => reads(variant) === reads(best));
  return new Set(winners.length === known.length ? [] : winners.map((variant) => variant.name));
}

/** "additive, Test accuracy: 97.2 ± 1.0 % (seeds 96.0 %, 98.1 %)" */
export function metricSentence(variant: string, metric: Metric, best: boolean): string {
  const seeds = metric.values.map((value) => formatValue(value, metric.unit)).join(", ");
  const text = `${variant}, ${metric.label}: ${formatSpread(metric.mean, metric.sd, metric.unit)}`;
  return `${text}${metric.values.length > 1 ? ` (seeds ${seeds})` : ""}${best ? ", best" : ""}`;
}

export function metricTable(variants: Variant[], keys: string[]): Table {
  const rows = variants.flatMap((variant) =>
    keys.flatMap((key) => {
      const metric = variant.metrics.get(key);
      if (!metric) return [];
      const { mean, sd, unit, signature } = metric;
      const values = metric.values.length > 0 ? metric.values : [NaN];
      return values.map((value, i) => [
        variant.name,
        key,
        unit,
        mean,
        sd,
        metric.values.length > 0 ? i + 1 : null,
        value,
        signature,
      ]);
    }),
  );
  const columns = ["variant", "metric", "unit", "mean", "sd", "run", "value", "signature"];
  return { columns, rows };
}
