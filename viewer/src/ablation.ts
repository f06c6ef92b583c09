/** The table of “heed ablate”: its types, how it is checked, and its numbers as a table. */
import type { Table } from "./csv";
import type { Reader } from "./reader";

export interface Ablation {
  metric: string;
  unit: string;
  higherIsBetter: boolean;
  /** The part of the data on which rows are compared: test or val. */
  comparedOn: string;
  pending: number;
  rows: AblationRow[];
}

/** Mean and ends; NaN where they are not known. */
export type MeanInterval = readonly [mean: number, low: number, high: number];

export interface Measured {
  interval: MeanInterval;
  values: number[];
}

export interface Against {
  interval: MeanInterval;
  p: number;
  pCorrected: number;
  significant: boolean;
  pExamples: number;
  pSeeds: number;
}

export interface AblationRow {
  name: string;
  changes: string[];
  baseline: boolean;
  /** Why its parts do not go together; null: they do. */
  doesNotFit: string | null;
  seeds: number[];
  failures: { seed: number; message: string }[];
  val: Map<string, Measured>;
  test: Map<string, Measured>;
  /** Null for the baseline, and where there was nothing to pair. */
  against: Against | null;
  parameters: number;
  seconds: number;
  memory: number;
}

export function readAblation(ablation: Reader): Ablation | null {
  if (ablation.missing) return null;
  return {
    metric: ablation.field("metric").string(),
    unit: ablation.field("unit").stringOr(""),
    higherIsBetter: ablation.field("more_is_better").booleanOr(true),
    comparedOn: ablation.field("compared_on").stringOr("test"),
    pending: ablation.field("pending").numberOr(0),
    rows: ablation.field("rows").items().map(readRow),
  };
}

function readRow(row: Reader): AblationRow {
  const refusal = row.field("does_not_fit");
  const against = row.field("against_baseline");
  return {
    name: row.field("name").string(),
    changes: row
      .field("changes")
      .itemsOrNone()
      .map((change) => change.string()),
    baseline: row.field("baseline").booleanOr(false),
    doesNotFit: refusal.missing ? null : refusal.string(),
    seeds: row
      .field("seeds")
      .itemsOrNone()
      .map((seed) => seed.number()),
    failures: row
      .field("failures")
      .itemsOrNone()
      .map((failure) => ({
        seed: failure.field("seed").number(),
        message: failure.field("message").string(),
      })),
    val: readMeasured(row.field("val")),
    test: readMeasured(row.field("test")),
    against: against.missing ? null : readAgainst(against),
    parameters: row.field("parameters").numberOr(NaN),
    seconds: row.field("seconds").numberOr(NaN),
    memory: row.field("memory").numberOr(NaN),
  };
}

function readInterval(interval: Reader): MeanInterval {
  const number = (key: string): number => interval.field(key).numberOr(NaN);
  return [number("mean"), number("low"), number("high")];
}

function readMeasured(measured: Reader): Map<string, Measured> {
  return new Map(
    measured.entriesOrNone().map(([name, metric]) => [
      name,
      {
        interval: readInterval(metric),
        values: metric
          .field("values")
          .itemsOrNone()
          .map((value) => value.number()),
      },
    ]),
  );
}

function readAgainst(against: Reader): Against {
  return {
    interval: readInterval(against),
    p: against.field("p").numberOr(NaN),
    pCorrected: against.field("p_corrected").numberOr(NaN),
    significant: against.field("significant").booleanOr(false),
    pExamples: against.field("p_examples").numberOr(NaN),
    pSeeds: against.field("p_seeds").numberOr(NaN),
  };
}

const kUnknown: Measured = { interval: [NaN, NaN, NaN], values: [] };

/** The main metric of a row. */
export function mainMetric(row: AblationRow, part: "val" | "test", { metric }: Ablation): Measured {
  return row[part].get(metric) ?? kUnknown;
}

export function finishedRows({ rows }: Ablation): AblationRow[] {
  return rows.filter((row) => row.seeds.length > 0);
}

export function ablationTable(ablation: Ablation): Table {
  const { metric, rows } = ablation;
  const ends = (name: string): string[] => [name, `${name}_low`, `${name}_high`];
  const columns = [
    "row",
    "changes",
    "baseline",
    "seeds",
    ...ends(`val_${metric}`),
    ...ends(`test_${metric}`),
    ...ends("difference"),
    "p",
    "p_corrected",
    "p_examples",
    "p_seeds",
    "parameters",
    "seconds",
    "memory_bytes",
    "does_not_fit",
    "failures",
  ];
  return {
    columns,
    rows: rows.map((row) => [
      row.name,
      row.changes.join(" "),
      row.baseline ? "yes" : "",
      row.seeds.length,
      ...mainMetric(row, "val", ablation).interval,
      ...mainMetric(row, "test", ablation).interval,
      ...(row.against?.interval ?? [null, null, null]),
      row.against?.p ?? null,
      row.against?.pCorrected ?? null,
      row.against?.pExamples ?? null,
      row.against?.pSeeds ?? null,
      row.parameters,
      row.seconds,
      row.memory,
      row.doesNotFit,
      row.failures.map(({ seed, message }) => `seed ${seed}: ${message}`).join("; "),
    ]),
  };
}
