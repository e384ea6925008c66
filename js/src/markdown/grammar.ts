// Our Markdown: GFM with maths and footnotes, raw HTML as the text it is, and links and images that
// cannot reach anything by themselves. All that a renderer writes here is ours; what the agent wrote is
// escaped first, and the sanitiser stands behind it.
import { Lexer, Marked, type Token, type Tokens, type TokensList } from "marked";
import { escapeHtml, highlight, knowsLanguage } from "./highlight";
import { maskMaths, matchMaths, mathsStart } from "./maths";
import { t } from "../strings";

/** What rendering a block depends on besides its own text. */
export interface RenderScope {
  /** Numbers of the footnotes in order of their first mention. */
  footnoteNumbers: Map<string, number>;
  /** TeX to MathML once the maths library is here. */
  typeset: ((tex: string, display: boolean) => string | null) | null;
  /** Remote images that the reader asked to see. */
  allowedImages: Set<string>;
  /** Set when a code block names a language that nobody knows yet, or maths could not be typeset. */
  wants: { languages: boolean; maths: boolean };
  /** The end of the text is still being written: a bare link there is text until it ends. */
  growing: boolean;
}

export type OurTokens = TokensList & { footnotes: Map<string, string> };

let scope: RenderScope;

const SAFE_LINK = /^(?:https?:\/\/|mailto:)/i;
const SAFE_IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/i;
// A bare link ends before CJK punctuation and full-width forms; GFM knows only the ASCII ones.
const CJK_END = /[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u2018-\u201f\u2026]/;

