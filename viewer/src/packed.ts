/**
 * Weights of large maps come as bytes in base64, a byte a weight: the square root of its share of the
 * largest, in 255 steps. That is fine near zero, where most weights are, and a tenth of the size.
 */
import type { Reader } from "./reader";

/** Reads `packed` of a map: the weights, unpacked when they are first asked for. */
export function readPacked(map: Reader, size: number): () => Float32Array {
  const text = map.field("packed").string();
  const most = map.field("most").number();
  const bytes = (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
  if (bytes !== size) map.field("packed").fail(`${bytes} weights where the shape has ${size}`);
  let weights: Float32Array | undefined;
  return () => (weights ??= unpack(text, most));
}

export function unpack(text: string, most: number): Float32Array {
  const bytes = atob(text);
  const weights = new Float32Array(bytes.length);
  const scale = most / (255 * 255);
  for (let i = 0; i < bytes.length; i += 1) {
    const root = bytes.charCodeAt(i);
    weights[i] = root * root * scale;
  }
  return weights;
}
