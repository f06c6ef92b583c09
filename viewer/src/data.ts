/** The report's JSON: its types, and the one place where it is checked. README.md documents it. */
import { readAblation, type Ablation } from "./ablation";
import { readAudit, type Audit } from "./audit";
import { readPacked } from "./packed";
import { DataError, Reader } from "./reader";
import { readFeatures, readLinks, readShapes, type Features, type Shapes } from "./shapes";

export { DataError };

export const kVersion = 1;

export interface Report {
  heed: string;
  title: string;
  created: string;
  command: string;
  machine: string;
  task: Task;
  variants: Variant[];
  runs: Run[];
  summary: string[];
  /** The table of “heed ablate”; null in other reports. */
  ablation: Ablation | null;
  /** What was left out because it could not be read, one sentence each. */
  problems: string[];
}

export interface Task {
  kind: string;
  data: string;
  labels: string[];
  counts: [split: string, size: number][];
}

export interface Variant {
  name: string;
  mechanism: { id: string; title: string };
  parts: Part[];
  /** A picture of the model's modules, as SVG; "" when there is none. */
  wiring: string;
  metrics: Map<string, Metric>;
}

export interface Part {
  group: string;
  id: string;
  title: string;
  formula: string;
  paper: string;
  advice: string;
}

export interface Metric {
  /** NaN when it could not be computed. */
  mean: number;
  /** Over seeds; NaN with one seed. */
  sd: number;
  values: number[];
  unit: string;
  /** null: neither end is better. */
  higherIsBetter: boolean | null;
  label: string;
  signature: string;
}

export interface Run {
  name: string;
  variant: string;
  seed: number;
  config: string;
  curve: CurvePoint[];
  bestEpoch: number | null;
  examples: Example[];
  /** Of “heed explain --audit”; null: not audited. */
  audit: Audit | null;
}

export interface CurvePoint {
  epoch: number;
  /** Everything measured at this epoch, by key: train_loss, val_loss, val_accuracy, seconds … */
  values: Map<string, number>;
}

export interface Example {
  id: string;
  inputs: Map<string, string[]>;
  maps: WeightMap[];
  gold: Gold | null;
  prediction: Prediction | null;
  shapes?: Shapes | undefined;
}

/** Weights of one attention module, row-major over `axes`; NaN where there is none. */
export interface WeightMap {
  name: string;
  axes: string[];
  queryInput: string | null;
  keyInput: string | null;
  shape: number[];
  readonly data: ArrayLike<number>;
  /** Of multi-dimensional attention, whose `data` is the mean over the features. */
  features?: Features | undefined;
}

export interface Gold {
  label: string | null;
  /** The true rationale: for each input a weight a token, above 0 where the token decides. */
  weights: Map<string, number[]>;
  /** Which word of the right answer says what which word of the text does. */
  links?: [target: number, source: number][] | undefined;
  /** Of tasks that answer with a sequence. */
  sequence?: string[] | undefined;
  /** Of tasks that answer with a number. */
  number?: number | undefined;
}

export interface Prediction {
  label: string;
  probabilities: number[];
  /** Of tasks that answer with a sequence. */
  sequence?: string[] | undefined;
}

/** Throws `DataError` when nothing can be shown; otherwise leaves out what is broken and says so. */
export function parseReport(text: string): Report {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new DataError(`not valid JSON (${error instanceof Error ? error.message : error})`);
  }
  return readReport(json);
}

export function readReport(json: unknown): Report {
  const root = new Reader(json, "");
  const version = root.field("version").number();
  if (version !== kVersion) {
    throw new DataError(
      `version: this page reads version ${kVersion}, the data is version ${version}`,
    );
  }
  const problems: string[] = [];
  const variants = keepReadable(root.field("variants").items(), readVariant, problems);
  const runs = keepReadable(
    root.field("runs").items(),
    (run) => readRun(run, variants, problems),
    problems,
  );
  return {
    heed: root.field("heed").stringOr("?"),
    title: root.field("title").stringOr("heed report"),
    created: root.field("created").stringOr(""),
    command: root.field("command").stringOr(""),
    machine: root.field("machine").stringOr(""),
    task: readTask(root.field("task")),
    variants,
    runs,
    summary: root
      .field("summary")
      .itemsOrNone()
      .map((sentence) => sentence.string()),
    ablation: readAblation(root.field("ablation")),
    problems,
  };
}

function keepReadable<T>(items: Reader[], read: (item: Reader) => T, problems: string[]): T[] {
  const kept: T[] = [];
  for (const item of items) {
    try {
      kept.push(read(item));
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      problems.push(error.message);
    }
  }
  return kept;
}

function readTask(task: Reader): Task {
  if (task.missing) return { kind: "", data: "", labels: [], counts: [] };
  return {
    kind: task.field("kind").stringOr(""),
    data: task.field("data").stringOr(""),
    labels: task
      .field("labels")
      .itemsOrNone()
      .map((label) => label.string()),
    counts: task
      .field("counts")
      .entriesOrNone()
      .map(([split, size]) => [split, size.number()]),
  };
}

function readVariant(variant: Reader): Variant {
  const mechanism = variant.field("mechanism");
  return {
    name: variant.field("name").string(),
    mechanism: mechanism.missing
      ? { id: "", title: "" }
      : { id: mechanism.field("id").stringOr(""), title: mechanism.field("title").stringOr("") },
    parts: variant.field("parts").itemsOrNone().map(readPart),
    wiring: variant.field("wiring").stringOr(""),
    metrics: new Map(
      variant
        .field("metrics")
        .entriesOrNone()
        .filter(([, metric]) => !metric.missing)
        .map(([key, metric]) => [key, readMetric(key, metric)]),
    ),
  };
}

