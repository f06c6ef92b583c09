/** Linear scales and their ticks. */
export type Interval = readonly [low: number, high: number];

export interface Scale {
  (value: number): number;
  domain: Interval;
  range: Interval;
  ticks: number[];
  step: number;
}

/** 1, 2 or 5 times a power of ten: the step that gives about `count` ticks. */
export function tickStep(low: number, high: number, count: number): number {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const ratio = rough / power;
  return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

export function ticks([low, high]: Interval, step: number): number[] {
  const places = Math.max(0, -Math.floor(Math.log10(step)) + 1);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) =>
    Number(((first + i) * step).toFixed(places)),
  );
}

export function linear(domain: Interval, range: Interval, tickCount: number): Scale {
  const [low, high] = domain;
  const step = tickStep(low, high, tickCount);
  const slope = (range[1] - range[0]) / (high - low);
  const scale = (value: number): number => range[0] + (value - low) * slope;
  return Object.assign(scale, { domain, range, ticks: ticks(domain, step), step });
}

export interface DomainOptions {
  /** The values cannot lie outside these, so neither does the axis. */
  limits?: Interval;
  tickCount?: number;
}

/** An axis range holding every finite value, widened to whole ticks; near zero it starts there. */
export function niceDomain(values: number[], options: DomainOptions = {}): Interval {
  const finite = values.filter(Number.isFinite);
  const [floor, ceiling] = options.limits ?? [-Infinity, Infinity];
  if (finite.length === 0) return options.limits ?? [0, 1];
  let low = finite.reduce((a, b) => Math.min(a, b));
  let high = finite.reduce((a, b) => Math.max(a, b));
  if (low >= 0 && low < 0.35 * high) low = 0;
  if (low === high) {
    const margin = Math.abs(low) * 0.05 || 0.5;
    [low, high] = [low - margin, high + margin];
  }
  const step = tickStep(low, high, options.tickCount ?? 5);
  low = Math.max(floor, Math.floor(low / step + 1e-9) * step);
  high = Math.min(ceiling, Math.ceil(high / step - 1e-9) * step);
  return low < high ? [low, high] : [low - step, high + step];
}

/** Moves labels apart so that neighbours are at least `gap` from each other, inside [low, high]. */
export function spread(wanted: number[], gap: number, low: number, high: number): number[] {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!);
  const placed = [...wanted];
  let previous = low - gap;
  for (const i of order) previous = placed[i] = Math.max(placed[i]!, previous + gap);
  let next = high + gap;
  for (const i of order.reverse()) next = placed[i] = Math.min(placed[i]!, next - gap);
  return placed;
}
