// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { FromPage, Item, View } from "../src/messages";
import { Scene, SESSIONS, TRACE } from "../dev/scenes";
import { updates } from "./cases";
import { show, type Shown } from "./panel";

let shown: Shown | null = null;
afterEach(() => {
  shown?.close();
  shown = null;
  document.body.replaceChildren();
});
async function open(scene: Scene | View, traits?: Record<string, unknown>): Promise<Shown> {
  return (shown = await show("view" in scene ? scene.view : scene, traits));
}
const all = (root: ParentNode, selector: string): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(selector)];
const one = (root: ParentNode, selector: string): HTMLElement => {
  const found = all(root, selector);
  expect(found.map((element) => element.outerHTML.slice(0, 80)), selector).toHaveLength(1);
  return found[0] as HTMLElement;
};
const sent = (own: Shown, kind: FromPage["kind"]): FromPage[] => own.model.sent.filter((message) => message.kind === kind);
const textarea = (own: Shown): HTMLTextAreaElement => one(own.root, ".acp-composer-box textarea") as HTMLTextAreaElement;
async function type(own: Shown, text: string): Promise<void> {
  const area = textarea(own);
  area.focus();
  area.value = text;
  area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await own.settle();
}
function press(target: Element, key: string, init: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init });
  target.dispatchEvent(event);
  return event;
}
const lastItem = (scene: Scene): Item => scene.view.items.at(-1)!;

describe("composer", () => {
  it("sends on Enter, breaks the line on Shift+Enter, and is empty then", async () => {
    const own = await open(new Scene());
    await type(own, "hello");
    expect(press(textarea(own), "Enter", { shiftKey: true }).defaultPrevented).toBe(false);
    press(textarea(own), "Enter");
    await own.settle();
    expect(sent(own, "send")).toMatchObject([{ text: "hello" }]);
    expect(textarea(own).value).toBe("");
  });

  it("sends nothing that is blank, and nothing twice for a held key", async () => {
    const own = await open(new Scene());
    await type(own, "  \n ");
    press(textarea(own), "Enter");
    await type(own, "x");
    press(textarea(own), "Enter", { repeat: true });
    await own.settle();
    expect(sent(own, "send")).toEqual([]);
  });

  it("192-ime-safari-order: the Enter that ends a composition does not send", async () => {
    const own = await open(new Scene());
    const area = textarea(own);
    area.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true }));
    area.value = "難しい";
    area.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
    press(area, "Enter", { keyCode: 229 });
    await own.settle();
    expect(sent(own, "send")).toEqual([]);
    press(area, "Enter", { keyCode: 13 });
    await own.settle();
    expect(sent(own, "send")).toMatchObject([{ text: "難しい" }]);
  });

  it("193-ime-in-completion-menu: keys of an input method pick no command", async () => {
    const own = await open(new Scene());
    await type(own, "/");
    expect(all(own.root, ".acp-command-row").length).toBe(3);
    const area = textarea(own);
    area.dispatchEvent(new CompositionEvent("compositionstart", { bubbles: true }));
    press(area, "ArrowDown", { isComposing: true });
    press(area, "Enter", { isComposing: true });
    area.value = "/レ";
    area.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }));
    await own.settle();
    expect(sent(own, "send")).toEqual([]);
    expect(own.store.draft.value).toBe("/レ");
  });

  it("183-command-name-slash: a bare name is completed with one slash and sent as typed", async () => {
    const own = await open(new Scene().meta({ metadata: { availableCommands: updates("183-command-name-slash")[0]!["availableCommands"] } }));
    await type(own, "/rev");
    expect(one(own.root, ".acp-command-row").textContent).toContain("/review");
    press(textarea(own), "Enter");
    await own.settle();
    expect(own.store.draft.value).toBe("/review ");
    await type(own, "/review src/");
    press(textarea(own), "Enter");
    await own.settle();
    expect(sent(own, "send")).toMatchObject([{ text: "/review src/" }]);
  });

  it("walks the completion with arrows, takes one with Tab, and closes it with Escape", async () => {
    const own = await open(new Scene());
    await type(own, "/");
    press(textarea(own), "ArrowDown");
    await own.settle();
    expect(own.root.querySelector(".acp-command-row[aria-selected=true]")?.textContent).toContain("/test");
    press(textarea(own), "Tab");
    await own.settle();
    expect(own.store.draft.value).toBe("/test ");
    await type(own, "/i");
    press(textarea(own), "Escape");
    await own.settle();
    expect(all(own.root, ".acp-command-row")).toEqual([]);
    expect(own.store.draft.value).toBe("/i");
  });

  it("queues while a turn runs, offers Stop, and sends cancel once per press", async () => {
    const own = await open(new Scene().ask("x").say("y").running());
    await type(own, "next");
    press(textarea(own), "Enter");
    one(own.root, "[aria-label=Stop]").click();
    await own.settle();
    expect(sent(own, "send")).toMatchObject([{ text: "next", queue: true }]);
    expect(sent(own, "cancel")).toHaveLength(1);
  });

  it("gives the text back when the kernel refuses it", async () => {
    const own = await open(new Scene());
    own.model.refuse = "There is nothing to send.";
    await type(own, "hello");
    press(textarea(own), "Enter");
    await own.settle();
    await vi.waitFor(() => expect(own.store.draft.value).toBe("hello"));
    expect(one(own.root, ".acp-toast").textContent).toContain("There is nothing to send.");
  });

  it("recalls earlier questions with Up on an empty line and comes back with Down", async () => {
    const own = await open(new Scene().ask("first").say("1").ask("second").say("2"));
    press(textarea(own), "ArrowUp");
    press(textarea(own), "ArrowUp");
    await own.settle();
    expect(own.store.draft.value).toBe("first");
    press(textarea(own), "ArrowDown");
    press(textarea(own), "ArrowDown");
    await own.settle();
    expect(own.store.draft.value).toBe("");
  });

  it("keeps keys from the page around, and tells Lab's shortcuts to stay away", async () => {
    const own = await open(new Scene().ask("x").say("y"));
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);
    for (const target of [textarea(own), one(own.root, ".acp-scroller"), own.root]) for (const key of ["a", "d", "x", "Escape", "Enter", "ArrowUp"]) press(target, key);
    document.body.removeEventListener("keydown", outside);
    expect(outside).not.toHaveBeenCalled();
    expect(own.root.closest("[data-lm-suppress-shortcuts]")).not.toBeNull();
  });

  it("shows queued prompts as chips that can be edited, removed and sent now", async () => {
    const own = await open(new Scene().ask("x").say("y").running().meta({ queue: [{ id: "q", text: "later", whole: true }, { id: "long", text: "head", whole: false }] }));
    expect(all(own.root, ".acp-chip").length).toBe(2);
    expect(all(own.root, "[aria-label=Edit]").length).toBe(1);
    all(own.root, "[aria-label='Send now']")[0]!.click();
    all(own.root, "[aria-label=Remove]")[1]!.click();
    one(own.root, "[aria-label=Edit]").click();
    await own.settle();
    const area = one(own.root, ".acp-chip textarea") as HTMLTextAreaElement;
    area.value = "sooner";
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
    press(area, "Enter");
    await own.settle();
    expect(sent(own, "queue")).toMatchObject([{ action: "send-now", promptId: "q" }, { action: "remove", promptId: "long" }, { action: "edit", promptId: "q", text: "sooner" }]);
  });
});

