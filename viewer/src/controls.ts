/** Labelled form controls, used by every view. */
import { freshId, h } from "./dom";

export interface Choice<T extends string> {
  value: T;
  text: string;
}

export function select<T extends string>(
  label: string,
  choices: Choice<T>[],
  value: T,
  onChange: (value: T) => void,
): HTMLElement {
  const id = freshId("select");
  const list = h(
    "select",
    { id, onchange: () => onChange(list.value as T) },
    choices.map((choice) =>
      h("option", { value: choice.value, selected: choice.value === value }, choice.text),
    ),
  );
  return h("div", { class: "control" }, h("label", { for: id }, label), list);
}

/** A short row of choices of which one holds. */
export function segmented<T extends string>(
  label: string,
  choices: Choice<T>[],
  value: T,
  onChange: (value: T) => void,
): HTMLElement {
  const name = freshId("choice");
  return h(
    "fieldset",
    { class: "control segmented" },
    h("legend", {}, label),
    h(
      "div",
      { class: "segments" },
      choices.map((choice) =>
        h(
          "label",
          {},
          h("input", {
            type: "radio",
            name,
            value: choice.value,
            checked: choice.value === value,
            onchange: () => onChange(choice.value),
          }),
          h("span", {}, choice.text),
        ),
      ),
    ),
  );
}

export function checkbox(
  text: string | Node,
  checked: boolean,
  onChange: (checked: boolean) => void,
): HTMLElement {
  const box = h("input", { type: "checkbox", checked, onchange: () => onChange(box.checked) });
  return h("label", { class: "check" }, box, h("span", {}, text));
}

export function search(label: string, onInput: (text: string) => void): HTMLElement {
  const id = freshId("search");
  const field = h("input", {
    id,
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => onInput(field.value),
  });
  return h("div", { class: "control grow" }, h("label", { for: id }, label), field);
}

export function button(text: string, title: string, onClick: () => void): HTMLButtonElement {
  return h("button", { type: "button", title, "aria-label": title, onclick: onClick }, text);
}

/** A row of steps to slide along; `say` tells in words where it stands. */
export function slider(
  label: string,
  range: { min: number; max: number; step: number; value: number },
  say: (value: number) => string,
  onInput: (value: number) => void,
): HTMLElement {
  const id = freshId("slider");
  const told = h("output", { for: id }, say(range.value));
  const { min, max, step, value } = range;
  const field = h("input", {
    id,
    type: "range",
    min,
    max,
    step,
    value,
    "aria-valuetext": say(value),
    oninput: () => {
      const at = Number(field.value);
      told.textContent = say(at);
      field.setAttribute("aria-valuetext", say(at));
      onInput(at);
    },
  });
  return h(
    "div",
    { class: "control slider" },
    h("label", { for: id }, label),
    h("div", {}, field, told),
  );
}
