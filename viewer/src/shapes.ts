/** What an example is beside words: sentences, stretches, numbers, pictures, neighbours. */
import { DataError, type Reader } from "./reader";

/** By the name of an input; an input that has no such shape is absent. */
export interface Shapes {
  /** Positions of each run of an input, which add up to its length: words of each sentence. */
  levels: Map<string, number[]>;
  views: Map<string, View>;
  /** The numbers at each position: coordinates of a point, bands of a frame of sound. */
  values: Map<string, number[][]>;
  /** Rows and columns that the positions fill, row by row; of a film the frames come first. */
  grids: Map<string, number[]>;
  /** PNG files as data URLs, one a frame. */
  pictures: Map<string, string[]>;
  /** The true label of each neighbour, "" where it is not known. */
  neighbours: Map<string, string[]>;
}

/** A stretch of another input. */
export interface View {
  of: string;
  begin: number;
  end: number;
}

/** Weights of each feature, row-major: the shape of the map and the number of features. */
export interface Features {
  shape: number[];
  data: number[];
}

type Inputs = Map<string, string[]>;

/** undefined for a plain text. What is broken is left out and named in `problems`. */
export function readShapes(
  example: Reader,
  inputs: Inputs,
  problems: string[],
): Shapes | undefined {
  const read = <T>(key: string, one: (item: Reader, input: string) => T): Map<string, T> => {
    const found = new Map<string, T>();
    try {
      for (const [input, item] of example.field(key).entriesOrNone()) {
        if (!item.missing) found.set(input, one(item, input));
      }
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      problems.push(error.message);
    }
    return found;
  };
  const shapes: Shapes = {
    levels: read("levels", (item, input) => sized(item, item.numbers(), sum, inputs, input)),
    views: read("views", (item) => readView(item, inputs)),
    values: read("values", (item, input) =>
      sized(
        item,
        item.items().map((row) => row.numbers()),
        (rows) => rows.length,
        inputs,
        input,
      ),
    ),
    grids: read("grids", (item, input) => sized(item, item.numbers(), product, inputs, input)),
    pictures: read("pictures", (item) => item.items().map(readPicture)),
    neighbours: read("neighbours", (item, input) =>
      sized(item, item.strings(), (labels) => labels.length, inputs, input),
    ),
  };
  return Object.values(shapes).some((map: Map<string, unknown>) => map.size > 0)
    ? shapes
    : undefined;
}

/** `value`, which must count as many positions as its input has. */
function sized<T>(
  item: Reader,
  value: T,
  count: (value: T) => number,
  inputs: Inputs,
  input: string,
): T {
  const tokens = inputs.get(input);
  if (tokens === undefined) return item.fail(`no input is named "${input}"`);
  if (count(value) !== tokens.length) {
    return item.fail(`${count(value)} positions for the ${tokens.length} of "${input}"`);
  }
  return value;
}

function readView(item: Reader, inputs: Inputs): View {
  const of = item.field("of").string();
  const begin = item.field("begin").number();
  const end = item.field("end").number();
  const length = inputs.get(of)?.length;
  if (length === undefined) return item.fail(`no input is named "${of}"`);
  if (!(begin >= 0 && begin <= end && end <= length)) {
    return item.fail(`${begin} to ${end} is no stretch of the ${length} positions of "${of}"`);
  }
  return { of, begin, end };
}

/** Only a picture that the page itself holds: nothing is ever asked of the network. */
function readPicture(item: Reader): string {
  const url = item.string();
  if (!/^data:image\/png;base64,[A-Za-z0-9+/]+=*$/.test(url)) {
    return item.fail("expected a PNG as a data URL");
  }
  return url;
}

export function readFeatures(features: Reader, mapShape: number[]): Features | undefined {
  if (features.missing) return undefined;
  const shape = features.field("shape").numbers();
  const data = features.field("data").numbers();
  if (shape.length !== mapShape.length + 1 || mapShape.some((size, i) => size !== shape[i])) {
    return features
      .field("shape")
      .fail(`${shape.join(" × ")} for a map of ${mapShape.join(" × ")}`);
  }
  if (product(shape) !== data.length) {
    return features.field("data").fail(`${data.length} weights for ${shape.join(" × ")}`);
  }
  return { shape, data };
}

/** Pairs of the gold's `links`: a word of the right answer, a word of the text. */
export function readLinks(links: Reader): [target: number, source: number][] | undefined {
  if (links.missing) return undefined;
  return links.items().map((link) => {
    const [target, source] = link.numbers();
    if (target === undefined || source === undefined) return link.fail("expected two numbers");
    return [target, source];
  });
}

const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
const product = (numbers: number[]): number => numbers.reduce((a, b) => a * b, 1);