export function readPart(part: Reader): Part {
  return {
    group: part.field("group").stringOr(""),
    id: part.field("id").string(),
    title: part.field("title").stringOr(part.field("id").string()),
    formula: part.field("formula").stringOr(""),
    paper: part.field("paper").stringOr(""),
    advice: part.field("advice").stringOr(""),
  };
}

function readMetric(key: string, metric: Reader): Metric {
  const values = metric
    .field("values")
    .itemsOrNone()
    .map((value) => value.number());
  return {
    mean: metric.field("mean").numberOr(NaN),
    sd: values.length < 2 ? NaN : metric.field("sd").numberOr(NaN),
    values,
    unit: metric.field("unit").stringOr(""),
    higherIsBetter: metric.field("higher_is_better").booleanOr(null),
    label: metric.field("label").stringOr(key.replaceAll("_", " ")),
    signature: metric.field("signature").stringOr(""),
  };
}

function readRun(run: Reader, variants: Variant[], problems: string[]): Run {
  const variant = run.field("variant").string();
  if (!variants.some((known) => known.name === variant)) {
    run.field("variant").fail(`no variant is named "${variant}"`);
  }
  const best = run.field("best_epoch").numberOr(NaN);
  return {
    name: run.field("name").string(),
    variant,
    seed: run.field("seed").numberOr(NaN),
    config: run.field("config").stringOr(""),
    curve: keepReadable(run.field("curve").itemsOrNone(), readCurvePoint, problems),
    bestEpoch: Number.isFinite(best) ? best : null,
    audit: readAudit(run.field("audit")),
    examples: keepReadable(
      run.field("examples").itemsOrNone(),
      (example) => readExample(example, problems),
      problems,
    ),
  };
}

function readCurvePoint(point: Reader): CurvePoint {
  const values = new Map<string, number>();
  for (const [key, value] of point.entries()) {
    if (key !== "epoch") values.set(key, value.numberOr(NaN));
  }
  return { epoch: point.field("epoch").number(), values };
}

function readExample(example: Reader, problems: string[]): Example {
  const inputs = new Map(
    example
      .field("inputs")
      .entries()
      .map(([name, tokens]) => [name, tokens.strings()]),
  );
  const maps = example.field("maps").itemsOrNone();
  return {
    id: example.field("id").string(),
    inputs,
    maps: keepReadable(maps, (map) => readMap(map, inputs), problems),
    gold: readGold(example.field("gold"), inputs),
    prediction: readPrediction(example.field("prediction")),
    shapes: readShapes(example, inputs, problems),
  };
}

export function readMap(map: Reader, inputs: Map<string, string[]>): WeightMap {
  const named = (key: string): string | null => {
    const input = map.field(key);
    if (input.missing) return null;
    if (!inputs.has(input.string())) input.fail(`no input is named "${input.string()}"`);
    return input.string();
  };
  const axes = map.field("axes").strings();
  const shape = map.field("shape").numbers();
  const keyInput = named("key_input");
  if (shape.length !== axes.length) {
    map.field("shape").fail(`${shape.length} sizes for ${axes.length} axes`);
  }
  const size = shape.reduce((product, length) => product * length, 1);
  const weights = readWeights(map, size, shape);
  const keys = shape[axes.indexOf("key")];
  const tokens = keyInput === null ? undefined : inputs.get(keyInput)?.length;
  if (keys !== undefined && tokens !== undefined && keys !== tokens) {
    map.field("shape").fail(`${keys} keys for the ${tokens} tokens of "${keyInput}"`);
  }
  return {
    name: map.field("name").stringOr("attention"),
    axes,
    queryInput: named("query_input"),
    keyInput,
    shape,
    get data() {
      return weights();
    },
    features: readFeatures(map.field("features"), shape),
  };
}

function readWeights(map: Reader, size: number, shape: number[]): () => ArrayLike<number> {
  if (!map.field("packed").missing) return readPacked(map, size);
  const data = map.field("data").numbers();
  if (size !== data.length) {
    map.field("data").fail(`${data.length} weights for a shape of ${shape.join(" × ")}`);
  }
  return () => data;
}

function readGold(gold: Reader, inputs: Map<string, string[]>): Gold | null {
  if (gold.missing) return null;
  const weights = new Map<string, number[]>();
  for (const [name, values] of gold.field("weights").entriesOrNone()) {
    if (values.missing) continue;
    const tokens = inputs.get(name);
    if (tokens === undefined) return values.fail(`no input is named "${name}"`);
    if (values.items().length !== tokens.length) {
      values.fail(`${values.items().length} weights for ${tokens.length} tokens`);
    }
    weights.set(name, values.numbers());
  }
  const label = gold.field("label");
  return {
    label: label.missing ? null : label.string(),
    weights,
    links: readLinks(gold.field("links")),
    sequence: readSequence(gold.field("sequence")),
    number: gold.field("number").missing ? undefined : gold.field("number").number(),
  };
}

function readSequence(sequence: Reader): string[] | undefined {
  return sequence.missing ? undefined : sequence.strings();
}

export function readPrediction(prediction: Reader): Prediction | null {
  if (prediction.missing) return null;
  return {
    label: prediction.field("label").string(),
    probabilities: prediction
      .field("probabilities")
      .itemsOrNone()
      .map((p) => p.number()),
    sequence: readSequence(prediction.field("sequence")),
  };
}