describe("tool cards", () => {
  const running = { status: "in_progress", endedAt: null, outputParts: [{ kind: "markdown", text: "out" }] };
  const isOpen = (own: Shown): boolean => own.root.querySelector(".acp-tool-body") !== null;
  const finish = (id: string, status: string): object => ({ op: "set", id, fields: { status, endedAt: Date.now() / 1000 } });

  it.each(["completed", "failed", "cancelled"])("is open while it runs and folds one second after it is %s", async (status) => {
    const scene = new Scene().ask("x").tool("Run", "execute", running).running();
    const own = await open(scene);
    expect(isOpen(own)).toBe(true);
    own.model.ops([finish(lastItem(scene).id, status)]);
    await own.settle();
    expect(isOpen(own)).toBe(true);
    await vi.waitFor(() => expect(isOpen(own)).toBe(false), { timeout: 2500 });
  });

  it("obeys the hand that opened or closed it", async () => {
    const scene = new Scene().ask("x").tool("Run", "execute", running).running();
    const own = await open(scene);
    one(own.root, "button.acp-tool-head").click();
    await own.settle();
    expect(isOpen(own)).toBe(false);
    one(own.root, "button.acp-tool-head").click();
    own.model.ops([finish(lastItem(scene).id, "completed")]);
    await new Promise((resolve) => setTimeout(resolve, 1300));
    await own.settle();
    expect(isOpen(own)).toBe(true);
  });

  it("starts the delay anew when details come late", async () => {
    const scene = new Scene().ask("x").tool("Run", "execute", { ...running, outputParts: [] }).running();
    const { id } = lastItem(scene);
    const own = await open(scene);
    expect(all(own.root, "button.acp-tool-head")).toEqual([]); // no details, no toggle
    own.model.ops([finish(id, "completed")]);
    await new Promise((resolve) => setTimeout(resolve, 700));
    own.model.ops([{ op: "set", id, part: 0, fields: { kind: "markdown", text: "late" } }]);
    await new Promise((resolve) => setTimeout(resolve, 700));
    await own.settle();
    expect(isOpen(own)).toBe(true);
    await vi.waitFor(() => expect(isOpen(own)).toBe(false), { timeout: 2500 });
  });

  it("starts folded when it is history, and open as “no result” when it never ended", async () => {
    const scene = new Scene().ask("x").tool("Done", "read", { historical: true, outputParts: [{ kind: "markdown", text: "o" }] }).say("between").tool("Open", "read", { ...running, historical: true, noResult: true });
    const own = await open(scene);
    expect(all(own.root, ".acp-tool").map((card) => card.querySelector(".acp-tool-body") !== null)).toEqual([false, true]);
    expect(own.root.textContent).toContain("no result reported");
  });

  it("folds calls in a row into one line after the turn has settled, never while it runs", async () => {
    const scene = new Scene().ask("x").tool("One", "read", running).tool("Two", "read", running).say("text").tool("Three", "read", running).running();
    const own = await open(scene);
    expect(all(own.root, ".acp-run-head")).toEqual([]);
    const turn = { ...scene.view.turns[0], state: "idle", stopReason: "end_turn", endedAt: Date.now() / 1000 };
    own.model.ops([...scene.view.items.filter((item) => item.kind === "tool-call").map((item) => finish(item.id, "completed")), { op: "turns", from: 0, turns: [turn] }]);
    await own.settle();
    expect(all(own.root, ".acp-run-head")).toEqual([]);
    await vi.waitFor(() => expect(all(own.root, ".acp-run-head").map((head) => head.textContent)).toEqual(["2 tool calls"]), { timeout: 2500 });
    expect(all(own.root, ".acp-tool").map((card) => card.getAttribute("aria-label"))).toEqual(["Three"]);
    one(own.root, ".acp-run-head").click();
    await own.settle();
    expect(all(own.root, ".acp-tool").length).toBe(3);
  });

  it("172-sgr-in-tool-text: colour codes colour, and are not seen", async () => {
    const update = updates("172-sgr-in-tool-text")[0] as unknown as { content: { content: { text: string } }[] };
    const own = await open(new Scene().ask("hello").tool("Run step", "execute", { ...running, outputParts: [{ kind: "markdown", text: update.content[0]!.content.text }] }).running());
    const shownText = one(own.root, ".acp-lines pre");
    expect(shownText.textContent).toBe("error: x (bold) done");
    expect(shownText.querySelector(".acp-fg-ansi-red.acp-ansi-bold")?.textContent).toBe("error:");
  });

  it("174-escape-in-file-content: an escape in a file is shown as a sign, without style", async () => {
    const update = updates("174-escape-in-file-content")[0] as unknown as { content: { path: string; oldText: string; newText: string }[] };
    const { path, oldText, newText } = update.content[0]!;
    const own = await open(new Scene().ask("hello").tool("Read log.txt", "read", { ...running, outputParts: [{ kind: "diff", path, oldText, newText }, { kind: "markdown", text: "a\u001b[31mb" }] }).running());
    expect(one(own.root, ".acp-diff-body").textContent).toContain("a␛[31mb");
    expect(one(own.root, ".acp-lines pre").textContent).toBe("a␛[31mb");
    expect(all(own.root, "[class*=ansi]")).toEqual([]);
  });

  it("175-thirty-thousand-lines: shows the tail, gives the rest on demand, and copies the whole", async () => {
    const output = Array.from({ length: 30_000 }, (_, line) => `${line} `.padEnd(119, "x")).join("\n");
    const copied: string[] = [];
    Object.assign(navigator, { clipboard: { writeText: async (text: string) => void copied.push(text) } });
    const own = await open(new Scene().ask("hello").tool("Run step", "execute", { ...running, outputParts: [{ kind: "markdown", text: output }] }).running());
    const lines = (): string[] => one(own.root, ".acp-lines pre").textContent!.split("\n");
    expect(lines().length).toBe(2000);
    expect(lines().at(-1)).toBe(output.split("\n").at(-1));
    one(own.root, ".acp-lines > .acp-link-button").click();
    await own.settle();
    expect(lines().length).toBe(7000);
    one(own.root, "[aria-label='Copy all']").click();
    await own.settle();
    expect(copied).toEqual([output]);
  });

  it("shows a diff as rows with numbers and marked words, and side by side when asked", async () => {
    const own = await open(new Scene().ask("x").tool("Edit", "edit", { ...running, outputParts: [{ kind: "diff", path: "/w/a.py", oldText: "one\nsecond line\nthree\n", newText: "one\nsecond line more\nthree\n" }] }).running());
    expect(all(own.root, ".acp-diff tr").map((row) => [...row.children].map((cell) => cell.textContent).join("|"))).toEqual(["1|1| |one", "2||−|second line", "|2|+|second line more", "3|3| |three"]);
    expect(all(own.root, ".acp-diff-added mark").map((mark) => mark.textContent)).toEqual([" more"]);
    one(own.root, ".acp-diff-toggle").click();
    await own.settle();
    expect(all(own.root, ".acp-diff tr").map((row) => [...row.children].map((cell) => cell.textContent).join("|"))).toEqual(["1|one|1|one", "2|second line|2|second line more", "3|three|3|three"]);
  });

  it("shows input and output in tabs, the command on top, and values as a tree", async () => {
    const own = await open(new Scene().ask("x").tool("Run", "execute", { ...running, rawInput: { command: "ls -l", deep: { a: [1, null, "s"] } } }).running());
    expect(one(own.root, ".acp-command").textContent).toBe("$ ls -l");
    expect(all(own.root, "[role=tab]").map((tab) => tab.textContent)).toEqual(["Output", "Input"]);
    all(own.root, "[role=tab]")[1]!.click();
    await own.settle();
    expect(one(own.root, ".acp-json").textContent).toContain("command");
    all(own.root, ".acp-json-toggle").find((toggle) => toggle.textContent?.includes("a"))!.click();
    await own.settle();
    expect(own.root.querySelector(".acp-json-null")?.textContent).toBe("null");
  });

  it("loads what did not travel when asked", async () => {
    const deferred = { text: { sha256: "picture", size: 2_000_000, mimeType: "text/plain" } };
    const own = await open(new Scene().ask("x").tool("Run", "execute", { ...running, outputParts: [{ kind: "markdown", text: "head", deferred }] }).running());
    const load = all(own.root, ".acp-tool-body > .acp-link-button").find((button) => button.textContent?.includes("2 MB"))!;
    load.click();
    await vi.waitFor(() => expect(sent(own, "fetch-blob")).toHaveLength(1));
  });

  it("follows a growing output without a new card", async () => {
    const scene = new Scene().ask("x").tool("Run", "execute", running).running();
    const { id } = lastItem(scene);
    const own = await open(scene);
    const card = one(own.root, ".acp-tool");
    own.model.ops([{ op: "append", id, part: 0, text: "\nmore" }]);
    await vi.waitFor(() => expect(one(own.root, ".acp-lines pre").textContent).toBe("out\nmore"));
    expect(one(own.root, ".acp-tool")).toBe(card);
  });
});

