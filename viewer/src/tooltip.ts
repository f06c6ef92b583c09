/** The one box that shows numbers on hover, focus and tap. */
import { h, replaceChildren, type Child } from "./dom";

export type Place = Pick<DOMRect, "left" | "top" | "width" | "height">;

let box: HTMLElement | undefined;
let anchor: (() => Place) | undefined;

function element(): HTMLElement {
  if (!box?.isConnected) {
    box = h("div", { class: "tooltip", role: "status", hidden: true });
    document.body.append(box);
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") hideTooltip();
    });
    // Focus may scroll its target into view: the box goes with it.
    addEventListener("scroll", place, { passive: true, capture: true });
  }
  return box;
}

/** Above the anchor if there is room, else below it; never outside the window. */
function place(): void {
  if (!box || !anchor) return;
  const at = anchor();
  const { width, height } = box.getBoundingClientRect();
  const right = document.documentElement.clientWidth - width - 8;
  const left = at.left + (at.width - width) / 2;
  const above = at.top - height - 8;
  box.style.left = `${Math.max(8, Math.min(left, right))}px`;
  box.style.top = `${above >= 8 ? above : at.top + at.height + 8}px`;
}

export function showTooltip(where: () => Place, ...content: Child[]): void {
  const tip = element();
  replaceChildren(tip, ...content);
  tip.hidden = false;
  anchor = where;
  place();
}

export function hideTooltip(): void {
  if (box) box.hidden = true;
  anchor = undefined;
}

/** Shows `content` while the element is pointed at or has the focus. */
export function describeOnHover(target: Element, content: () => Child): void {
  const show = (): void => showTooltip(() => target.getBoundingClientRect(), content());
  for (const event of ["pointerenter", "focus", "click"]) target.addEventListener(event, show);
  for (const event of ["pointerleave", "blur"]) target.addEventListener(event, hideTooltip);
}
