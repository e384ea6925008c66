// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import { Scene } from "../dev/scenes";
import { en } from "../src/strings/en";
import { show, type Shown } from "./panel";

let shown: Shown | null = null;
afterEach(() => {
  shown?.close();
  shown = null;
  document.body.replaceChildren();
});
const open = async (scene: Scene): Promise<Shown> => (shown = await show(scene.view));
const all = (root: ParentNode): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(".acp-attachment")];
const one = (root: ParentNode, selector: string): HTMLElement => root.querySelector<HTMLElement>(selector)!;

describe("attachment cards", () => {
  it("says of a dead attachment its basename and the reason in words, and nothing of its folder", async () => {
    const reasons = Object.keys(en).filter((key) => key.startsWith("attachment.reason.")).map((key) => key.slice("attachment.reason.".length));
    const part = (_: string, n: number): object => ({ kind: "attachment", refId: `user:0/${n}`, uri: `file:///vault/${n}.csv`, name: `/vault/${n}.csv`, mimeType: "text/csv", size: 2000, source: null });
    const states = Object.fromEntries(reasons.map((reason, n) => [`user:0/${n}`, { state: "unavailable" as const, reason, displayPath: `/vault/${n}.csv` }]));
    const own = await open(new Scene().ask("see", reasons.map(part) as never).meta({ attachments: states }));
    expect(all(own.root).map((card) => card.getAttribute("aria-label"))).toEqual(
      reasons.map((reason, n) => `${n}.csv, not available: ${en[`attachment.reason.${reason}` as keyof typeof en]}`));
    expect(one(own.root, ".acp-attachments").outerHTML).not.toContain("vault");
    expect(own.root.querySelector(".acp-attachment button")).toBeNull();
  });

  it("neither shows nor opens a link that carries a password", async () => {
    const part = { kind: "attachment", refId: "user:0/0", uri: "https://ada:hush@example.org/a.csv", name: null, mimeType: null, size: null, source: null };
    const own = await open(new Scene().ask("see", [part] as never));
    const card = one(own.root, ".acp-attachment");
    expect(card.getAttribute("aria-label")).toBe("a.csv, not available: its address holds a name or password");
    expect(card.outerHTML).not.toContain("hush");
    expect(card.querySelector("a, button")).toBeNull();
  });

  it("names an attachment in one line that cannot be read backwards", async () => {
    const part = { kind: "attachment", refId: "user:0/0", uri: "file:///w/a", name: `\u202egnp.\u2066exe\n${"x".repeat(300)}`, mimeType: null, size: null, source: null };
    const own = await open(new Scene().ask("see", [part] as never));
    expect(one(own.root, ".acp-attachment-name").textContent).toBe(`gnp.exe ${"x".repeat(192)}`);
    expect(one(own.root, ".acp-attachment").getAttribute("aria-disabled")).toBe("false");
  });
});
