// Before the first paint: the reader's choice, or the system's. Storage may be forbidden for local files.
(() => {
  let choice = "auto";
  try {
    choice = localStorage.getItem("heed-theme") || "auto";
  } catch {
    // Only remembering fails.
  }
  const dark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
