// Picks the language once: what the page says it is, else what the reader's browser asks for.
import { de } from "./de";
import { en, type StringKey, type Strings } from "./en";

const LANGUAGES: Record<string, Strings> = { en, de };

function preferred(): string {
  const asked = [document.documentElement.lang, ...navigator.languages];
  for (const tag of asked) {
    const language = tag.toLowerCase().split("-")[0] ?? "";
    if (language in LANGUAGES) return language;
  }
  return "en";
}

let strings: Strings = en;
export let language = "en";

export function setLanguage(name: string = preferred()): void {
  language = name in LANGUAGES ? name : "en";
  strings = LANGUAGES[language] ?? en;
}
setLanguage();

/** The string of that key with its `{names}` filled in. */
export function t(key: StringKey, values: Record<string, string | number> = {}): string {
  return strings[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The string of a key made at run time, or `fallback` when there is none. */
export function tOr(key: string, fallback: string, values: Record<string, string | number> = {}): string {
  return key in en ? t(key as StringKey, values) : fallback;
}
