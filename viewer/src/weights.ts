/** From traces to one weight a token, and the two numbers that describe them. */
import type { Example, WeightMap } from "./data";

/** One input of an example as it is shown: its tokens and, where a map attends to it, weights. */
export interface ShadedInput {
  input: string;
  map: string | null;
  tokens: string[];
  weights: number[] | null;
  /** 1 where a token belongs to the true rationale; null when the data has none. */
  gold: number[] | null;
  /** What the weights are a mean over: "4 heads", or "" when nothing was merged. */
  merged: string;
}

/** Mean over every axis but the keys; NaN weights (masked, absent) do not count. */
export function keyWeights(map: WeightMap): number[] {
  const axis = map.axes.indexOf("key");
  const keys = map.shape[axis] ?? 0;
  const inner = map.shape.slice(axis + 1).reduce((product, size) => product * size, 1);
  const sums = new Array<number>(keys).fill(0);
  const counts = new Array<number>(keys).fill(0);
  const { data } = map;
  for (let i = 0; i < data.length; i += 1) {
    if (!Number.isFinite(data[i])) continue;
    const key = Math.floor(i / inner) % keys;
    sums[key]! += data[i]!;
    counts[key]! += 1;
  }
  return sums.map((sum, key) => (counts[key] ? sum / counts[key] : NaN));
}

/** The inputs in the order of the maps that attend to them, then those that nothing attends to. */
export function shadedInputs(example: Example): ShadedInput[] {
  const shown: ShadedInput[] = [];
  const goldOf = (input: string): number[] | null => example.gold?.weights.get(input) ?? null;
  for (const map of example.maps) {
    const tokens = map.keyInput === null ? undefined : example.inputs.get(map.keyInput);
    if (map.keyInput === null || tokens === undefined || !map.axes.includes("key")) continue;
    shown.push({
      input: map.keyInput,
      map: map.name,
      tokens,
      weights: keyWeights(map),
      gold: goldOf(map.keyInput),
      merged: merged(map),
    });
  }
  for (const [input, tokens] of example.inputs) {
    if (shown.some((line) => line.input === input)) continue;
    shown.push({ input, map: null, tokens, weights: null, gold: goldOf(input), merged: "" });
  }
  return shown;
}

function merged(map: WeightMap): string {
  return map.axes
    .map((axis, i) => ({ axis, size: map.shape[i] ?? 1 }))
    .filter(({ axis, size }) => axis !== "key" && size > 1)
    .map(({ axis, size }) => `${size} ${axis === "query" ? "queries" : `${axis}s`}`)
    .join(" × ");
}

/** Share of the weight that lies on the true rationale; NaN without weights or rationale. */
export function rationaleShare(weights: number[] | null, gold: number[] | null): number {
  if (weights === null || gold === null || !gold.some((g) => g > 0)) return NaN;
  let on = 0;
  let all = 0;
  weights.forEach((weight, i) => {
    if (!Number.isFinite(weight)) return;
    all += weight;
    if (gold[i]! > 0) on += weight;
  });
  return all > 0 ? on / all : NaN;
}

/** Entropy of the normalised weights in nats: 0 for one token, ln n for n equal ones. */
export function entropy(weights: number[] | null): number {
  const positive = (weights ?? []).filter((weight) => weight > 0);
  const total = positive.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) return NaN;
  return positive.reduce((sum, w) => sum - (w / total) * Math.log(w / total), 0) + 0;
}

export function exampleShare(example: Example): number {
  const lines = shadedInputs(example);
  const line = lines.find((each) => each.weights !== null && each.gold !== null);
  return line ? rationaleShare(line.weights, line.gold) : NaN;
}

export function exampleEntropy(example: Example): number {
  return entropy(shadedInputs(example).find((line) => line.weights !== null)?.weights ?? null);
}
