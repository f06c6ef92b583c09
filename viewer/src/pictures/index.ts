/** Every picture, the most telling first: what fits an example and comes first is what is shown of it. */
import { frames } from "./frames";
import { graph } from "./graph";
import { heads } from "./heads";
import { heatMapPicture } from "./heat_map";
import { hierarchy } from "./hierarchy";
import { film, image } from "./image";
import { multiDimensional } from "./multi_dimensional";
import { linked, pair } from "./linked";
import type { Picture, Subject } from "./picture";
import { points } from "./points";
import { recommend } from "./recommend";
import { rotatory } from "./rotatory";
import { shaded } from "./shaded";
import { sideBySide } from "./side_by_side";

export const kPictures: Picture[] = [
  points,
  graph,
  film,
  image,
  recommend,
  frames,
  hierarchy,
  rotatory,
  pair,
  multiDimensional,
  sideBySide,
  heatMapPicture,
  heads,
  linked,
  shaded,
];

/** The wanted picture where it fits, else the first that does; shaded text always does. */
export function pictureOf(subject: Subject, wanted: string): Picture {
  const fitting = kPictures.filter((picture) => picture.fits(subject));
  return fitting.find(({ id }) => id === wanted) ?? fitting[0] ?? shaded;
}
