// The maths library, as a module of its own that comes over the comm.
import temml from "temml";

const OPTIONS = { throwOnError: false, trust: false, maxExpand: 500, maxSize: [20, 20] as [number, number], strict: false };

/** TeX to MathML, or null for TeX that cannot be read: it is then shown as it was written. */
export function typeset(tex: string, display: boolean): string | null {
  try {
    return temml.renderToString(tex, { ...OPTIONS, displayMode: display });
  } catch {
    return null; // the library stumbles over some TeX, e.g. an untrusted \url inside braces
  }
}
