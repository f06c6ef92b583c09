/** The server's JSON API: types, reading, and requests. docs/serve.md tells of it. */
import {
  readMap,
  readPart,
  readPrediction,
  type Example,
  type Part,
  type Prediction,
} from "../data";
import { Reader } from "../reader";

export interface LiveRun {
  name: string;
  kind: string;
  /** What is typed; empty: examples are chosen by id alone. */
  inputs: string[];
  labels: string[];
  mechanism: string;
  parts: Part[];
  editable: boolean;
  examples: StartingPoint[];
}

export interface StartingPoint {
  id: string;
  label: string | null;
  inputs: Map<string, string>;
}

export interface Reply extends Example {
  without: Prediction | null;
  leftOut: string[];
}

/** What is asked about: texts by input, or an example of the test part. */
export interface Question {
  run: string;
  inputs: Map<string, string>;
  id: string | null;
}

export interface RowWeights {
  /** Its place on the axes before the keys; null: every row. */
  row: number[] | null;
  weights: number[];
}

export interface Edits {
  drop: Map<string, number[]>;
  mask: Map<string, number[]>;
  /** Of each map every row at once, or single ones. */
  replace: Map<string, RowWeights[]>;
}

/** With a sentence for the reader. */
export class ApiError extends Error {
  override name = "ApiError";
}

export class Api {
  /** `token`: what the page was opened with; every request needs it then. */
  constructor(
    private readonly token: string | null,
    private readonly send: typeof fetch = (...args) => fetch(...args),
  ) {}

  async runs(): Promise<LiveRun[]> {
    return readRuns(await this.request("/api/runs", {}));
  }

  async predict(question: Question, edits: Edits, signal: AbortSignal): Promise<Reply> {
    const body = JSON.stringify(requestBody(question, edits));
    const headers = { "Content-Type": "application/json" };
    return readReply(await this.request("/api/predict", { method: "POST", body, headers, signal }));
  }

  private async request(path: string, options: RequestInit): Promise<unknown> {
    const headers = new Headers(options.headers);
    if (this.token !== null) headers.set("Authorization", `Bearer ${this.token}`);
    let response: Response;
    try {
      response = await this.send(path, { ...options, headers });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError("The server does not answer. Is “heed serve” still running?");
    }
    const json: unknown = await response.json().catch(() => null);
    if (response.ok) return json;
    const reason = new Reader(json ?? {}, "").field("error").stringOr("no reason was given");
    throw new ApiError(`${reason} (${response.status})`);
  }
}

export function requestBody(question: Question, edits: Edits): Record<string, unknown> {
  const object = <T>(map: Map<string, T>): Record<string, T> => Object.fromEntries(map);
  const replace = new Map(
    [...edits.replace].map(([map, rows]) => [map, rows[0]?.row === null ? rows[0].weights : rows]),
  );
  return {
    run: question.run,
    ...(question.id === null ? { inputs: object(question.inputs) } : { id: question.id }),
    ...(edits.drop.size > 0 && { drop: object(edits.drop) }),
    ...(edits.mask.size > 0 && { mask: object(edits.mask) }),
    ...(replace.size > 0 && { replace: object(replace) }),
  };
}

export function readRuns(json: unknown): LiveRun[] {
  return new Reader(json, "")
    .field("runs")
    .items()
    .map((run) => ({
      name: run.field("name").string(),
      kind: run.field("kind").string(),
      inputs: run.field("inputs").strings(),
      labels: run.field("labels").strings(),
      mechanism: run.field("mechanism").field("title").string(),
      parts: run.field("parts").items().map(readPart),
      editable: run.field("editable").booleanOr(false),
      examples: run
        .field("examples")
        .items()
        .map((example) => ({
          id: example.field("id").string(),
          label: example.field("label").missing ? null : example.field("label").string(),
          inputs: new Map(
            example
              .field("inputs")
              .entries()
              .map(([name, text]) => [name, text.string()]),
          ),
        })),
    }));
}

export function readReply(json: unknown): Reply {
  const reply = new Reader(json, "");
  const inputs = new Map(
    reply
      .field("inputs")
      .entries()
      .map(([name, tokens]) => [name, tokens.strings()]),
  );
  return {
    id: reply.field("id").string(),
    inputs,
    maps: reply
      .field("maps")
      .itemsOrNone()
      .map((map) => readMap(map, inputs)),
    gold: null,
    prediction: readPrediction(reply.field("prediction")),
    without: readPrediction(reply.field("without")),
    leftOut: reply
      .field("left_out")
      .itemsOrNone()
      .map((name) => name.string()),
  };
}
