/** Light or dark: the system's choice until the reader makes another. Print is always light. */
import { h, replaceChildren } from "./dom";

type Choice = "auto" | "light" | "dark";

const kKey = "heed-theme";
const kChanged = "heed-theme-changed";
const kNext: Record<Choice, Choice> = { auto: "light", light: "dark", dark: "auto" };
const kSign: Record<Choice, string> = { auto: "◐", light: "☀", dark: "☾" };
const kName: Record<Choice, string> = { auto: "Auto", light: "Light", dark: "Dark" };

/** Storage may be forbidden for local files; the choice then lasts as long as the page. */
function stored(): Choice {
  try {
    const value = localStorage.getItem(kKey);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

/** Calls back when the colours change, as long as the element is in the page. */
export function onThemeChange(element: Element, changed: () => void): void {
  const listener = (): void => {
    if (element.isConnected) changed();
    else removeEventListener(kChanged, listener);
  };
  addEventListener(kChanged, listener);
}

export function themeButton(): HTMLElement {
  const system =
    typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");
  let choice = stored();
  const button = h("button", { type: "button", class: "theme" });
  const apply = (): void => {
    const dark = choice === "dark" || (choice === "auto" && system?.matches === true);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    replaceChildren(button, kSign[choice], h("span", { class: "choice" }, ` ${kName[choice]}`));
    dispatchEvent(new Event(kChanged));
    button.setAttribute("aria-label", `Colours: ${choice}. Change to ${kNext[choice]}.`);
  };
  button.addEventListener("click", () => {
    choice = kNext[choice];
    try {
      localStorage.setItem(kKey, choice);
    } catch {
      // Only remembering fails.
    }
    apply();
  });
  system?.addEventListener("change", apply);
  apply();
  return button;
}
