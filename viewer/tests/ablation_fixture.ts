/** An invented ablation: the fixture's variants as rows, one that failed once, two that do not fit. */
import { fixture, type Json } from "./fixture";

function interval(values: number[], reach: number): Json {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return { mean, low: mean - reach, high: mean + reach, values };
}

function against(mean: number, reach: number, p: number): Json {
  return {
    mean,
    low: mean - reach,
    high: mean + reach,
    df: 11.5,
    p: p / 3,
    p_corrected: p,
    significant: p < 0.05,
    p_examples: p / 4,
    p_seeds: p / 2,
  };
}

function row(name: string, accuracy: number[], rest: Json): Json {
  return {
    name,
    changes: [`attention.score=${name}`],
    baseline: false,
    cells: accuracy.map((_, i) => `${name}-${i + 1}`),
    seeds: accuracy.map((_, i) => i + 1),
    failures: [],
    val: { accuracy: interval(accuracy, 0.02), f1: interval(accuracy, 0.02) },
    test: {
      accuracy: interval(
        accuracy.map((value) => value - 0.01),
        0.03,
      ),
    },
    parameters: 52_610,
    seconds: 8.25,
    memory: 210 * 2 ** 20,
    ...rest,
  };
}

export function ablationReport(): Json {
  const refusal = (name: string): Json => ({
    name,
    changes: [],
    baseline: false,
    does_not_fit: "dimensionality 'multi' goes with <b>additive</b>",
  });
  return {
    ...fixture(),
    title: "Ablation",
    command: "heed ablate my.toml --over score=all",
    ablation: {
      version: 1,
      metric: "accuracy",
      unit: "share",
      more_is_better: true,
      compared_on: "test",
      confidence: 0.95,
      pending: 0,
      rows: [
        row("additive", [0.97, 0.975, 0.98], { against_baseline: against(0.021, 0.012, 0.004) }),
        row("general", [0.955, 0.96], {
          against_baseline: against(-0.004, 0.02, 0.71),
          failures: [{ seed: 3, message: "ended by signal 9 (Killed)" }],
        }),
        row("scaled-dot", [0.95, 0.96, 0.955], { baseline: true }),
        row("mean-pool", [0.85, 0.86, 0.87], { against_baseline: against(-0.095, 0.02, 0.0001) }),
        refusal("dot, multi"),
        refusal("<i>general</i>, multi"),
      ],
    },
  };
}
