/** Invented runs in the report's JSON: 4 variants × 3 seeds × 40 examples, hostile text among them. */

/** Tokens that would do harm or break the layout if they were taken for markup. */
export const kHostile = [
  "<script>window.hacked=1</script>",
  '"><img src=x onerror=window.hacked=1>',
  "</script><b>",
  "&amp;",
  "it's",
  "שלום",
  "مرحبا",
  "👩‍🔬🔥",
  "\u0001",
  "{{x}}",
  "W".repeat(80),
];

/** The viewer's own types are for what was read; this is what is written. */
export type Json = { [key: string]: any };

function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const kGood = ["wonderful", "great", "superb", "lovely", "friendly"];
const kBad = ["awful", "bland", "rude", "terrible", "stale"];
const kPlaces = ["the food", "the room", "our waiter", "the view", "this phone", "the second act"];
const kFiller = [
  "was",
  "on the whole",
  "and",
  "although",
  "we came late",
  "with my sister",
  "honestly",
];

interface Sentence {
  id: string;
  tokens: string[];
  gold: number[];
  label: "negative" | "positive";
}

function sentences(count: number): Sentence[] {
  const random = generator(7);
  const pick = (list: string[]): string => list[Math.floor(random() * list.length)]!;
  return Array.from({ length: count }, (_, i) => {
    const label = random() < 0.5 ? "positive" : "negative";
    const negated = random() < 0.25;
    const word = pick((label === "positive") !== negated ? kGood : kBad);
    const pieces = [pick(kPlaces), "was"];
    if (negated) pieces.push("*not");
    pieces.push(`*${word}`);
    for (let extra = Math.floor(random() * 5); extra > 0; extra -= 1) pieces.push(pick(kFiller));
    if (random() < 0.6) pieces.unshift(pick(kFiller), ",");
    if (i % 13 === 3) pieces.push(...kHostile);
    if (i === 20) pieces.splice(0, pieces.length, "الطعام", "كان", "*رائعا", "جدا");
    const tokens: string[] = [];
    const gold: number[] = [];
    for (const piece of pieces) {
      const decides = piece.startsWith("*");
      const words = kHostile.includes(piece) ? [piece] : piece.replace("*", "").split(" ");
      for (const each of words) {
        tokens.push(each);
        gold.push(decides ? 1 : 0);
      }
    }
    return { id: `test-${i + 1}`, tokens, gold, label };
  });
}

interface Kind {
  name: string;
  focus: number;
  skill: number;
  part: Json;
}

const kKinds: Kind[] = [
  {
    name: "mean-pool",
    focus: 0,
    skill: 0.86,
    part: {
      group: "mechanism",
      id: "mean-pool",
      title: "Mean pooling",
      formula: String.raw`c = \frac{1}{n} \sum_{l=1}^{n} v_l`,
      paper: "baseline",
      advice: "the baseline every attention must beat",
    },
  },
  {
    name: "additive",
    focus: 3.4,
    skill: 0.975,
    part: {
      group: "score",
      id: "additive",
      title: "Additive",
      formula: String.raw`w^\top \tanh(W_1 q + W_2 k_l + b)`,
      paper: "Bahdanau et al. 2015",
      advice: "strong when queries and keys live in different spaces",
    },
  },
  {
    name: "scaled-dot",
    focus: 2.6,
    skill: 0.965,
    part: {
      group: "score",
      id: "scaled-dot",
      title: "Scaled dot product",
      formula: String.raw`\frac{q^\top k_l}{\sqrt{d_k}}`,
      paper: "Vaswani et al. 2017, eq. 1",
      advice: "the default; needed instead of dot when keys are wide",
    },
  },
  {
    name: "general",
    focus: 2.2,
    skill: 0.955,
    part: {
      group: "score",
      id: "general",
      title: "General",
      formula: String.raw`k_l^\top W q`,
      paper: "Luong et al. 2015",
      advice: "a learned bilinear form",
    },
  },
];

const kSoft: Json = {
  group: "align",
  id: "soft",
  title: "Soft (global)",
  formula: String.raw`a_l = \frac{\exp(e_l)}{\sum_{j} \exp(e_j)}`,
  paper: "Bahdanau et al. 2015",
  advice: "differentiable everywhere; every key keeps some weight",
};

function attention(sentence: Sentence, focus: number, random: () => number): number[] {
  if (focus === 0) return sentence.tokens.map(() => 1 / sentence.tokens.length);
  const scores = sentence.gold.map((gold) => gold * focus + random() * 1.2);
  const exps = scores.map(Math.exp);
  const total = exps.reduce((a, b) => a + b, 0);
  return exps.map((e) => Number((e / total).toFixed(5)));
}

