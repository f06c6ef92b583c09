/**
 * Reads a parsed JSON value of unknown shape. Every failure names the place:
 * `runs[2].curve[0].epoch: expected a number, found "four"`.
 */
export class DataError extends Error {
  override name = "DataError";
}

export class Reader {
  constructor(
    private readonly value: unknown,
    readonly path: string,
  ) {}

  fail(problem: string): never {
    throw new DataError(`${this.path}: ${problem}`);
  }

  /** Absent and null are the same: C++ writes neither when it has nothing to say. */
  get missing(): boolean {
    return this.value === undefined || this.value === null;
  }

  get isObject(): boolean {
    return typeof this.value === "object" && this.value !== null && !Array.isArray(this.value);
  }

  field(key: string): Reader {
    return new Reader(this.record()[key], this.path === "" ? key : `${this.path}.${key}`);
  }

  string(): string {
    return typeof this.value === "string" ? this.value : this.wrong("a string");
  }

  stringOr(fallback: string): string {
    return this.missing ? fallback : this.string();
  }

  /** A finite number; null means NaN, as JSON has no NaN. */
  number(): number {
    if (this.value === null) return NaN;
    return typeof this.value === "number" ? this.value : this.wrong("a number");
  }

  numberOr(fallback: number): number {
    return this.missing ? fallback : this.number();
  }

  booleanOr<T>(fallback: T): boolean | T {
    if (this.missing) return fallback;
    return typeof this.value === "boolean" ? this.value : this.wrong("true or false");
  }

  items(): Reader[] {
    if (!Array.isArray(this.value)) return this.wrong("a list");
    return this.value.map((item, i) => new Reader(item, `${this.path}[${i}]`));
  }

  itemsOrNone(): Reader[] {
    return this.missing ? [] : this.items();
  }

  strings(): string[] {
    return this.items().map((item) => item.string());
  }

  numbers(): number[] {
    return this.items().map((item) => item.number());
  }

  keys(): string[] {
    return Object.keys(this.record());
  }

  entries(): [string, Reader][] {
    return this.keys().map((key) => [key, this.field(key)]);
  }

  entriesOrNone(): [string, Reader][] {
    return this.missing ? [] : this.entries();
  }

  private record(): Record<string, unknown> {
    if (!this.isObject) return this.wrong("an object");
    return this.value as Record<string, unknown>;
  }

  private wrong(expected: string): never {
    return this.fail(`expected ${expected}, found ${brief(this.value)}`);
  }
}

function brief(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