const fenceIsClosed = (raw: string): boolean => {
  const open = /^ {0,3}(`{3,}|~{3,})/.exec(raw)?.[1];
  if (!open) return true; // indented code
  const last = raw.trimEnd().split("\n").at(-1) ?? "";
  const close = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(last)?.[1];
  return raw.trimEnd().includes("\n") && close !== undefined && close[0] === open[0] && close.length >= open.length;
};

const button = (action: string, label: string, text: string): string =>
  `<button type="button" class="acp-code-button" data-action="${action}" title="${escapeHtml(label)}" aria-label="${escapeHtml(label)}">${text}</button>`;

function renderCode(token: Tokens.Code): string {
  const closed = fenceIsClosed(token.raw);
  // While only the fence line is there, its language is still being typed.
  const info = closed || token.raw.includes("\n") ? (token.lang ?? "") : "";
  const language = (/^[^\s{,:]+/.exec(info)?.[0] ?? "").toLowerCase();
  if (closed && language && !knowsLanguage(language)) scope.wants.languages = true;
  const body = closed && language ? highlight(token.text, language) : escapeHtml(token.text);
  const tools =
    button("wrap-code", t("code.wrap"), "⏎") +
    button("insert-code", t("code.insert"), "↧") +
    button("copy-code", t("code.copy"), "⧉");
  return (
    `<figure class="acp-code" data-language="${escapeHtml(language)}"${closed ? "" : ' data-open=""'}>` +
    `<figcaption><span class="acp-code-language">${escapeHtml(language || t("code.plain"))}</span>${tools}</figcaption>` +
    `<pre dir="ltr" tabindex="0"><code>${body}\n</code></pre></figure>\n`
  );
}

function renderMaths(token: { tex: string; display: boolean; raw: string }): string {
  if (!scope.typeset) scope.wants.maths = true;
  const body = scope.typeset?.(token.tex, token.display) ?? escapeHtml(token.raw);
  const name = token.display ? "acp-maths acp-maths-display" : "acp-maths";
  return `<span class="${name}" dir="ltr" data-tex="${escapeHtml(token.tex)}">${body}</span>`;
}

function renderLink(href: string, title: string | null | undefined, inner: string): string {
  const target = href.trim();
  const shown = escapeHtml(title ? `${title} (${target})` : target);
  if (!SAFE_LINK.test(target)) return `<span class="acp-dead-link" title="${shown}">${inner}</span>`;
  return `<a href="${escapeHtml(target)}" title="${shown}" target="_blank" rel="noopener noreferrer">${inner}</a>`;
}

function renderImage(href: string, alt: string): string {
  const label = escapeHtml(alt || t("image.untitled"));
  if (SAFE_IMAGE_DATA.test(href) || (scope.allowedImages.has(href) && /^https?:\/\//i.test(href)))
    return `<img class="acp-image" src="${escapeHtml(href)}" alt="${label}" referrerpolicy="no-referrer" data-action="enlarge-image">`;
  if (!/^https?:\/\//i.test(href)) return `<span class="acp-dead-link" title="${escapeHtml(href)}">${label}</span>`;
  const host = /^https?:\/\/([^/?#]*)/i.exec(href)?.[1] ?? href;
  return (
    `<button type="button" class="acp-remote-image" data-action="load-image" data-source="${escapeHtml(href)}">` +
    `${label} <span class="acp-muted">${escapeHtml(t("image.load", { host }))}</span></button>`
  );
}

const FOOTNOTE_DEFINITION = /^ {0,3}\[\^([^\]\s]+)\]:[ \t]*([^\n]*(?:\n(?:(?: {2,}|\t)[^\n]*\S[^\n]*))*)(?:\n+|$)/;
const FOOTNOTE_MENTION = /^\[\^([^\]\s]+)\]/;

export const markdown = new Marked({
  gfm: true,
  hooks: { emStrongMask: maskMaths },
  tokenizer: {
    html: () => undefined,
    tag: () => undefined,
    url(source) {
      const match = /^(?:https?:\/\/|www\.)/i.test(source) ? CJK_END.exec(source) : null;
      if (!match) {
        if (scope.growing && /^(?:https?:\/\/|www\.)\S*$/i.test(source)) {
          return { type: "text", raw: source, text: source } as unknown as Tokens.Link;
        }
        return false;
      }
      const whole = source.slice(0, match.index);
      return /^\S+$/.test(whole) ? linkToken(whole) : false;
    },
  },
  extensions: [
    {
      name: "mathsBlock",
      level: "block",
      start: (source) => /(?:^|\n) {0,3}(?:\$\$|\\\[)/.exec(source)?.index,
      tokenizer(source) {
        const lead = /^ {0,3}/.exec(source)?.[0] ?? "";
        const match = matchMaths(source.slice(lead.length), "");
        if (!match?.display) return undefined;
        const rest = /^[ \t]*(?:\n+|$)/.exec(source.slice(lead.length + match.raw.length));
        if (!rest) return undefined;
        return { type: "mathsBlock", raw: lead + match.raw + rest[0], source: match.raw, tex: match.tex, display: true };
      },
      renderer: (token) =>
        `<p>${renderMaths({ tex: token["tex"] as string, display: true, raw: token["source"] as string })}</p>\n`,
    },
    {
      name: "maths",
      level: "inline",
      start: mathsStart,
      tokenizer(source, tokens) {
        const before = (tokens.at(-1) as Token | undefined)?.raw.at(-1) ?? "";
        const match = matchMaths(source, before);
        return match ? { type: "maths", ...match } : undefined;
      },
      renderer: (token) => renderMaths(token as unknown as { tex: string; display: boolean; raw: string }),
    },
    {
      name: "footnote",
      level: "block",
      start: (source) => /(?:^|\n) {0,3}\[\^[^\]\s]+\]:/.exec(source)?.index,
      tokenizer(source) {
        const match = FOOTNOTE_DEFINITION.exec(source);
        if (!match) return undefined;
        const known = (this.lexer.tokens as OurTokens).footnotes;
        const key = (match[1] as string).toLowerCase();
        if (!known.has(key)) known.set(key, (match[2] as string).replace(/\n[ \t]+/g, "\n"));
        return { type: "footnote", raw: match[0] };
      },
      renderer: () => "",
    },
    {
      name: "footnoteMention",
      level: "inline",
      start: (source) => (source.includes("[^") ? source.indexOf("[^") : undefined),
      tokenizer(source) {
        const match = FOOTNOTE_MENTION.exec(source);
        const key = match?.[1]?.toLowerCase() ?? "";
        if (!match || !(this.lexer.tokens as OurTokens).footnotes.has(key)) return undefined;
        return { type: "footnoteMention", raw: match[0], key };
      },
      renderer(token) {
        const key = token["key"] as string;
        let number = scope.footnoteNumbers.get(key);
        if (number === undefined) scope.footnoteNumbers.set(key, (number = scope.footnoteNumbers.size + 1));
        const label = escapeHtml(t("footnote", { number: String(number) }));
        return `<sup><button type="button" class="acp-footnote" data-action="footnote" data-number="${number}" aria-label="${label}">${number}</button></sup>`;
      },
    },
  ],
  renderer: {
    html: (token) => escapeHtml(token.text),
    code: renderCode,
    codespan: (token) => `<code dir="ltr">${escapeHtml(token.text)}</code>`,
    link(token) {
      return renderLink(token.href, token.title, this.parser.parseInline(token.tokens));
    },
    image: (token) => renderImage(token.href, token.text),
    paragraph(token) {
      return `<p dir="auto">${this.parser.parseInline(token.tokens)}</p>\n`;
    },
    heading(token) {
      return `<h${token.depth} dir="auto">${this.parser.parseInline(token.tokens)}</h${token.depth}>\n`;
    },
    blockquote(token) {
      return `<blockquote dir="auto">\n${this.parser.parse(token.tokens)}</blockquote>\n`;
    },
    list(token) {
      const tag = token.ordered ? "ol" : "ul";
      const start = token.ordered && token.start !== 1 ? ` start="${token.start}"` : "";
      const body = token.items.map((item) => this.listitem(item)).join("");
      return `<${tag} dir="auto"${start}>\n${body}</${tag}>\n`;
    },
    listitem(item) {
      return `<li dir="auto"${item.task ? ' class="acp-task"' : ""}>${this.parser.parse(item.tokens)}</li>\n`;
    },
    checkbox: ({ checked }) =>
      `<input type="checkbox" disabled=""${checked ? ' checked=""' : ""} aria-label="${escapeHtml(t(checked ? "task.done" : "task.open"))}"> `,
    table(token) {
      const row = (cells: Tokens.TableCell[], tag: string): string =>
        `<tr>${cells
          .map((cell) => {
            const align = cell.align ? ` align="${cell.align}"` : "";
            return `<${tag} dir="auto"${align}>${this.parser.parseInline(cell.tokens)}</${tag}>`;
          })
          .join("")}</tr>\n`;
      const body = token.rows.map((cells) => row(cells, "td")).join("");
      return `<div class="acp-table" tabindex="0"><table><thead>${row(token.header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
    },
  },
});

