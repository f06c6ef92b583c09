/**
 * What is asked, what was moved by hand, and the answers. Requests are debounced; the latest wins,
 * and an older answer never overwrites a newer one.
 */
import { ApiError, type Api, type Edits, type LiveRun, type Question, type Reply } from "./api";
import { rowOf } from "./rows";

export interface Shown {
  /** The model's own reading of what is left after dropping. */
  own: Reply;
  /** The answer with the edits; `own` when there are none. */
  now: Reply;
  /** The text as it was read before anything was dropped. */
  whole: Reply;
}

export type Phase =
  { state: "waiting" } | { state: "failed"; message: string } | { state: "ready" };

const kPause = 150; // milliseconds of quiet before a text is sent
const kQuickPause = 20; // and before a moved weight is

const kNoEdits: Edits = { drop: new Map(), mask: new Map(), replace: new Map() };

export class Session {
  question: Question;
  shown: Shown | null = null;
  phase: Phase = { state: "waiting" };
  /** Positions of the whole text, by input. */
  readonly dropped = new Map<string, Set<number>>();
  readonly masked = new Map<string, Set<number>>();
  /** Weights given by hand, of what is left after dropping. */
  readonly given: Edits["replace"] = new Map();

  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: AbortController | null = null;

  constructor(
    private readonly api: Api,
    readonly run: LiveRun,
    question: Question,
    private readonly changed: () => void,
  ) {
    this.question = question;
  }

  /** Another text: whatever was moved belonged to the old one. */
  ask(question: Question, pause = kPause): void {
    this.question = question;
    this.forget();
    this.schedule(pause);
  }

  forget(): void {
    this.dropped.clear();
    this.masked.clear();
    this.given.clear();
  }

  /** The text as it was read is known; it is shown at once. */
  reset(): void {
    this.forget();
    if (this.shown) {
      const { whole } = this.shown;
      this.shown = { whole, own: whole, now: whole };
      this.changed();
    }
    this.schedule(0);
  }

  /** Weights are counted over what is left, so dropping a word gives up those that were set. */
  toggleDropped(input: string, position: number): void {
    toggle(this.dropped, input, position);
    this.given.clear();
    this.schedule(0);
  }

  toggleMasked(input: string, position: number): void {
    toggle(this.masked, input, position);
    this.schedule(0);
  }

  /** Every row (null) or one; either takes the place of what was given of the same. */
  give(map: string, row: number[] | null, weights: number[]): void {
    const others = (this.given.get(map) ?? []).filter(
      (other) => row !== null && other.row !== null && !sameRow(other.row, row),
    );
    this.given.set(map, [...others, { row, weights }]);
    this.schedule(kQuickPause);
  }

  get edited(): boolean {
    return this.dropped.size > 0 || this.masked.size > 0 || this.given.size > 0;
  }

  /** The weights of a row as they are now: given by hand, or as the last answer has them. */
  row(map: string, row: number[] | null): number[] | null {
    const given = this.given.get(map)?.find((each) => sameRow(each.row, row));
    if (given) return given.weights;
    const found = this.shown?.now.maps.find(({ name }) => name === map);
    return found ? rowOf(found, row) : null;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.running?.abort();
  }

  schedule(pause: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), pause);
  }

  private async refresh(): Promise<void> {
    this.running?.abort();
    const controller = new AbortController();
    this.running = controller;
    const predict = (edits: Edits): Promise<Reply> =>
      this.api.predict(this.question, edits, controller.signal);
    try {
      const drop = asLists(this.dropped);
      const whole = await predict(kNoEdits);
      const own = drop.size > 0 ? await predict({ ...kNoEdits, drop }) : whole;
      const mask = this.shiftedMask();
      const moved = mask.size > 0 || this.given.size > 0;
      const now = moved ? await predict({ drop, mask, replace: this.given }) : own;
      if (this.running !== controller) return;
      this.shown = { whole, own, now };
      this.phase = { state: "ready" };
    } catch (error) {
      if (this.running !== controller || controller.signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      this.phase = {
        state: "failed",
        message: error instanceof ApiError ? message : `The answer cannot be read: ${message}`,
      };
    }
    this.changed();
  }

  /** The server counts masked words after the dropped ones are gone. */
  private shiftedMask(): Map<string, number[]> {
    const result = new Map<string, number[]>();
    for (const [input, positions] of this.masked) {
      const gone = this.dropped.get(input) ?? new Set<number>();
      const kept = [...positions].filter((position) => !gone.has(position));
      const shift = (position: number): number =>
        position - [...gone].filter((other) => other < position).length;
      if (kept.length > 0) result.set(input, kept.map(shift));
    }
    return result;
  }
}

export function sameRow(a: number[] | null, b: number[] | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function toggle(sets: Map<string, Set<number>>, input: string, position: number): void {
  const set = sets.get(input) ?? new Set<number>();
  if (!set.delete(position)) set.add(position);
  if (set.size > 0) sets.set(input, set);
  else sets.delete(input);
}

function asLists(sets: Map<string, Set<number>>): Map<string, number[]> {
  return new Map([...sets].map(([input, set]) => [input, [...set].sort((a, b) => a - b)]));
}
