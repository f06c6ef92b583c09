/** Files made in the page, on the click that asks for them. */
import { toCsv, type Table } from "./csv";
import { h, s } from "./dom";

/** Paint and type properties that CSS gives a picture and a file on its own would lose. */
const kInlined = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
];

export function fileName(name: string, extension: string): string {
  const safe = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return `heed-${safe.slice(0, 60) || "picture"}.${extension}`;
}

export function saveCsv(name: string, table: Table): void {
  // The mark makes spreadsheets read the file as UTF-8.
  save(
    fileName(name, "csv"),
    new Blob([`\ufeff${toCsv(table)}`], { type: "text/csv;charset=utf-8" }),
  );
}

export function saveSvg(name: string, picture: SVGSVGElement): void {
  save(fileName(name, "svg"), svgBlob(picture));
}

/** At twice the size, for screens and slides. */
export function savePng(name: string, picture: SVGSVGElement): void {
  const url = URL.createObjectURL(svgBlob(picture));
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => blob && save(fileName(name, "png"), blob), "image/png");
  });
  image.src = url;
}

function svgBlob(picture: SVGSVGElement): Blob {
  return new Blob([standaloneSvg(picture)], { type: "image/svg+xml;charset=utf-8" });
}

function save(file: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = h("a", { href: url, download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The picture with its style written out and the page's background behind it. */
export function standaloneSvg(picture: SVGSVGElement): string {
  if (!picture.isConnected) {
    const stage = h("div", { class: "vh" }, picture); // style is computed only inside the page
    document.body.append(stage);
    const text = standaloneSvg(picture);
    stage.remove();
    return text;
  }
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const originals = [picture, ...picture.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, i) => {
    const style = getComputedStyle(original);
    const element = copies[i]!;
    for (const property of kInlined) {
      const value = style.getPropertyValue(property);
      if (value !== "") element.setAttribute(property, value);
    }
    for (const attribute of ["class", "style", "tabindex", "role"]) {
      element.removeAttribute(attribute);
    }
  });
  for (const overlay of copy.querySelectorAll("[data-screen-only]")) overlay.remove();
  const background = getComputedStyle(document.documentElement).getPropertyValue("--bg").trim();
  frame(copy, background || "#fff");
  const text = new XMLSerializer().serializeToString(copy);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text.replace(kNotXml, "\ufffd")}\n`;
}

/** A margin and a background, which the page gives a picture on the screen. */
function frame(picture: SVGSVGElement, background: string): void {
  const margin = 14;
  const width = Number(picture.getAttribute("width")) + 2 * margin;
  const height = Number(picture.getAttribute("height")) + 2 * margin;
  picture.setAttribute("width", String(width));
  picture.setAttribute("height", String(height));
  picture.setAttribute("viewBox", `${-margin} ${-margin} ${width} ${height}`);
  picture.prepend(s("rect", { x: -margin, y: -margin, width, height, fill: background }));
}

/** Characters that tokens may hold and XML may not. */
const kNotXml =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
