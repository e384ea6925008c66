// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import * as maths from "../src/markdown/lazy/maths";
import { MarkdownDocument } from "../src/markdown/document";
import { toElements } from "../src/markdown/sanitise";
import { everywhere, HOSTILE } from "./hostile";
import { show, type Shown } from "./panel";

let shown: Shown | null = null;
afterEach(() => {
  shown?.close();
  shown = null;
});

const OUR_BUTTONS = new Set(["copy-code", "wrap-code", "insert-code", "load-image", "footnote"]);

/** Nothing in it runs, links to code, or is fetched by itself. */
function expectInert(root: ParentNode): void {
  expect(root.querySelectorAll("script, iframe, object, embed, style, link, meta, base, form, svg script, foreignObject, video, audio, template, use, animate").length).toBe(0);
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      expect(name).not.toMatch(/^on/i);
      if (["href", "src", "action", "formaction", "xlink:href", "data", "srcset", "poster", "background"].includes(name)) {
        expect(value).toMatch(/^(?:https?:\/\/|mailto:|data:image\/(?:png|jpeg|gif|webp);base64,|blob:)/);
      }
      if (name === "style") expect(value).not.toMatch(/url\(|expression|position/i);
    }
    if (element.tagName === "IMG" || element.tagName === "SOURCE") expect(element.getAttribute("src") ?? "").toMatch(/^(?:data:image|blob:)/);
    if (element.hasAttribute("data-action")) expect(OUR_BUTTONS).toContain(element.getAttribute("data-action"));
  }
  expect((window as unknown as Record<string, unknown>)["__pwned"]).toBeUndefined();
}

it("holds at least sixty payloads", () => expect(HOSTILE.length).toBeGreaterThanOrEqual(60));

describe.each(HOSTILE.map((payload, index) => [index, payload] as const))("payload %i", (_, payload) => {
  it("is inert as prose, whole and at every third prefix", () => {
    const growing = new MarkdownDocument();
    growing.scope.typeset = maths.typeset;
    for (let end = payload.length % 3; end <= payload.length; end += 3) {
      const blocks = growing.update(payload.slice(0, end), end % 2 === 0).map(({ html }) => html);
      const elements = toElements(blocks);
      elements.forEach(expectInert);
      expect(elements.length).toBe(blocks.length);
    }
  });
});

const GROUP = 12; // as many turns as are drawn at once
describe.each(Array.from({ length: Math.ceil(HOSTILE.length / GROUP) }, (_, n) => [n, HOSTILE.slice(n * GROUP, (n + 1) * GROUP)] as const))("payloads, group %i", (_, payloads) => {
  it("is inert in every field of every item", async () => {
    shown = await show(everywhere(payloads));
    expectInert(shown.root.querySelector(".acp-timeline") as Element);
    for (const button of shown.root.querySelectorAll<HTMLElement>("[aria-expanded=false]")) button.click();
    await shown.settle();
    expectInert(shown.root.querySelector(".acp-timeline") as Element);
    expect([...shown.root.querySelectorAll("form")].every((form) => form.getAttribute("action") === null)).toBe(true);
  });
});
