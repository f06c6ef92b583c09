/**
 * Element building. Text from the data only ever becomes text nodes and attribute values, never
 * markup: nothing in the viewer assigns innerHTML.
 */
export type Child = Node | string | number | null | undefined | false | Child[];
type Listener = (event: never) => void;
export type Attributes = Record<string, string | number | boolean | null | undefined | Listener>;

const kSvg = "http://www.w3.org/2000/svg";

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener); // "onclick" → "click"
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child instanceof Node ? child : String(child));
  }
}

export function replaceChildren(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Text for screen readers only. */
export function hiddenText(text: string): HTMLElement {
  return h("span", { class: "vh" }, text);
}

let ids = 0;
export function freshId(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}