describe("permissions", () => {
  const asking = (): Scene => new Scene().ask("x").tool("Write", "edit", { status: "pending", endedAt: null }).permit("Write it?").running();

  it("answers with the option that was pressed, once", async () => {
    const own = await open(asking());
    one(own.root, "[data-option=once]").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    await own.settle();
    one(own.root, "[data-option=once]").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    await own.settle();
    expect(sent(own, "answer")).toMatchObject([{ optionId: "once", remember: false }]);
  });

  it("answers with keys 1–9 and Escape from anywhere but a text field", async () => {
    const own = await open(asking());
    press(textarea(own), "2");
    press(one(own.root, ".acp-scroller"), "2", { ctrlKey: true });
    press(one(own.root, ".acp-scroller"), "7");
    expect(sent(own, "answer")).toEqual([]);
    press(one(own.root, ".acp-scroller"), "2");
    await own.settle();
    expect(sent(own, "answer")).toMatchObject([{ optionId: "always" }]);
    own.close();
    const other = await open(asking());
    press(one(other.root, ".acp-permission"), "Escape");
    await other.settle();
    expect(sent(other, "answer")).toMatchObject([{ optionId: "no" }]);
  });

  it("does not take an Enter that is held over from typing", async () => {
    const own = await open(asking());
    const button = one(own.root, "[data-option=once]");
    press(button, "Enter", { repeat: true });
    button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 0 }));
    expect(sent(own, "answer")).toEqual([]);
    press(button, "Enter");
    button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 0 }));
    await own.settle();
    expect(sent(own, "answer")).toHaveLength(1);
  });

  it("054-buttons-gone-after-stop: leaves one line with the decision, and no buttons", async () => {
    const scene = asking();
    const { id } = lastItem(scene);
    const own = await open(scene);
    own.model.ops([{ op: "set", id, fields: { status: "cancelled" } }]);
    await own.settle();
    expect(all(own.root, "[data-option]")).toEqual([]);
    expect(one(own.root, ".acp-answered").textContent).toContain("Not answered");
    own.model.ops([{ op: "set", id, fields: { status: "selected", selectedOptionId: "once", decidedBy: "user" } }]);
    await own.settle();
    expect(one(own.root, ".acp-answered").textContent).toContain("Allow onceby you");
  });

  it("070-restored-permission-inert: a request of the past has no buttons", async () => {
    const own = await open(new Scene().ask("x").permit("Old?", { historical: true }));
    expect(all(own.root, "[data-option]")).toEqual([]);
  });

  it("066-empty-options: a request without options can be dismissed", async () => {
    const own = await open(new Scene().ask("x").permit("Hm?", { options: [] }).running());
    all(own.root, ".acp-permission-options button")[0]!.click();
    await own.settle();
    expect(sent(own, "answer")).toMatchObject([{ optionId: null }]);
  });

  it("asks the kernel to remember when told so", async () => {
    const own = await open(asking());
    (one(own.root, ".acp-permission-foot input") as HTMLInputElement).click();
    await own.settle();
    press(one(own.root, ".acp-permission"), "1");
    await own.settle();
    expect(sent(own, "answer")).toMatchObject([{ optionId: "once", remember: true }]);
  });
});

