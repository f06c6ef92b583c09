/** Which held-out examples are shown, and in which order. */
import type { Example, Run } from "./data";
import { exampleEntropy, exampleShare } from "./weights";

/** One example as every run saw it. */
export interface Item {
  id: string;
  byRun: Map<string, Example>;
}

export type Filter = "all" | "right" | "wrong" | "disagree";
export type Sort = "id" | "share-up" | "share-down" | "entropy-up" | "entropy-down";

export interface Query {
  filter: Filter;
  label: string | null;
  search: string;
  sort: Sort;
  /** The run whose predictions and weights decide "right", "wrong" and the order. */
  judge: Run;
  /** The runs compared by "disagree". */
  shown: Run[];
}

const kById = new Intl.Collator("en", { numeric: true });

export function collectItems(runs: Run[]): Item[] {
  const items = new Map<string, Item>();
  for (const run of runs) {
    for (const example of run.examples) {
      const item = items.get(example.id) ?? { id: example.id, byRun: new Map() };
      item.byRun.set(run.name, example);
      items.set(example.id, item);
    }
  }
  return [...items.values()].sort((a, b) => kById.compare(a.id, b.id));
}

/** null when there is no prediction or no true label to hold it against. */
/** The place of the right one in an answer that ranks several, from 1; 0: not among them; null: no such answer. */
export function rankOfRight({ gold, prediction }: Example): number | null {
  if (gold?.label == null || gold.sequence || !prediction?.sequence) return null;
  return prediction.sequence.indexOf(gold.label) + 1;
}

export function isRight(example: Example | undefined): boolean | null {
  if (!example?.prediction || example.gold?.label == null) return null;
  const rank = rankOfRight(example);
  if (rank !== null) return rank > 0;
  return example.prediction.label === example.gold.label;
}

export function goldLabel(item: Item): string | null {
  for (const example of item.byRun.values()) {
    if (example.gold?.label != null) return example.gold.label;
  }
  return null;
}

function disagree(item: Item, runs: Run[]): boolean {
  const labels = runs
    .map((run) => item.byRun.get(run.name)?.prediction?.label)
    .filter((label) => label !== undefined);
  return new Set(labels).size > 1;
}

function matches(item: Item, words: string): boolean {
  if (words === "" || item.id.toLowerCase().includes(words)) return true;
  const [first] = item.byRun.values();
  return [...(first?.inputs.values() ?? [])].some((tokens) =>
    tokens.join(" ").toLowerCase().includes(words),
  );
}

export function selectItems(items: Item[], query: Query): Item[] {
  const words = query.search.trim().replace(/\s+/g, " ").toLowerCase();
  const kept = items.filter((item) => {
    if (query.label !== null && goldLabel(item) !== query.label) return false;
    if (query.filter === "disagree" && !disagree(item, query.shown)) return false;
    if (query.filter === "right" || query.filter === "wrong") {
      if (isRight(item.byRun.get(query.judge.name)) !== (query.filter === "right")) return false;
    }
    return matches(item, words);
  });
  return query.sort === "id" ? kept : sortByNumber(kept, query);
}

/** Stable, so equal numbers stay in order of id; examples without the number come last. */
function sortByNumber(items: Item[], { sort, judge }: Query): Item[] {
  const measure = sort.startsWith("share") ? exampleShare : exampleEntropy;
  const direction = sort.endsWith("up") ? 1 : -1;
  const keyed = items.map((item) => {
    const example = item.byRun.get(judge.name);
    return { item, key: example ? measure(example) : NaN };
  });
  keyed.sort((a, b) => {
    if (Number.isNaN(a.key) || Number.isNaN(b.key)) {
      return Number(Number.isNaN(a.key)) - Number(Number.isNaN(b.key));
    }
    return direction * (a.key - b.key);
  });
  return keyed.map(({ item }) => item);
}

/** The run of each variant with this seed, or else the variant's first run. */
export function runsOfSeed(runs: Run[], variants: string[], seed: number): Run[] {
  return variants.flatMap((variant) => {
    const own = runs.filter((run) => run.variant === variant);
    return own.find((run) => Object.is(run.seed, seed)) ?? own[0] ?? [];
  });
}
