/** Weights moved by hand: what a change does to a row, and how far the row went. No DOM here. */

/** A row whose sum says that its weights are shares of one whole. */
export function isShares(row: readonly number[]): boolean {
  return Math.abs(total(row) - 1) < 1e-3;
}

export function total(row: readonly number[]): number {
  return row.reduce((sum, weight) => sum + weight, 0);
}

/**
 * The row with one weight set. With `keepSum` the others give way in proportion (or equally, when
 * they were all 0), so that the sum stays; without, nothing else moves.
 */
export function withWeight(
  row: readonly number[],
  at: number,
  value: number,
  keepSum: boolean,
): number[] {
  const sum = total(row);
  const set = Math.max(0, keepSum ? Math.min(value, sum) : value);
  if (!keepSum) return row.map((weight, i) => (i === at ? set : weight));
  const others = sum - row[at]!;
  const left = sum - set;
  return row.map((weight, i) => {
    if (i === at) return set;
    return others > 1e-12 ? (weight * left) / others : left / Math.max(1, row.length - 1);
  });
}

export function uniform(row: readonly number[]): number[] {
  return row.map(() => total(row) / row.length);
}

export function only(row: readonly number[], at: number): number[] {
  return row.map((_, i) => (i === at ? total(row) : 0));
}

/** The same weights on other words (Fisher and Yates). */
export function shuffled(row: readonly number[], random: () => number = Math.random): number[] {
  const result = [...row];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}

/** Half of what the entries differ by, summed: of shares, the part that lies elsewhere. */
export function totalVariation(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? 0)), 0) / 2;
}

/** Jensen-Shannon divergence of the normalised rows, in nats: 0 (equal) to ln 2 (disjoint). */
export function jensenShannon(a: readonly number[], b: readonly number[]): number {
  const [p, q] = [normalised(a), normalised(b)];
  if (!p || !q) return NaN;
  const part = (x: number, middle: number): number => (x > 0 ? x * Math.log(x / middle) : 0);
  return p.reduce((sum, x, i) => {
    const middle = (x + q[i]!) / 2;
    return sum + (part(x, middle) + part(q[i]!, middle)) / 2;
  }, 0);
}

function normalised(row: readonly number[]): number[] | null {
  const sum = total(row);
  return sum > 0 ? row.map((weight) => weight / sum) : null;
}

/** The weight that fills a bar: the next of 0.05, 0.1, 0.2, 0.5, 1 … above the largest. */
export function barScale(...rows: (readonly number[])[]): number {
  const largest = Math.max(0, ...rows.flat().filter(Number.isFinite));
  for (let decade = 0.01; ; decade *= 10) {
    for (const step of [1, 2, 5]) {
      const scale = Number((step * decade).toPrecision(1));
      if (scale >= Math.max(0.05, largest)) return scale;
    }
  }
}