describe("turns", () => {
  it.each([["max_tokens", "cut"], ["refusal", "refused"], ["max_turn_requests", "too many requests"], ["odd_reason", "odd_reason"]])("223-stop-reasons-visible: says why a turn ended with %s", async (stopReason, words) => {
    const own = await open(new Scene().ask("hello").say("cut off he").turn({ stopReason }));
    expect(one(own.root, ".acp-stop").textContent).toContain(words);
  });

  it("222-silent-end-turn: says that a turn gave no output", async () => {
    const own = await open(new Scene().ask("hello"));
    expect(own.root.textContent).toContain("without any output");
  });

  it("219-rate-limit-detail-shown: shows the reason behind an internal error, the raw data behind a toggle", async () => {
    const data = { details: "429 usage limit reached; resets in 3h 21min", errorKind: "rate_limit" };
    const own = await open(new Scene().ask("hello").say("I'll st").turn({ state: "failed", error: { message: "Internal error", code: -32603, data } }));
    expect(one(own.root, ".acp-error").textContent).toContain("usage limit reached; resets in 3h 21min");
    expect(own.root.textContent).not.toContain("errorKind");
    one(own.root, ".acp-error .acp-link-button").click();
    await own.settle();
    expect(own.root.textContent).toContain("errorKind");
    await type(own, "again");
    press(textarea(own), "Enter");
    expect(sent(own, "send")).toHaveLength(1);
  });

  it("copies the answer without thoughts and tool output", async () => {
    const copied: string[] = [];
    Object.assign(navigator, { clipboard: { writeText: async (text: string) => void copied.push(text) } });
    const own = await open(new Scene().ask("q").say("one").think("secret").tool("t", "read", { outputParts: [{ kind: "markdown", text: "out" }] }).say("two").say("three"));
    one(own.root, "[aria-label='Copy answer']").click();
    await own.settle();
    expect(copied).toEqual(["one\n\ntwothree"]);
  });

  it("shows duration and tokens of a settled turn, and nothing that is unknown", async () => {
    const own = await open(new Scene().ask("q").say("a").ask("q").say("b").turn({ startedAt: null, usage: { inputTokens: Number.NaN } }));
    expect(all(own.root, ".acp-footer").map((footer) => footer.textContent)).toEqual(["took 23 s12.4K tokens in, 830 out", ""]);
  });

  it.each([[{ used: 10, size: 0 }, "10"], [{ used: 0, size: 0, cost: null }, "0"]])("189-usage-zero-size: shows no share for %j", async (usage, words) => {
    const own = await open(new Scene().meta({ metadata: { usage } }));
    expect(one(own.root, ".acp-usage").textContent).toBe(words);
    expect(own.root.innerHTML).not.toMatch(/NaN|Infinity|%/);
  });

  it("040-hung-tool-shows-elapsed: the working line counts and names the tool", async () => {
    const own = await open(new Scene().ask("hello").tool("Sleep", "execute", { status: "in_progress", endedAt: null }).running());
    expect(one(own.root, ".acp-working").textContent).toMatch(/Running Sleep1\d s/);
  });

  it("177-rtl-prose-ltr-code: prose finds its own direction, code stays left to right", async () => {
    const text = updates("177-rtl-prose-ltr-code")[0]!.content!.text;
    const own = await open(new Scene().ask("مرحبا").say(text));
    expect(all(own.root, ".acp-markdown p").every((paragraph) => paragraph.dir === "auto")).toBe(true);
    expect(all(own.root, "pre, code:not(pre code)").every((code) => code.dir === "ltr")).toBe(true);
    expect(one(own.root, ".acp-bubble > div").dir).toBe("auto");
  });

  it("marks a prompt that was not sent", async () => {
    const own = await open(new Scene().ask("hello", [], { failed: true }).turn({ state: "failed", error: { message: "gone", code: null, data: null } }));
    expect(one(own.root, ".acp-not-sent").textContent).toBe("Not sent");
    expect(own.root.textContent).toContain("gone");
  });

  it("lifts attachments to the end of their group, dead ones disabled and alone", async () => {
    const part = (n: number, uri: string): object => ({ kind: "attachment", refId: `user:0/${n}`, uri, name: null, mimeType: null, size: 2000, source: null });
    const scene = new Scene().ask("see", [part(0, "file:///w/a%20b.txt"), part(1, "https://example.org/x"), part(2, "x:y")] as never).meta({ cwd: "/w", attachments: { "user:0/0": { state: "available" }, "user:0/2": { state: "unavailable", reason: "no_usable_uri" } } });
    const own = await open(scene);
    const cards = all(own.root, ".acp-attachment");
    expect(cards.map((card) => card.getAttribute("aria-disabled"))).toEqual(["false", "false", "true"]);
    expect(cards[0]!.textContent).toContain("a b.txt");
    expect(cards[1]!.querySelector("a")?.getAttribute("href")).toBe("https://example.org/x");
    expect(cards[2]!.textContent).toContain("no usable address");
  });

  it("shows an attachment that nobody has looked for with all that is known of it, to copy", async () => {
    const part = { kind: "attachment", refId: "user:0/0", uri: "file:///w/a.csv", name: "a", mimeType: "text/csv", size: 2000, source: null };
    const own = await open(new Scene().ask("see", [part] as never).meta({ cwd: "/w", attachments: { "user:0/0": { state: "pending" } } }));
    const card = one(own.root, ".acp-attachment");
    expect(card.getAttribute("aria-disabled")).toBe("false");
    expect([...card.querySelectorAll(":scope > span")].map((span) => span.textContent)).toEqual(["a", "a.csv", "text/csv", "2 KB"]);
    expect(card.querySelector("button")?.getAttribute("aria-label")).toBe("Copy path");
  });

  it("sets a notice's title off from what it says", async () => {
    const own = await open(new Scene().ask("hello").notice("Title\n\nwhat it says\n\nmore", "info", "agent"));
    const said = one(own.root, ".acp-notice > span");
    expect(said.querySelector("strong")?.textContent).toBe("Title");
    expect(said.textContent).toBe("Title\nwhat it says\n\nmore");
  });
});

