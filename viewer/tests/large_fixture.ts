/** Reports of the sizes that make other viewers give up: a long document, a large Transformer. */
import { singleRun, type Json } from "./fixture";

const kWords = [
  "the",
  "plot",
  "was",
  "thin",
  "but",
  "acting",
  "carried",
  "it",
  "far",
  "enough",
  ".",
];

function report(title: string, examples: Json[]): Json {
  const base = singleRun();
  return { ...base, title, runs: [{ ...base["runs"][0], examples }] };
}

/** One document of 10 000 words, and 199 short ones. */
export function longDocument(words = 10_000): Json {
  const example = (id: number, count: number): Json => {
    const tokens = Array.from({ length: count }, (_, i) => kWords[(i * i) % kWords.length]!);
    const raw = tokens.map((_, i) => Math.exp(4 * Math.sin(i * 12.9898) ** 21));
    const total = raw.reduce((a, b) => a + b, 0);
    return {
      id: `test-${id}`,
      inputs: { text: tokens },
      maps: [
        {
          name: "attention",
          axes: ["head", "query", "key"],
          key_input: "text",
          shape: [1, 1, count],
          data: raw.map((weight) => weight / total),
        },
      ],
      gold: { label: "positive" },
      prediction: { label: "positive", probabilities: [0.1, 0.9] },
    };
  };
  return report(
    "A document of 10 000 words",
    Array.from({ length: 200 }, (_, i) => example(i + 1, i === 0 ? words : 30)),
  );
}

/** The encoding that src/packed.ts reads, written a second time: not shared with what it tests. */
function packed(
  weights: (head: number, query: number, key: number) => number,
  sizes: number[],
): Json {
  const [heads = 0, queries = 0, keys = 0] = sizes;
  const bytes = Buffer.alloc(heads * queries * keys);
  let i = 0;
  for (let head = 0; head < heads; head += 1) {
    for (let query = 0; query < queries; query += 1) {
      for (let key = 0; key < keys; key += 1, i += 1) {
        bytes[i] = Math.round(255 * Math.sqrt(weights(head, query, key)));
      }
    }
  }
  return { packed: bytes.toString("base64"), most: 1 };
}

/** Twelve layers of twelve heads over 512 tokens: 38 million weights. */
export function largeModel(layers = 12, heads = 12, length = 512): Json {
  const maps = Array.from({ length: layers }, (_, layer) => ({
    name: `layer ${layer + 1}`,
    axes: ["head", "query", "key"],
    query_input: "text",
    key_input: "text",
    shape: [heads, length, length],
    ...packed(
      (head, query, key) =>
        Math.exp(-Math.abs(query - key + head * 3 - layer * 2) / (1 + head)) / (1 + head),
      [heads, length, length],
    ),
  }));
  const tokens = Array.from({ length }, (_, i) => kWords[i % kWords.length]!);
  const prediction = { label: "positive", probabilities: [0.2, 0.8] };
  return report("Twelve layers of twelve heads", [
    { id: "test-1", inputs: { text: tokens }, maps, gold: { label: "positive" }, prediction },
  ]);
}