function linkToken(url: string): Tokens.Link {
  const href = /^www\./i.test(url) ? `https://${url}` : url;
  return { type: "link", raw: url, text: url, href, title: null, tokens: [{ type: "text", raw: url, text: url, escaped: false }] };
}

/** What link and footnote labels mean. */
export interface Definitions {
  readonly links: TokensList["links"];
  readonly footnotes: ReadonlyMap<string, string>;
}
export const NO_DEFINITIONS: Definitions = { links: {}, footnotes: new Map() };
export const definitions = (tokens: OurTokens): Definitions => ({ links: tokens.links, footnotes: tokens.footnotes });

/** Block tokens of a text, and the inline lexing of one of them, which is most of the cost. */
export interface Lexed {
  tokens: OurTokens;
  lexInline(token: Token): void;
}

export function lexBlocks(source: string, growing: boolean, before: Definitions = NO_DEFINITIONS): Lexed {
  const own = { ...emptyScope(), growing };
  scope = own;
  const lexer = new Lexer(markdown.defaults);
  const tokens = Object.assign(lexer.tokens, { footnotes: new Map(before.footnotes) });
  Object.assign(tokens.links, before.links);
  lexer.blockTokens(source, tokens);
  const waiting = new Map(lexer.inlineQueue.map(({ src, tokens: into }) => [into, src]));
  const lexInline = (token: Token): void => {
    scope = own;
    forEachList(token, (into) => {
      const src = waiting.get(into);
      if (src === undefined) return;
      waiting.delete(into);
      lexer.inlineTokens(src, into);
    });
  };
  return { tokens, lexInline };
}

/** The token lists below a block token: its own, those of list items and of table cells. */
function forEachList(token: object, visit: (list: Token[]) => void): void {
  const { tokens, items, header, rows } = token as Record<string, unknown>;
  if (Array.isArray(tokens)) {
    for (const child of tokens) forEachList(child as object, visit);
    visit(tokens as Token[]);
  }
  for (const nested of [items, header, rows]) {
    if (Array.isArray(nested)) for (const one of nested.flat()) forEachList(one as object, visit);
  }
}

/** Lexes `source` into top-level tokens; what was defined before it is known in it. */
export function lex(source: string, growing: boolean, before: Definitions = NO_DEFINITIONS): OurTokens {
  const { tokens, lexInline } = lexBlocks(source, growing, before);
  tokens.forEach(lexInline);
  return tokens;
}

export const render = (tokens: Token[], into: RenderScope): string => {
  scope = into;
  return markdown.parser(tokens);
};

export const emptyScope = (): RenderScope => ({
  footnoteNumbers: new Map(),
  typeset: null,
  allowedImages: new Set(),
  wants: { languages: false, maths: false },
  growing: false,
});