describe("panel", () => {
  it("opens one menu at a time, closes it with Escape, and gives the focus back", async () => {
    const own = await open(new Scene());
    const [mode, model] = all(own.root, ".acp-picker");
    mode!.click();
    await own.settle();
    model!.click();
    await own.settle();
    expect(all(own.root, ".acp-popover").length).toBe(1);
    press(one(own.root, ".acp-popover"), "Escape");
    await own.settle();
    expect(all(own.root, ".acp-popover")).toEqual([]);
    expect(document.activeElement).toBe(model);
  });

  it("sets modes and options, and filters fifty entries", async () => {
    const own = await open(new Scene());
    all(own.root, ".acp-picker")[0]!.click();
    await own.settle();
    all(own.root, "[role=option]").find((option) => option.textContent?.startsWith("Plan"))!.click();
    await own.settle();
    all(own.root, ".acp-picker")[1]!.click();
    await own.settle();
    expect(all(own.root, "[role=option]").length).toBe(50);
    const filter = one(own.root, ".acp-menu-filter") as HTMLInputElement;
    filter.value = "l 42";
    filter.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await own.settle();
    press(filter, "Enter");
    await own.settle();
    one(own.root, "[role=switch]").click();
    await own.settle();
    expect(sent(own, "set-mode")).toMatchObject([{ modeId: "plan" }]);
    expect(sent(own, "set-option")).toMatchObject([{ optionId: "model", value: "m42" }, { optionId: "web", value: false }]);
  });

  it("leads to a question and does nothing when its anchor is gone", async () => {
    const scene = new Scene().ask("one").say("1").ask("two").say("2");
    scene.view.meta.questions = { entries: [...scene.view.meta.questions.entries, { itemId: "user:gone", number: 3, title: null, fallback: "attachment" }], hiddenCount: 7 };
    const own = await open(scene);
    one(own.root, "[aria-label=Questions]").click();
    await own.settle();
    expect(all(own.root, ".acp-questions button").map((entry) => entry.textContent)).toEqual(["1one", "2two", "3Question 3 (attachment)"]);
    expect(one(own.root, ".acp-popover").textContent).toContain("7 older ones");
    all(own.root, ".acp-questions button")[2]!.click();
    await own.settle();
    expect(all(own.root, ".acp-popover")).toEqual([]);
  });

  it("offers no directory for a single question", async () => {
    const own = await open(new Scene().ask("one").say("1"));
    expect(all(own.root, "[aria-label=Questions]")).toEqual([]);
  });

  it("shows the plan as a strip while it has something to do", async () => {
    const scene = new Scene().ask("x").plan(["a", "completed"], ["b", "in_progress"]).running();
    const own = await open(scene);
    expect(one(own.root, ".acp-plan-strip .acp-line").textContent).toBe("Plan1/2b");
    one(own.root, ".acp-plan-strip button").click();
    await own.settle();
    expect(all(own.root, ".acp-plan-strip li").length).toBe(2);
  });

  it("says what is wrong and offers what helps", async () => {
    const own = await open(new Scene().meta({ status: "exited", error: { title: "The agent has ended", message: "code 1", detail: "", stderrTail: "boom", actions: ["restart", "retry"] } }));
    const banner = one(own.root, ".acp-chat-error");
    expect(banner.getAttribute("role")).toBe("alert");
    all(banner, ".acp-link-button")[0]!.click();
    await own.settle();
    expect(banner.textContent).toContain("boom");
    for (const button of all(banner, ".acp-button")) button.click();
    one(banner, "[aria-label=Dismiss]").click();
    expect([...sent(own, "restart"), ...sent(own, "retry"), ...sent(own, "dismiss-error")]).toHaveLength(3);
  });

  it("answers a form with what was filled in, and not before it is complete", async () => {
    const schema = { type: "object", required: ["name"], properties: { name: { type: "string", title: "Name" }, n: { type: "integer", default: 2 }, yes: { type: "boolean" }, of: { type: "array", items: { enum: ["a", "b"] } }, env: { type: "string", oneOf: [{ const: "p", title: "Production" }] } } };
    const own = await open(new Scene().ask("x").running().meta({ elicitations: [{ id: "e", mode: "form", message: "Where?", schema, url: "" }] }));
    const form = one(own.root, "form") as HTMLFormElement;
    form.requestSubmit();
    expect(sent(own, "elicit")).toEqual([]);
    const name = form.querySelector<HTMLInputElement>("#e-name")!;
    name.value = "lab";
    name.dispatchEvent(new InputEvent("input", { bubbles: true }));
    form.querySelector<HTMLInputElement>("fieldset input")!.click();
    await own.settle();
    form.requestSubmit();
    await own.settle();
    expect(sent(own, "elicit")).toMatchObject([{ elicitationId: "e", action: "accept", content: { name: "lab", n: 2, yes: false, of: ["a"] } }]);
  });

  it("finds words in the conversation and steps through them", async () => {
    const own = await open(new Scene().ask("where is the needle").say("a needle here"));
    one(own.root, "[aria-label=Search]").click();
    await own.settle();
    const field = one(own.root, ".acp-search input") as HTMLInputElement;
    field.value = "needle";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await own.settle();
    expect(one(own.root, ".acp-search [role=status]").textContent).toBe("1 of 2");
    one(own.root, "[aria-label='Next match']").click();
    await own.settle();
    expect(one(own.root, ".acp-search [role=status]").textContent).toBe("2 of 2");
    press(field, "Escape");
    await own.settle();
    expect(all(own.root, ".acp-search")).toEqual([]);
  });

  it("tells screen readers one sentence when a turn ends", async () => {
    const scene = new Scene().ask("x").say("y").running();
    const own = await open(scene);
    own.model.ops([{ op: "turns", from: 0, turns: [{ ...scene.view.turns[0], state: "idle", stopReason: "end_turn" }] }]);
    await own.settle();
    expect(one(own.root, "[aria-live=polite]").textContent).toBe("OpenCode answered.");
  });

  it("207-kernel-restart-stale-view: says that the kernel is gone and takes no message", async () => {
    const own = await open(new Scene().ask("x").say("kept"));
    own.model.drop();
    await own.settle();
    expect(one(own.root, ".acp-banner").textContent).toContain("kernel is gone");
    expect(own.root.textContent).toContain("kept");
    const before = sent(own, "send").length;
    await type(own, "hello");
    press(textarea(own), "Enter");
    await own.settle();
    expect(sent(own, "send").length).toBe(before);
  });

  it("leaves nothing behind when it is closed", async () => {
    const own = await open(new Scene().ask("x").say("y"));
    const { root } = own;
    own.close();
    shown = null;
    expect(root.isConnected).toBe(false);
    expect((own.model as unknown as { listeners: Map<string, Set<unknown>> }).listeners.get("msg:custom")?.size ?? 0).toBe(0);
  });
});

