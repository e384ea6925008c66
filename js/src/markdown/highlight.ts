// Syntax colours for closed code blocks. Eight languages are in the bundle; others come when asked for.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import type { HLJSApi, LanguageFn } from "highlight.js";

const BUNDLED: Record<string, LanguageFn> = { bash, css, diff, javascript, json, markdown, python, sql };
for (const [name, language] of Object.entries(BUNDLED)) hljs.registerLanguage(name, language);
hljs.registerAliases(["ipython", "ipython3", "py3", "pycon"], { languageName: "python" });
hljs.registerAliases(["jsonc", "json5", "ipynb"], { languageName: "json" });
hljs.registerAliases(["console", "shell", "zsh", "terminal"], { languageName: "bash" });

/** Beyond this many characters colours cost more than they give. */
export const MAX_HIGHLIGHTED_CHARACTERS = 100_000;

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => escapes[sign] as string);

const CACHE_ENTRIES = 200;
const cache = new Map<string, string>();

export const knowsLanguage = (name: string): boolean => hljs.getLanguage(name) !== undefined;

/** Adds languages that were loaded later; `register` is what the lazy module exports. */
export function addLanguages(register: (api: HLJSApi) => void): void {
  register(hljs);
  cache.clear();
}

/** Code as HTML with `hljs-` classes; only escaped when the language is unknown or the text is long. */
export function highlight(code: string, language: string): string {
  if (!knowsLanguage(language) || code.length > MAX_HIGHLIGHTED_CHARACTERS) return escapeHtml(code);
  const key = `${language}\n${code}`;
  let html = cache.get(key);
  if (html === undefined) {
    html = hljs.highlight(code, { language, ignoreIllegals: true }).value;
    if (cache.size >= CACHE_ENTRIES) cache.delete(cache.keys().next().value as string);
    cache.set(key, html);
  }
  return html;
}

const BY_EXTENSION: Record<string, string> = {
  py: "python", pyi: "python", ipynb: "json", js: "javascript", mjs: "javascript", cjs: "javascript", jsx: "javascript",
  ts: "typescript", tsx: "typescript", sh: "bash", md: "markdown", yml: "yaml", rs: "rust", rb: "ruby", cc: "cpp", h: "c",
  htm: "xml", html: "xml", svg: "xml", toml: "ini", cfg: "ini", kt: "kotlin", jl: "julia", patch: "diff",
};

/** The language of a file by its name, or the extension itself. */
export function languageOfPath(path: string): string {
  const extension = /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return BY_EXTENSION[extension] ?? extension;
}
