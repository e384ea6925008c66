// Parts of Markdown that are too big for the bundle and come over the comm when a text asks for them:
// maths, and the languages beyond the first eight.
import { signal } from "@preact/signals";
import type { HLJSApi } from "highlight.js";
import type { RenderScope } from "./grammar";
import { addLanguages } from "./highlight";

type Typeset = (tex: string, display: boolean) => string | null;

/** What the two lazy modules export. */
export interface MathsModule { typeset: Typeset }
export interface LanguagesModule { register: (api: HLJSApi) => void }

export const extras = {
  typeset: signal<Typeset | null>(null),
  /** Goes up when something came that changes how a text looks. */
  version: signal(0),
};

export type Load = (name: "maths" | "languages") => Promise<unknown>;
let load: Load | null = null;
/** A module that could not be had is asked for again after this time. */
const RETRY_MS = 60_000;
const askAgainAt = new Map<string, number>();

/** Says how lazy modules are fetched; the first view that can reach a kernel does. */
export function setLoader(loader: Load): void {
  load = loader;
}

async function fetchOnce<T>(name: "maths" | "languages", take: (module: T) => void): Promise<void> {
  if (!load || performance.now() < (askAgainAt.get(name) ?? 0)) return;
  askAgainAt.set(name, Infinity);
  try {
    take((await load(name)) as T);
    extras.version.value += 1;
  } catch (error) {
    askAgainAt.set(name, performance.now() + RETRY_MS);
    console.warn(`[acp_notebook] ${name} cannot be loaded`, error);
  }
}

/** Fetches what a text turned out to need. */
export function wantExtras({ wants }: RenderScope): void {
  if (wants.maths) void fetchOnce<MathsModule>("maths", (module) => { extras.typeset.value = module.typeset; });
  if (wants.languages) void fetchOnce<LanguagesModule>("languages", (module) => addLanguages(module.register));
  wants.maths = wants.languages = false;
}