describe("sessions", () => {
  const listing = (): Scene => new Scene().ask("x").say("y");
  async function drawer(scene = listing()): Promise<Shown> {
    const own = await open(scene);
    own.model.answers["sessions"] = SESSIONS;
    one(own.root, "[aria-label=Sessions]").click();
    await own.settle();
    await own.settle();
    return own;
  }
  const rows = (own: Shown): (string | null)[] => all(own.root, ".acp-session-open > .acp-one-line").map((row) => row.textContent);

  it("groups them by folder, the chat's own first, newest first, five and more on demand", async () => {
    const own = await drawer();
    expect(all(own.root, ".acp-folder > h3").map((title) => title.textContent)).toEqual(["weather", "gone · folder is missing", "maps"]);
    expect(rows(own).slice(0, 3)).toEqual(["Weather data clean-up", expect.stringContaining("A very long"), "Station 0"]);
    one(own.root, ".acp-folder > .acp-link-button").click();
    await own.settle();
    expect(rows(own).length).toBe(13);
    expect(rows(own)).toContain("Untitled");
  });

  it("finds one by words of its title or folder", async () => {
    const own = await drawer();
    const field = one(own.root, ".acp-drawer input") as HTMLInputElement;
    field.value = "STATION 4";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await own.settle();
    expect(rows(own)).toEqual(["Station 4"]);
  });

  it("loads, copies and begins one, and closes then", async () => {
    for (const [press_, expected] of [
      [(own: Shown) => all(own.root, ".acp-session-open")[2]!, { action: "load", key: "w0" }],
      [(own: Shown) => all(own.root, "[aria-label^=Fork]")[1]!, { action: "fork", key: "a" }],
      [(own: Shown) => all(own.root, ".acp-drawer .acp-button")[0]!, { action: "new" }],
    ] as const) {
      const own = await drawer();
      press_(own).click();
      await vi.waitFor(() => expect(all(own.root, ".acp-drawer")).toEqual([]));
      expect(sent(own, "open-session")).toMatchObject([expected]);
      own.close();
    }
    shown = null;
  });

  it("asks before it deletes, and keeps the row when that fails", async () => {
    const own = await drawer();
    all(own.root, "[aria-label^=Delete]")[2]!.click();
    await own.settle();
    expect(sent(own, "delete-session")).toEqual([]);
    own.model.refuse = "The agent said no.";
    one(own.root, ".acp-session-asking .acp-danger").click();
    await own.settle();
    await own.settle();
    expect(sent(own, "delete-session")).toMatchObject([{ key: "w0" }]);
    expect(rows(own)).toContain("Station 0");
    expect(one(own.root, ".acp-toast").textContent).toContain("The agent said no.");
  });

  it("marks a session that worked out of sight and is done", async () => {
    const own = await drawer();
    own.model.answers["sessions"] = { ...SESSIONS, sessions: SESSIONS.sessions.map((session) => ({ ...session, busy: false })) };
    one(own.root, "button[aria-label=Sessions]").click();
    await own.settle();
    one(own.root, "button[aria-label=Sessions]").click();
    await own.settle();
    await own.settle();
    expect(all(own.root, ".acp-drawer [aria-label=unread]").length).toBe(1);
  });

  it("is closed by Escape and offers nothing that the agent cannot do", async () => {
    const own = await drawer();
    press(one(own.root, ".acp-drawer input"), "Escape");
    await own.settle();
    expect(all(own.root, ".acp-drawer")).toEqual([]);
    own.close();
    const other = await open(listing().meta({ capabilities: {} }));
    expect(all(other.root, "[aria-label=Sessions]")).toEqual([]);
  });
});

