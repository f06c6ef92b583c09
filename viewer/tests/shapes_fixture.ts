/** Invented examples of tasks that are not plain text, as lines of traces.jsonl, one a kind. */
import { singleRun, type Json } from "./fixture";

/** A grey PNG of one pixel. */
export const kPixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => String(i + 1));

function map(
  name: string,
  query: string | null,
  key: string,
  shape: number[],
  data: number[],
): Json {
  return { name, axes: ["head", "query", "key"], query_input: query, key_input: key, shape, data };
}

/** Three points; the answer goes 0, 2 and stops, the right one 0, 1, 2. */
export function pointsExample(): Json {
  return {
    id: "test-1",
    inputs: { points: ["0.00 0.00", "1.00 0.50", "0.25 1.00"], target: ["0", "2", "</s>"] },
    maps: [map("pointer", "target", "points", [1, 3, 3], [0.7, 0.2, 0.1, 0, 0.4, 0.6, 0, 0.1, 0])],
    gold: { label: "0 1 2", sequence: ["0", "1", "2"] },
    prediction: { label: "0 2", sequence: ["0", "2"] },
    values: {
      points: [
        [0, 0],
        [1, 0.5],
        [0.25, 1],
      ],
    },
  };
}

/** A node with itself and two neighbours in one relation, one in the other; two heads. */
export function graphExample(): Json {
  return {
    id: "n1",
    inputs: { cites: ["n1", "n2", "n3"], near: ["n1", "n4"], relations: ["cites", "near"] },
    maps: [
      map("layer 1/cites", null, "cites", [2, 1, 3], [0.2, 0.5, 0.3, 0.4, 0.5, 0.1]),
      map("layer 1/near", null, "near", [2, 1, 2], [0.9, 0.1, 0.7, 0.3]),
      map("layer 1/relations", null, "relations", [1, 1, 2], [0.75, 0.25]),
    ],
    gold: { label: "positive" },
    prediction: { label: "positive", probabilities: [0.1, 0.9] },
    neighbours: { cites: ["positive", "positive", "negative"], near: ["positive", "negative"] },
  };
}

/** A picture of 2 × 2 cells and a capsule for each of two labels. */
export function imageExample(): Json {
  return {
    id: "test-1",
    inputs: { image: numbered(4) },
    maps: [
      map("class 1/attention", null, "image", [1, 1, 4], [0.1, 0.2, 0.3, 0.4]),
      map("class 2/attention", null, "image", [1, 1, 4], [0.7, 0.1, 0.1, 0.1]),
    ],
    gold: { label: "positive", weights: { image: [1, 1, 0, 0] } },
    prediction: { label: "negative", probabilities: [0.6, 0.4] },
    grids: { image: [2, 2] },
    pictures: { image: [kPixel] },
  };
}

/** Two frames of 1 × 2 cells: each frame asks its own cells, one map weighs the frames. */
export function filmExample(): Json {
  return {
    id: "test-1",
    inputs: { film: numbered(4), "film (frames)": numbered(2) },
    maps: [
      map("words", "film (frames)", "film", [1, 2, 4], [0.9, 0.1, 0, 0, 0, 0, 0.3, 0.7]),
      map("sentences", null, "film (frames)", [1, 1, 2], [0.2, 0.8]),
    ],
    gold: { label: "positive" },
    prediction: { label: "positive", probabilities: [0.1, 0.9] },
    grids: { film: [2, 1, 2] },
    pictures: { film: [kPixel, kPixel] },
  };
}

/** Four items, of which the last two are also looked at alone. */
export function historyExample(): Json {
  return {
    id: "u1",
    inputs: { history: ["a", "b", "c", "<script>d"], recent: ["c", "<script>d"] },
    maps: [
      map("history", null, "history", [1, 1, 4], [0.1, 0.2, 0.3, 0.4]),
      map("recent", null, "recent", [1, 1, 2], [0.6, 0.4]),
    ],
    gold: { label: "x" },
    prediction: { label: "z", sequence: ["z", "y", "x"] },
    views: { recent: { of: "history", begin: 2, end: 4 } },
  };
}

/** Two phonemes of two frames each; the second is heard wrong. */
export function soundExample(): Json {
  return {
    id: "test-1",
    inputs: { frames: numbered(4), target: ["aa", "k", "</s>"] },
    maps: [
      map("attention", "target", "frames", [1, 3, 4], [0.5, 0.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
    ],
    gold: {
      label: "aa t",
      sequence: ["aa", "t"],
      links: [
        [0, 0],
        [0, 1],
        [1, 2],
        [1, 3],
      ],
    },
    prediction: { label: "aa k", sequence: ["aa", "k"] },
    values: {
      frames: [
        [1, -1, 0],
        [2, 0, 0],
        [0, -4, 1],
        [0, 0, 1],
      ],
    },
  };
}

/** The report of one run with this example alone. */
export function reportOf(kind: string, example: Json): Json {
  const report = singleRun();
  report["task"] = { ...report["task"], kind };
  report["runs"][0].examples = [example];
  return report;
}
