// The maths library, as a module of its own that comes over the comm.
import temml from "temml";

/** TeX to MathML; TeX that cannot be read is shown as it was written. */
export function typeset(tex: string, display: boolean): string {
  return temml.renderToString(tex, { displayMode: display, throwOnError: false, trust: false, maxExpand: 500, maxSize: [20, 20], strict: false });
}