describe("menu", () => {
  async function menu(scene = new Scene()): Promise<Shown> {
    const own = await open(scene);
    one(own.root, "[aria-label=Menu]").click();
    await own.settle();
    return own;
  }
  const choose = async (own: Shown, words: string): Promise<void> => {
    all(own.root, ".acp-menu-item").find((entry) => entry.textContent?.startsWith(words))!.click();
    await own.settle();
    await own.settle();
  };

  it("restarts, logs in, sets the policy and says what has to be done by hand", async () => {
    const own = await menu(new Scene().meta({ authMethods: [{ id: "key", name: "API key", description: "Set a variable" }], capabilities: { auth: { logout: {} } } }));
    own.model.answers["login"] = "Set KEY, then restart the agent.";
    await choose(own, "Log in: API key");
    expect(one(own.root, ".acp-toast").textContent).toContain("Set KEY");
    for (const words of ["Restart", "Log out", "deny all"]) {
      one(own.root, "[aria-label=Menu]").click();
      await own.settle();
      await choose(own, words);
    }
    expect(own.model.sent.map(({ kind }) => kind).filter((kind) => ["login", "restart", "logout", "set-policy"].includes(kind))).toEqual(["login", "restart", "logout", "set-policy"]);
  });

  it("saves the conversation under the name that the kernel gives", async () => {
    const own = await menu();
    own.model.answers["export"] = { name: "Chat.md", sha256: "picture", size: 4, mimeType: "text/markdown" };
    const click = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) { expect(this.download).toBe("Chat.md"); });
    await choose(own, "as Markdown");
    await vi.waitFor(() => expect(click).toHaveBeenCalled());
    expect(sent(own, "export")).toMatchObject([{ format: "markdown" }]);
  });

  it("shows what the agent can do, and the trace with a message opened", async () => {
    const own = await menu();
    await choose(own, "About");
    expect(one(own.root, ".acp-dialog").textContent).toContain("promptCapabilities.image✓");
    press(one(own.root, ".acp-dialog"), "Escape");
    await own.settle();
    own.model.answers["trace"] = TRACE;
    one(own.root, "[aria-label=Menu]").click();
    await own.settle();
    await choose(own, "Trace");
    expect(all(own.root, ".acp-trace").length).toBe(3);
    all(own.root, ".acp-trace button")[0]!.click();
    await own.settle();
    expect(one(own.root, ".acp-trace .acp-json").textContent).toContain("session/prompt");
  });

  it("walks its entries with the arrow keys", async () => {
    const own = await menu();
    const first = document.activeElement;
    press(first!, "ArrowDown");
    expect(document.activeElement).not.toBe(first);
    press(document.activeElement!, "ArrowUp");
    expect(document.activeElement).toBe(first);
    document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    await own.settle();
    expect(all(own.root, ".acp-popover")).toEqual([]);
  });
});

