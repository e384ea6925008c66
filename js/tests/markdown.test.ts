// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { emptyScope, lex, render } from "../src/markdown/grammar";
import { MarkdownDocument } from "../src/markdown/document";

/** The blocks of a fresh parse of all of `text`. */
const full = (text: string): string[] => new MarkdownDocument().update(text).map(({ html }) => html);

/** mulberry32: the same documents in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const INLINE = [
  "plain words", "**bold**", "*em*", "`code`", "``a ` b``", "[link](https://example.org/a_b)", "[ref][a]", "[a]", "[^n]", "https://example.org/x?y=1", "www.example.org。次",
  "$x^2$", "\\(a+b\\)", "$$\\frac12$$", "costs $5 or $10", "<b>raw</b>", "<br>", "&amp; &lt;", "~~gone~~", "![pic](https://example.org/p.png)", "\\*kept\\*", "snake_case_word",
  "שלום עולם", "日本語。", "a | b", "😀", "_u_", "***both***", "**open", "`open", "[half](http", "<script>x</script>", "line  \nbreak",
];
function block(next: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const words = (): string => Array.from({ length: 1 + Math.floor(next() * 5) }, () => pick(INLINE)).join(" ");
  switch (Math.floor(next() * 19)) {
    case 0: return `${"#".repeat(1 + Math.floor(next() * 6))} ${words()}`;
    case 1: return `- ${words()}\n- ${words()}\n  - ${words()}`;
    case 2: return `1. ${words()}\n2. ${words()}\n\n   more ${words()}`;
    case 3: return `> ${words()}\n> ${words()}\n${words()}`;
    case 4: return `\`\`\`python\nx = 1\n\n# ${words()}\n\`\`\``;
    case 5: return `~~~\n\`\`\`\n${words()}\n~~~`;
    case 6: return `| a | b |\n|---|:-:|\n| ${pick(INLINE)} | ${pick(INLINE)} |\n| c |`;
    case 7: return "---";
    case 8: return `${words()}\n===`;
    case 9: return `    indented ${words()}\n    more`;
    case 10: return `[a]: https://example.org/${Math.floor(next() * 3)} "title"`;
    case 11: return `[^n]: note ${words()}\n  goes on`;
    case 12: return `$$\n\\sum_i x_i\n$$`;
    case 13: return `- [ ] ${words()}\n- [x] ${words()}`;
    case 14: return `<div>\n${words()}\n</div>`;
    case 15: return `- ${words()}\n\n  \`\`\`js\n  let a\n  \`\`\`\n- ${words()}`;
    case 16: return `\`\`\`\n${words()}`;
    case 17: return `\\[\n${pick(["a^2", "\\frac{1}{2}"])}\n\\]`;
    default: return `${words()}\n${words()}`;
  }
}
function randomDocument(seed: number): string {
  const next = random(seed);
  let text = "";
  for (let n = 3 + Math.floor(next() * 9); n > 0; n -= 1) text += block(next) + (next() < 0.75 ? "\n\n" : next() < 0.6 ? "\n" : "\n\n\n");
  return text;
}

describe("block-wise Markdown", () => {
  it("equals a full parse after every prefix of 300 random documents", () => {
    for (let seed = 0; seed < 300; seed += 1) {
      const text = randomDocument(seed);
      const growing = new MarkdownDocument();
      const step = seed % 3 === 0 ? 1 : 2 + (seed % 7);
      for (let end = 1; end < text.length + step; end += step) {
        const prefix = text.slice(0, end);
        const blocks = growing.update(prefix).map(({ html }) => html);
        expect({ seed, prefix, blocks }).toEqual({ seed, prefix, blocks: full(prefix) });
      }
    }
  }, 120_000);

  it("equals what the parser alone makes of texts without footnotes", () => {
    for (let seed = 1000; seed < 1100; seed += 1) {
      const text = randomDocument(seed).replaceAll("[^n]", "note");
      expect(full(text).join("")).toBe(render(lex(text, false), emptyScope()));
    }
  });

  it("keeps finished blocks as the same objects", () => {
    const growing = new MarkdownDocument();
    const first = growing.update("one\n\ntwo\n\nthree\n\nfour\n\nfive\n\n").slice();
    const second = growing.update("one\n\ntwo\n\nthree\n\nfour\n\nfive\n\nsix");
    expect(second.slice(0, 5).every((part, n) => part === first[n])).toBe(true);
  });

  it("parses only the open blocks again: growth costs the same at the end as at the start", () => {
    const growing = new MarkdownDocument();
    let text = "";
    const lexed: number[] = [];
    const inner = growing as unknown as { base: number };
    for (let n = 0; n < 400; n += 1) {
      text += `Paragraph ${n} with **bold** words.\n\n`;
      growing.update(text);
      lexed.push(text.length - inner.base);
    }
    expect(Math.max(...lexed.slice(200))).toBeLessThanOrEqual(Math.max(...lexed.slice(0, 200)) + 8);
  });

  it("renders anew just what uses a definition that comes late", () => {
    const growing = new MarkdownDocument();
    const before = "see [a] here\n\nplain\n\nthree\n\nfour\n\nfive\n\nsix\n\n";
    const old = growing.update(before).slice();
    const after = growing.update(`${before}[a]: https://example.org/x\n`);
    expect(after[0]?.html).toContain('href="https://example.org/x"');
    expect(after.slice(1).every((part, n) => part === old[n + 1])).toBe(true);
  });

  it("starts over when the text is another one", () => {
    const growing = new MarkdownDocument();
    growing.update("a\n\nb\n\nc\n\nd\n\ne\n\n");
    expect(growing.update("z").map(({ html }) => html)).toEqual(full("z"));
  });

  it("reads carriage returns as line ends", () => {
    expect(full("a\r\n\r\nb\rc")).toEqual(full("a\n\nb\nc"));
  });
});

describe("maths", () => {
  const formulas = (text: string): string[] => [...full(text).join("").matchAll(/data-tex="([^"]*)"/g)].map((match) => match[1] as string);
  it.each([
    ["$x$ and $y_1$", ["x", "y_1"]],
    ["\\(a\\) \\[b\\] $$c$$", ["a", "b", "c"]],
    ["$$\na\n$$", ["a"]],
    ["it costs $5 and $10", []],
    ["between $20k-$30k or US$5 to AU$9", []],
    ["$HOME/bin:$PATH is set, $ 5 $ is not", []],
    ["5$ and 6$ more", []],
    ["`$x$` and \\$x\\$", []],
    ["```\n$x$\n```", []],
    ["$a\n\nb$ and \\(a\n\nb\\)", []],
    ["*a $x*y$ b*", ["x*y"]],
    ["(e=5.2\\frac{\\$}{€}) \\(e=5.2\\frac{\\$}{€}\\).", ["e=5.2\\frac{\\$}{€}"]],
    ["$$open and more\n\nprose", []],
    ["$$$ money", []],
  ])("finds formulas, not prices: %j", (text, expected) => expect(formulas(text)).toEqual(expected));
});

describe("links and images", () => {
  const html = (text: string): string => full(text).join("");
  it.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//example.org", "./x", "java\tscript:x"])(
    "leaves %j as text", (href) => expect(html(`[x](<${href}>)`)).not.toContain("href="));
  it.each(["https://example.org", "http://example.org/a?b=c", "mailto:a@example.org"])("links %j safely", (href) => {
    expect(html(`[x](${href})`)).toContain(`href="${href}"`);
    expect(html(`[x](${href})`)).toContain('rel="noopener noreferrer"');
  });
  it("ends a bare link before CJK punctuation", () => {
    expect(html("https://example.org/a。次は")).toContain('href="https://example.org/a"');
    expect(html("見て（https://example.org/b）ね")).toContain('href="https://example.org/b"');
    expect(html("www.example.org、と")).toContain('href="https://www.example.org"');
  });
  it("asks before it loads a remote image", () => {
    const growing = new MarkdownDocument();
    const text = "![pic](https://example.org/p.png)";
    expect(growing.update(text)[0]?.html).not.toContain("<img");
    growing.scope.allowedImages.add("https://example.org/p.png");
    growing.forget();
    expect(growing.update(text)[0]?.html).toContain('<img class="acp-image" src="https://example.org/p.png"');
  });
  it("draws raster data images and nothing else from data", () => {
    expect(html("![x](data:image/png;base64,iVBORw0=)")).toContain("<img");
    expect(html("![x](data:image/svg+xml;base64,PHN2Zz4=)")).not.toContain("<img");
  });
});

describe("footnotes", () => {
  it("numbers them in order of mention and lists them at the end", () => {
    const blocks = full("b[^b] a[^a] b[^b] none[^c]\n\n[^a]: first\n[^b]: second *em*\n");
    expect(blocks[0]).toMatch(/data-number="1".*data-number="2".*data-number="1".*none\[\^c\]/s);
    expect(blocks.at(-1)).toMatch(/data-footnote="1".*second <em>em<\/em>.*data-footnote="2".*first/s);
  });
});
