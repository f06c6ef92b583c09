/**
 * Weights of large maps come as bytes in base64, a byte a weight: the square root of its share of the
 * largest, in 255 steps. That is fine near zero, where most weights are, and a tenth of the size. They
 * stand in elements of their own, so that the page need not read them to begin.
 */
import { DataError, type Reader } from "./reader";

/** Reads `packed` of a map, the id of the element that holds them: unpacked when first asked for. */
export function readPacked(map: Reader, size: number): () => Float32Array {
  const id = map.field("packed").string();
  const most = map.field("most").number();
  let weights: Float32Array | undefined;
  return () => {
    if (weights) return weights;
    weights = unpack(document.getElementById(id)?.textContent ?? "", most);
    if (weights.length !== size) {
      throw new DataError(`${map.path}: ${weights.length} packed weights, the shape has ${size}`);
    }
    return weights;
  };
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
