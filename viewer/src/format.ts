/** Numbers as people read them. A share is shown in per cent; CSV files keep the raw number. */
export const kAbsent = "–";

const kThinSpace = "\u2009";

export interface Display {
  factor: number;
  suffix: string;
}

export function display(unit: string): Display {
  if (unit === "share") return { factor: 100, suffix: "%" };
  return { factor: 1, suffix: unit === "count" ? "" : unit };
}

/** Three significant digits, but never fewer than the units place. */
function decimals(value: number, unit: string): number {
  if (unit === "share") return 1;
  if (Number.isInteger(value)) return 0;
  const magnitude = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return Math.min(6, Math.max(0, 2 - magnitude));
}

function fixed(value: number, places: number): string {
  const [whole = "", fraction] = Math.abs(value).toFixed(places).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, kThinSpace) : whole;
  const sign = value < 0 && /[1-9]/.test(whole + (fraction ?? "")) ? "\u2212" : "";
  return sign + grouped + (fraction === undefined ? "" : `.${fraction}`);
}

export function formatValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return kAbsent;
  const { factor, suffix } = display(unit);
  const number = fixed(value * factor, decimals(value * factor, unit));
  return suffix === "" ? number : `${number}\u202f${suffix}`;
}

/** `97.2 ± 1.0 %`; without a spread when there is one seed or every seed agrees exactly. */
export function formatSpread(mean: number, sd: number, unit: string): string {
  if (!Number.isFinite(mean) || !Number.isFinite(sd) || (sd === 0 && Number.isInteger(mean))) {
    return formatValue(mean, unit);
  }
  const { factor, suffix } = display(unit);
  const places = decimals(mean * factor, unit);
  const text = `${fixed(mean * factor, places)} ± ${fixed(sd * factor, places)}`;
  return suffix === "" ? text : `${text}\u202f${suffix}`;
}

/** `91.2 [90.1, 92.3] %`; without ends when they are not known. `sign`: a plus where it is one. */
export function formatInterval(
  [mean, low, high]: readonly [number, number, number],
  unit: string,
  sign = false,
): string {
  if (!Number.isFinite(mean)) return kAbsent;
  const { factor, suffix } = display(unit);
  const places = Math.max(
    ...[mean, low, high]
      .filter(Number.isFinite)
      .map((value) => Math.min(4, decimals(value * factor, unit))),
  );
  const number = (value: number): string => {
    const text = fixed(value * factor, places);
    return sign && value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
  };
  const ends = Number.isFinite(low) ? ` [${number(low)}, ${number(high)}]` : "";
  return `${number(mean)}${ends}${suffix === "" ? "" : `\u202f${suffix}`}`;
}

/** A p-value, to three places. */
export function formatP(p: number): string {
  if (!Number.isFinite(p)) return kAbsent;
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

export function formatWeight(weight: number): string {
  return Number.isFinite(weight) ? weight.toFixed(3) : kAbsent;
}

/** Tick labels of an axis whose ticks are `step` apart. */
export function tickFormat(step: number, unit: string): (value: number) => string {
  const { factor } = display(unit);
  const places = Math.max(0, Math.min(8, -Math.floor(Math.log10(step * factor) + 1e-9)));
  return (value) => fixed(value * factor, places);
}

export function axisLabel(label: string, unit: string): string {
  const { suffix } = display(unit);
  return suffix === "" ? label : `${label} (${suffix})`;
}

/** `2026-11-15T21:00:00Z` → `15 November 2026, 21:00 UTC`; anything else is shown as it is. */
export function formatTime(iso: string): string {
  const time = new Date(iso);
  if (!/^\d{4}-\d\d-\d\dT/.test(iso) || Number.isNaN(time.getTime())) return iso;
  const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
  return `${day.format(time)}, ${time.toISOString().slice(11, 16)} UTC`;
}

export function formatCount(count: number, noun: string): string {
  return `${fixed(count, 0)} ${noun}${count === 1 ? "" : "s"}`;
}
