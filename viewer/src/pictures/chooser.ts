/** Which map and which head a picture shows, where there are several. */
import { select } from "../controls";
import type { WeightMap } from "../data";
import { h, replaceChildren, type Child } from "../dom";
import { planes } from "../matrix";

const kMean = "mean";

/** `draw` gets null for the mean of the heads. */
export function chooser(
  maps: WeightMap[],
  draw: (map: WeightMap, head: number | null) => Child,
): HTMLElement {
  const body = h("div", {});
  const heads = h("div", {});
  let map = maps[0]!;
  let head: number | null = null;
  const redraw = (): void => replaceChildren(body, draw(map, head));
  const offerHeads = (): void => {
    const count = planes(map);
    head = null;
    replaceChildren(
      heads,
      count > 1 &&
        select(
          "Head",
          [
            { value: kMean, text: `Mean of ${count}` },
            ...Array.from({ length: count }, (_, i) => ({ value: String(i), text: String(i + 1) })),
          ],
          kMean,
          (value) => {
            head = value === kMean ? null : Number(value);
            redraw();
          },
        ),
    );
  };
  const choices = maps.map(({ name }, i) => ({ value: String(i), text: name }));
  offerHeads();
  redraw();
  return h(
    "div",
    { class: "chooser" },
    (maps.length > 1 || planes(map) > 1) &&
      h(
        "div",
        { class: "controls" },
        maps.length > 1 &&
          select("Map", choices, "0", (value) => {
            map = maps[Number(value)]!;
            offerHeads();
            redraw();
          }),
        heads,
      ),
    body,
  );
}