describe("signs", () => {
  it("marks the tab's title when a long turn ends or the agent asks while nobody looks", async () => {
    document.title = "notebook";
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    const scene = new Scene().ask("x").say("y").running();
    const own = await open(scene);
    own.model.ops([{ op: "turns", from: 0, turns: [{ ...scene.view.turns[0], state: "idle", endedAt: Date.now() / 1000 }] }]);
    await own.settle();
    expect(document.title).toBe("✓ Done notebook");
    hidden.mockReturnValue(false);
    document.dispatchEvent(new Event("visibilitychange"));
    expect(document.title).toBe("notebook");
    hidden.mockReturnValue(true);
    own.close();
    const other = await open(new Scene().ask("x").permit("Write?").running());
    expect(document.title).toBe("? Waiting notebook");
    other.close();
    shown = null;
    expect(document.title).toBe("notebook");
  });
});

describe("content of messages", () => {
  it("copies code, wraps it, and copies it instead of inserting where there is no notebook", async () => {
    const copied: string[] = [];
    Object.assign(navigator, { clipboard: { writeText: async (text: string) => void copied.push(text) } });
    const own = await open(new Scene().ask("q").say("```python\nx = 1\n```"));
    one(own.root, "[data-action=copy-code]").click();
    one(own.root, "[data-action=insert-code]").click();
    one(own.root, "[data-action=wrap-code]").click();
    await own.settle();
    expect(copied).toEqual(["x = 1", "x = 1"]);
    expect(one(own.root, "figure.acp-code").hasAttribute("data-local-wrap")).toBe(true);
  });

  it("inserts code below the chat's own cell in a Jupyter application", async () => {
    const own = await open(new Scene().ask("q").say("```python\nx = 1\n```"));
    const setSource = vi.fn();
    const notebook = { activeCellIndex: -1, activeCell: { model: { sharedModel: { setSource } } }, widgets: [{ node: document.createElement("div") }, { node: document.body }] };
    Object.assign(window, { jupyterapp: { commands: { hasCommand: () => true, execute: async () => undefined }, shell: { currentWidget: { content: notebook } } } });
    one(own.root, "[data-action=insert-code]").click();
    await own.settle();
    delete (window as unknown as Record<string, unknown>)["jupyterapp"];
    expect(notebook.activeCellIndex).toBe(1);
    expect(setSource).toHaveBeenCalledWith("x = 1");
  });

  it("shows a remote image only after a click, and nothing before", async () => {
    const own = await open(new Scene().ask("q").say("![pic](https://example.org/p.png)"));
    expect(all(own.root, "img")).toEqual([]);
    one(own.root, "[data-action=load-image]").click();
    await own.settle();
    expect(one(own.root, "img").getAttribute("src")).toBe("https://example.org/p.png");
  });

  it("enlarges an image and closes it with Escape", async () => {
    const blob = { sha256: "picture", size: 4, mimeType: "image/png" };
    const own = await open(new Scene().ask("q").say("see", [{ kind: "image", blob, source: null, mimeType: "image/png", alt: "plot" }]));
    await vi.waitFor(() => one(own.root, ".acp-picture-button"));
    one(own.root, ".acp-picture-button").click();
    await own.settle();
    press(one(own.root, ".acp-lightbox"), "Escape");
    await own.settle();
    expect(all(own.root, ".acp-lightbox")).toEqual([]);
  });

  it("opens a thought to what was thought", async () => {
    const own = await open(new Scene().ask("q").think("**deep** thought", 6).say("a"));
    expect(one(own.root, ".acp-thought-head").textContent).toBe("Thought for 6 sdeep thought");
    one(own.root, ".acp-thought-head").click();
    await own.settle();
    expect(one(own.root, ".acp-thought-body strong").textContent).toBe("deep");
  });
});

it("speaks German where the page does", async () => {
  const { setLanguage } = await import("../src/strings");
  setLanguage("de");
  try {
    const own = await open(new Scene().ask("x").say("y"));
    expect(own.root.textContent).toContain("dauerte 23 s");
  } finally {
    setLanguage("en");
  }
});