function run(kind: Kind, seed: number, texts: Sentence[]): Json {
  const random = generator(seed * 97 + kind.name.length);
  const epochs = 6 + Math.floor(random() * 4);
  const curve = Array.from({ length: epochs }, (_, i) => {
    const rest = Math.exp(-(i + 1) / (1.6 + random() * 0.4));
    const overfit = Math.max(0, i - epochs + 3) * 0.02;
    return {
      epoch: i + 1,
      train_loss: 0.04 + 0.66 * rest,
      val_loss: (1 - kind.skill) * 2.4 + 0.6 * rest + overfit + random() * 0.02,
      val_accuracy: Math.min(1, kind.skill - 0.4 * rest + (random() - 0.5) * 0.012),
      seconds: 1 + random() * 0.3,
    };
  });
  const examples = texts.map((text) => {
    const right = random() < kind.skill;
    const p = 0.55 + random() * 0.44;
    const label = right ? text.label : text.label === "positive" ? "negative" : "positive";
    const weights = attention(text, kind.focus * (0.9 + seed * 0.05), random);
    return {
      id: text.id,
      inputs: { text: text.tokens },
      maps: [
        {
          name: "attention",
          axes: ["head", "query", "key"],
          query_input: null,
          key_input: "text",
          shape: [1, 1, weights.length],
          data: weights,
        },
      ],
      gold: { label: text.label, weights: { text: text.gold } },
      prediction: { label, probabilities: label === "positive" ? [1 - p, p] : [p, 1 - p] },
    };
  });
  const best = curve.reduce((a, b) => (b.val_loss < a.val_loss ? b : a)).epoch;
  const config = `[task]\nkind = "classify"\ndata = "builtin:reviews"\n\n[attention]\nscore = "${kind.name}"\nalign = "soft"\n\n[train]\nepochs = 12\nseed = ${seed}\n`;
  return {
    name: `${kind.name}-${seed}`,
    variant: kind.name,
    seed,
    config,
    curve,
    best_epoch: best,
    examples,
  };
}

function metric(label: string, unit: string, higher: boolean, values: number[]): Json {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const sd = values.length > 1 ? Math.sqrt(square / (values.length - 1)) : null;
  const signature = `${label.toLowerCase().replaceAll(" ", "-")}|split:test|v:0.1.0`;
  return { mean, sd, values, unit, higher_is_better: higher, label, signature };
}

export function fixture(kinds = kKinds, seeds = [1, 2, 3], count = 40): Json {
  const texts = sentences(count);
  return {
    version: 1,
    heed: "0.1.0",
    title: "heed demo",
    created: "2026-11-15T21:00:00Z",
    command: "heed demo",
    machine: "2 threads, AVX2, 8 GB",
    task: {
      kind: "classify",
      data: "builtin:reviews",
      labels: ["negative", "positive"],
      counts: { train: 2000, val: 400, test: 400 },
    },
    variants: kinds.map((kind, k) => {
      const random = generator(k + 11);
      const wobble = (scale: number): number[] => seeds.map(() => (random() - 0.5) * scale);
      const onGold = kind.focus === 0 ? 0.118 : 0.35 + kind.focus * 0.14;
      return {
        name: kind.name,
        mechanism:
          kind.focus === 0
            ? { id: "mean-pool", title: "Mean pooling" }
            : { id: "singular", title: "Singular features" },
        parts: kind.focus === 0 ? [kind.part] : [kind.part, kSoft],
        metrics: {
          accuracy: metric(
            "Test accuracy",
            "share",
            true,
            wobble(0.02).map((w) => kind.skill + w),
          ),
          correctness: metric(
            "Weight on the true rationale",
            "share",
            true,
            wobble(kind.focus === 0 ? 0 : 0.06).map((w) => onGold + w),
          ),
          seconds: metric(
            "Training time",
            "s",
            false,
            wobble(2).map((w) => 8.5 + kind.focus + w),
          ),
          parameters: metric(
            "Parameters",
            "count",
            false,
            seeds.map(() => 52_610 + k * 2_080),
          ),
        },
      };
    }),
    runs: kinds.flatMap((kind) => seeds.map((seed) => run(kind, seed, texts))),
    summary: [
      "additive attention won: 97.5 % test accuracy, 11.4 points above mean pooling.",
      "It puts 83 % of its weight on the words that decide the label; mean pooling puts 12 % there.",
      "Spread over 3 seeds is under 1 point, so the order of the first two is not settled.",
    ],
  };
}

export function singleRun(): Json {
  const report = fixture(kKinds.slice(1, 2), [1], 12);
  return { ...report, title: "additive-1", command: "heed report runs/additive-1", summary: [] };
}
