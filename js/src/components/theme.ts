// Light or dark, as the page around is: by the trait, by what the front end says, else by the colours.
import { effect, type ReadonlySignal } from "@preact/signals";

/** What the page says of itself, or null. */
function declared(): "light" | "dark" | null {
  const { body, documentElement: html } = document;
  const jupyter = body.dataset["jpThemeLight"];
  if (jupyter) return jupyter === "true" ? "light" : "dark";
  if (body.classList.contains("vscode-dark") || body.classList.contains("vscode-high-contrast")) return "dark";
  if (body.classList.contains("vscode-light") || body.classList.contains("vscode-high-contrast-light")) return "light";
  const named = html.getAttribute("theme") ?? html.dataset["theme"] ?? body.dataset["theme"];
  if (named === "dark" || named === "light") return named;
  if (html.classList.contains("dark") || body.classList.contains("dark")) return "dark";
  return null;
}

function byColour(element: Element): "light" | "dark" {
  for (let at: Element | null = element.parentElement; at; at = at.parentElement) {
    const [r, g, b, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (r !== undefined && g !== undefined && b !== undefined && alpha > 0.5) return r * 0.299 + g * 0.587 + b * 0.114 < 128 ? "dark" : "light";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function watchTheme(root: HTMLElement, trait: ReadonlySignal<string>): () => void {
  const apply = (): void => {
    const wanted = trait.peek();
    root.dataset["theme"] = wanted === "light" || wanted === "dark" ? wanted : (declared() ?? byColour(root));
  };
  const observer = new MutationObserver(apply);
  const filter = { attributes: true, attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light", "data-jp-theme-name"] };
  observer.observe(document.body, filter);
  observer.observe(document.documentElement, filter);
  const stop = effect(() => { void trait.value; apply(); });
  return () => { observer.disconnect(); stop(); };
}
