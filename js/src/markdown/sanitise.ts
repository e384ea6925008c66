// The one place where a string becomes elements. What comes in is our renderer's output over escaped
// agent text; DOMPurify stands behind it and lets through only what our renderer writes.
import DOMPurify from "dompurify";

const TAGS = [
  "a", "blockquote", "br", "button", "code", "del", "div", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
  "img", "input", "li", "ol", "p", "pre", "section", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
  "math", "menclose", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts", "mroot",
  "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "semantics",
];
const ATTRIBUTES = [
  "align", "alt", "aria-label", "checked", "class", "dir", "disabled", "href", "referrerpolicy", "rel", "src", "start", "tabindex", "target", "title", "type",
  "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "depth", "display", "displaystyle", "fence", "form", "height",
  "linethickness", "lspace", "mathcolor", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowalign", "rowlines", "rowspacing",
  "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
];

const purify = DOMPurify(window);
purify.setConfig({
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOW_DATA_ATTR: true,
  ALLOW_ARIA_ATTR: false,
  // Only these two hold addresses; DOMPurify would hold every other value to the rule for them.
  ADD_URI_SAFE_ATTR: ATTRIBUTES.filter((name) => name !== "href" && name !== "src"),
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);base64,)/i,
  RETURN_DOM_FRAGMENT: true,
});

const sanitise = (html: string): DocumentFragment => purify.sanitize(html) as unknown as DocumentFragment;

/** An element for each block, sanitised. All go through at once: DOMPurify makes a document for every call. */
export function toElements(blocks: readonly string[]): Element[] {
  const together = [...sanitise(blocks.map((html) => `<div class="acp-block">${html}</div>`).join("")).children];
  if (together.length === blocks.length) return together;
  return blocks.map((html) => {
    const element = Object.assign(document.createElement("div"), { className: "acp-block" });
    element.append(sanitise(html));
    return element;
  });
}
