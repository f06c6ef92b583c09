/** The audit of a run (RUN/audit/audit.json of “heed explain --audit”), as rows that can be plotted. */
import type { Table } from "./csv";
import type { Reader } from "./reader";

export interface Estimate {
  name: string;
  mean: number;
  /** The 95 % interval over examples; NaN: none. */
  low: number;
  high: number;
  count: number;
}

/** One test: a figure with a row for each class, bin or method. */
export interface AuditTest {
  title: string;
  label: string;
  note: string;
  rows: Estimate[];
}

/** Another model, trained to be held against this one. */
export interface AuditModel {
  name: string;
  accuracy: number;
  /** How far its output and its weights are from this model's; null: not measured. */
  output: Estimate | null;
  weights: Estimate | null;
}

export interface Audit {
  verdict: string[];
  tests: AuditTest[];
  models: AuditModel[];
  /** Tests that could not be made, and why. */
  skipped: [test: string, why: string][];
}

export function readAudit(audit: Reader): Audit | null {
  if (audit.missing) return null;
  const tests = audit.field("tests");
  const made = tests.entriesOrNone().filter(([, test]) => test.field("skipped").missing);
  const named = new Map(made);
  const of = (name: string, read: (test: Reader) => AuditTest[]): AuditTest[] => {
    const test = named.get(name);
    return test ? read(test) : [];
  };
  return {
    verdict: audit
      .field("verdict")
      .itemsOrNone()
      .map((sentence) => sentence.string()),
    tests: [
      ...of("agreement", readAgreement),
      ...of("permutation", (test) => [readPermutation(test)]),
      ...of("adversarial", (test) => [readAdversarial(test)]),
      ...of("faithfulness", readFaithfulness),
      ...of("rationales", readRationales),
    ],
    models: [
      {
        name: "this model",
        accuracy: accuracyOf(audit.field("scores")),
        output: null,
        weights: null,
      },
      ...made.flatMap(([name, test]) => readModel(name, test)),
    ],
    skipped: tests
      .entriesOrNone()
      .filter(([, test]) => !test.field("skipped").missing)
      .map(([name, test]) => [name, test.field("skipped").string()]),
  };
}

function readEstimate(name: string, value: Reader): Estimate {
  return {
    name,
    mean: value.field("mean").numberOr(NaN),
    low: value.field("low").numberOr(NaN),
    high: value.field("high").numberOr(NaN),
    count: value.field("count").numberOr(NaN),
  };
}

function classRows(test: Reader): Estimate[] {
  return test
    .field("by_class")
    .entriesOrNone()
    .map(([label, value]) => readEstimate(`class ${label}`, value));
}

function readAgreement(test: Reader): AuditTest[] {
  const pairs = test.entries().filter(([, value]) => isRecord(value));
  const rows = pairs.flatMap(([pair, value]) => {
    const name = pair.replaceAll("leave-one-out", "leaving out").replace("-", " – ");
    return [
      readEstimate(name, value.field("overall")),
      ...classRows(value).map((row) => ({ ...row, name: `  ${row.name}` })),
    ];
  });
  return [
    {
      title: "Do importances agree?",
      label: "Kendall’s τ",
      note: "Rank correlation of two ways to say which words matter, in the same text: 1 the same order, 0 none. First and last word left out.",
      rows,
    },
  ];
}

function binRows(test: Reader): Estimate[] {
  return test
    .field("by_greatest_weight")
    .itemsOrNone()
    .map((bin) => {
      const ends = [bin.field("greatest_weight_from").number(), bin.field("to").number()];
      const [from, to] = ends.map((end) => end.toFixed(2));
      return readEstimate(`${from}–${to}`, bin);
    });
}

function readPermutation(test: Reader): AuditTest {
  return {
    title: "Do shuffled weights change the answer?",
    label: "Change of the output (total variation)",
    note: "Median over shuffles of each example’s weights, by the greatest weight in it. Where much weight lies on one word, a shuffle should matter.",
    rows: [readEstimate("overall", test.field("overall")), ...binRows(test)],
  };
}

function readAdversarial(test: Reader): AuditTest {
  return {
    title: "Are there other weights with the same answer?",
    label: "Jensen-Shannon divergence (nats)",
    note: `The most that weights can differ from the model’s own (0.69 is the most there is) while the output stays within ${test.field("epsilon").numberOr(NaN)}, by the greatest weight of the example.`,
    rows: [readEstimate("overall", test.field("overall")), ...binRows(test)],
  };
}

function readFaithfulness(test: Reader): AuditTest[] {
  const methods = test.field("methods").entriesOrNone();
  const rows = (key: string): Estimate[] =>
    methods.map(([method, value]) => readEstimate(method, value.field(key)));
  return [
    {
      title: "Without the words that matter most",
      label: "Comprehensiveness",
      note: "What the predicted class loses when the most important words are taken away: the more, the better the method found them.",
      rows: rows("comprehensiveness"),
    },
    {
      title: "With only the words that matter most",
      label: "Sufficiency",
      note: "What the predicted class loses when only the most important words are kept: the less, the better the method found them.",
      rows: rows("sufficiency"),
    },
  ];
}

function readRationales(test: Reader): AuditTest[] {
  const methods = test.field("methods").entriesOrNone();
  const plain = (key: string): Estimate[] =>
    methods.map(([name, value]) => ({
      name,
      mean: value.field(key).numberOr(NaN),
      low: NaN,
      high: NaN,
      count: NaN,
    }));
  return [
    {
      title: "Do people mark the same words?",
      label: "Area under precision and recall",
      note: "Words ranked by importance, against those that people marked: 1 is perfect.",
      rows: plain("auprc"),
    },
  ];
}

function readModel(name: string, test: Reader): AuditModel[] {
  const result = test.field("test");
  if (result.missing) return [];
  const estimate = (key: string): Estimate | null =>
    test.field(key).missing ? null : readEstimate(name, test.field(key));
  return [
    {
      name,
      accuracy: accuracyOf(result),
      output: estimate("output_change"),
      weights: estimate("weights_distance"),
    },
  ];
}

function accuracyOf(scores: Reader): number {
  return scores.missing ? NaN : scores.field("accuracy").numberOr(NaN);
}

function isRecord(value: Reader): boolean {
  return value.isObject && !value.field("overall").missing;
}

export function testTable({ label, rows }: AuditTest): Table {
  return {
    columns: ["row", label, "low", "high", "examples"],
    rows: rows.map(({ name, mean, low, high, count }) => [name.trim(), mean, low, high, count]),
  };
}

export function modelTable(models: AuditModel[]): Table {
  return {
    columns: ["model", "accuracy", "output change", "weights distance"],
    rows: models.map(({ name, accuracy, output, weights }) => [
      name,
      accuracy,
      output?.mean ?? null,
      weights?.mean ?? null,
    ]),
  };
}
