/** Sentences with their weights, and inside each the words with theirs. */
import type { Example, WeightMap } from "../data";
import { shade } from "../color";
import { h } from "../dom";
import { formatValue } from "../format";
import { isMatrix } from "../matrix";
import { tokenLine } from "../views/tokens";
import type { Picture, Subject } from "./picture";

interface Levels {
  input: string;
  words: WeightMap;
  sentences: WeightMap;
  /** Words in each sentence. */
  lengths: number[];
}

/** The two maps of a document: words asked by every sentence, and the sentences themselves. */
export function levelsOf(example: Example): Levels | null {
  for (const sentences of example.maps) {
    const words = example.maps.find(
      (map) => map !== sentences && isMatrix(map) && map.queryInput === sentences.keyInput,
    );
    if (!words || !isMatrix(sentences) || sentences.keyInput === null || !words.keyInput) continue;
    const lengths = example.shapes?.levels.get(words.keyInput);
    if (!lengths || lengths.length !== sentences.shape.at(-1)) continue;
    return { input: words.keyInput, words, sentences, lengths };
  }
  return null;
}

export const hierarchy: Picture = {
  id: "hierarchy",
  title: "Sentences and words",
  fits: ({ example }) => levelsOf(example) !== null,
  draw: (subject) => {
    const { example } = subject;
    const levels = levelsOf(example)!;
    const count = levels.lengths.length;
    const weights = Array.from({ length: count }, (_, i) => levels.sentences.data[i]!);
    const most = weights.reduce((a, b) => Math.max(a, b), 0) || 1;
    let start = 0;
    const lines = levels.lengths.map((length, i) => {
      const line = sentenceLine(subject, levels, { i, start, length });
      start += length;
      return line;
    });
    return h(
      "ol",
      { class: "sentences-list" },
      lines.map((line, i) => {
        const bar = h("span", { class: "bar-fill" });
        bar.style.setProperty("--w", shade(weights[i]!, most).toFixed(3));
        return h(
          "li",
          {},
          h(
            "span",
            { class: "sentence-weight", title: `Weight of sentence ${i + 1}` },
            h("span", { class: "bar-track" }, bar),
            formatValue(weights[i]!, "share"),
          ),
          line,
        );
      }),
    );
  },
};

function sentenceLine(
  { example, run, full }: Subject,
  { input, words }: Levels,
  { i, start, length }: { i: number; start: number; length: number },
): HTMLElement {
  const keys = words.shape.at(-1)!;
  const weights = Array.from({ length }, (_, k) => words.data[i * keys + start + k]!);
  const gold = example.gold?.weights.get(input)?.slice(start, start + length) ?? null;
  const tokens = example.inputs.get(input)!.slice(start, start + length);
  const line = { input, map: words.name, tokens, weights, gold, merged: "" };
  return tokenLine(line, full, `${run.name}, sentence ${i + 1}`);
}
