/** The sign of a variant, as in the charts: its line, dash and marker. */
import { markerPath, type Mark } from "../color";
import { s } from "../dom";

export function swatch(mark: Mark): SVGSVGElement {
  return s(
    "svg",
    { class: "swatch", width: 30, height: 12, viewBox: "0 0 30 12", "aria-hidden": "true" },
    s("path", {
      class: "line",
      style: `stroke:${mark.color}`,
      "stroke-dasharray": mark.dash || null,
      d: "M1 6H29",
    }),
    s("path", { style: `fill:${mark.color}`, d: markerPath(mark.shape, 15, 6, 4) }),
  );
}
