import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { FromKernel, FromPage, Group, Item, Meta, View } from "../src/messages";
import { Refused } from "../src/store";
import { Wire, type Model } from "../src/wire";

const ADDRESS = { session: "s", generation: 1, epoch: "e" };
const META: Meta = {
  status: "idle", phase: "", title: "", name: "", sessionKey: "s", cwd: "/", readOnly: false,
  agent: { name: "", title: "", version: "" }, capabilities: {}, authMethods: [], error: null, note: "", elicitations: [], queue: [], runningSince: null,
  draft: "", policy: "ask", metadata: {}, streamingSegments: [], attachments: {}, questions: { entries: [], hiddenCount: 0 },
};
const message = (id: string, text: string): Item => ({
  kind: "message-segment", id, role: "assistant", messageId: null, segmentIndex: 0, parts: [{ kind: "markdown", text }],
});
const permission = (id: string, status: "pending" | "selected" = "pending"): Item => ({
  kind: "permission", id, requestId: id, toolCallId: null, title: "", options: [], status, selectedOptionId: null,
  decidedBy: null, rawInput: null, locations: [], parts: [],
});
const group = (id: string, itemIds: string[]): Group => ({ id, kind: "assistant-turn", itemIds, attachments: [], turnIndex: 0 });
const view = (items: Item[], meta: Partial<Meta> = {}): View => ({ items, groups: [group("g", items.map((item) => item.id))], turns: [], meta: { ...META, ...meta } });

/** The kernel's end of the comm: what it got, and how it answers. */
class Kernel implements Model {
  readonly traits: Record<string, unknown> = { height: "500px", theme: "", saved: "" };
  readonly got: FromPage[] = [];
  broken = false;
  private readonly listeners = new Map<string, Set<(...args: never[]) => void>>();

  get(name: string): unknown { return this.traits[name]; }
  on(name: string, listener: (...args: never[]) => void): void {
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name)!.add(listener);
  }
  off(name: string, listener: (...args: never[]) => void): void { this.listeners.get(name)?.delete(listener); }
  send(content: unknown): void {
    if (this.broken) throw new Error("comm is closed");
    this.got.push(structuredClone(content) as FromPage);
  }

  fire(name: string, ...args: unknown[]): void { for (const listener of this.listeners.get(name) ?? []) (listener as (...args: unknown[]) => void)(...args); }
  listenerCount(): number { return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0); }
  say(message: FromKernel, ...buffers: DataView[]): void { this.fire("msg:custom", message, ...(buffers.length > 0 ? [buffers] : [])); }
  kinds(): string[] { return this.got.map((message) => message.kind); }
  count(kind: string): number { return this.kinds().filter((one) => one === kind).length; }
  last(kind: string): FromPage { return this.got.filter((message) => message.kind === kind).at(-1)!; }
  snapshot(whole: View, fields: Partial<Extract<FromKernel, { kind: "snapshot" }>> = {}): void {
    this.say({ ...ADDRESS, kind: "snapshot", version: 5, for: this.last("resync").view, piece: 0, pieces: 1, view: whole, ops: [], ...fields });
  }
  append(version: number, text: string, address: Partial<typeof ADDRESS> = {}): void {
    this.say({ ...ADDRESS, ...address, kind: "ops", version, ops: [{ op: "append", id: "a", part: 0, text }] });
  }
  reply(kind: string, result: unknown = null): void { this.say({ ...ADDRESS, kind: "reply", id: this.last(kind).id!, ok: true, result }); }
}

let kernel: Kernel;
let wire: Wire;
beforeEach(() => {
  vi.useFakeTimers();
  kernel = new Kernel();
});
afterEach(() => {
  wire.dispose();
  vi.useRealTimers();
});
function live(whole: View = view([message("a", "x")])): Wire {
  wire = new Wire(kernel);
  kernel.snapshot(whole);
  return wire;
}
const text = (): string => wire.data.text("a", 0);

describe("snapshots and ops", () => {
  test("a page asks for a snapshot when it opens, and is live when it has come", () => {
    wire = new Wire(kernel);
    expect([wire.connection.value, kernel.kinds()]).toEqual(["connecting", ["resync"]]);
    kernel.snapshot(view([message("a", "x")]));
    expect([wire.connection.value, text()]).toEqual(["live", "x"]);
  });

  test("ops of the next version are applied and older ones are not applied again", () => {
    live();
    kernel.append(6, "y");
    kernel.append(6, "y");
    kernel.append(5, "y");
    kernel.append(7, "z");
    expect([text(), kernel.count("resync")]).toEqual(["xyz", 1]);
  });

  test("a missing version is noticed, asked for once, and filled by the snapshot", () => {
    live();
    kernel.append(7, "z");
    kernel.append(8, "!");
    expect([text(), kernel.count("resync")]).toEqual(["x", 2]);
    kernel.snapshot(view([message("a", "xyz!")]), { version: 8 });
    kernel.append(9, "?");
    expect(text()).toBe("xyz!?");
  });

  test("an op that does not fit asks for a snapshot", () => {
    live();
    kernel.say({ ...ADDRESS, kind: "ops", version: 6, ops: [{ op: "append", id: "none", part: 0, text: "" }] });
    expect(kernel.count("resync")).toBe(2);
  });

  test("a fault that is no gap is not hidden", () => {
    live();
    expect(() => kernel.say({ ...ADDRESS, kind: "ops", version: 6, ops: [null as never] })).toThrow(TypeError);
  });

  test("ops of another session, generation or host life ask for a snapshot", () => {
    live();
    kernel.append(6, "y", { session: "other" });
    kernel.snapshot(view([message("a", "x")]));
    kernel.append(6, "y", { generation: 2 });
    kernel.snapshot(view([message("a", "x")]));
    kernel.append(6, "y", { epoch: "f" });
    expect([text(), kernel.count("resync")]).toEqual(["x", 4]);
  });

  test("a snapshot for another page is not taken", () => {
    live();
    kernel.append(9, "gap");
    kernel.snapshot(view([message("a", "other")]), { for: "another page" });
    expect(text()).toBe("x");
  });

  test("a snapshot that was not asked for is taken only when it is for all", () => {
    live();
    kernel.snapshot(view([message("a", "stray")]));
    expect(text()).toBe("x");
    kernel.snapshot(view([message("a", "new session")], { sessionKey: "t" }), { for: "*", session: "t", generation: 2, version: 0 });
    expect([text(), wire.data.meta.sessionKey.value]).toEqual(["new session", "t"]);
    kernel.append(1, "!", { session: "t", generation: 2 });
    expect(text()).toBe("new session!");
  });

  test("a large snapshot is shown from its newest piece on", () => {
    wire = new Wire(kernel);
    const { store } = wire.openView();
    kernel.snapshot(view([message("a", "new ")]), { pieces: 2 });
    expect([text(), store.loading.value, store.connection.value]).toEqual(["new ", true, "connecting"]);
    kernel.snapshot({ items: [message("b", "old")], groups: [group("g", ["b"])] } as never, { piece: 1, pieces: 2, ops: [{ op: "append", id: "a", part: 0, text: "end" }] });
    expect([store.order(), text(), store.loading.value, store.connection.value]).toEqual([["b", "a"], "new end", false, "live"]);
  });

  test("while a gap is filled what is shown stays until the last piece", () => {
    live(view([message("b", "old"), message("a", "x")]));
    kernel.append(9, "gap");
    kernel.snapshot(view([message("a", "xy")]), { pieces: 2, version: 9 });
    expect([wire.data.order(), text()]).toEqual([["b", "a"], "x"]);
    kernel.snapshot({ items: [message("b", "old")], groups: [group("g", ["b"])] } as never, { piece: 1, pieces: 2, version: 9 });
    expect([wire.data.order(), text()]).toEqual([["b", "a"], "xy"]);
  });

  test("a lost piece asks for the whole snapshot again", () => {
    wire = new Wire(kernel);
    kernel.snapshot(view([message("a", "x")]), { pieces: 3 });
    kernel.snapshot(view([]), { piece: 2, pieces: 3 });
    expect(kernel.count("resync")).toBe(2);
    kernel.snapshot(view([message("a", "x")]), { pieces: 2 });
    kernel.append(6, "y");
    expect(kernel.count("resync")).toBe(3);
  });

  test("ops that come before the snapshot are left alone", () => {
    wire = new Wire(kernel);
    kernel.append(6, "y");
    expect(kernel.kinds()).toEqual(["resync"]);
  });
});

describe("the kernel's presence", () => {
  test("an unanswered resync is repeated, ever slower", () => {
    wire = new Wire(kernel);
    vi.advanceTimersByTime(5000);
    expect(kernel.count("resync")).toBe(2);
    vi.advanceTimersByTime(10_000 + 20_000 + 40_000 + 60_000 + 60_000);
    expect(kernel.count("resync")).toBe(7);
    kernel.snapshot(view([message("a", "x")]));
    vi.advanceTimersByTime(1_000_000);
    expect(kernel.count("resync")).toBe(7);
  });

  test("a comm that closes while the chat is live means that the kernel is gone, and the text stays", async () => {
    live();
    const { store } = wire.openView();
    const answer = store.request({ kind: "cancel" });
    kernel.fire("comm_live_update");
    expect([store.connection.value, text()]).toEqual(["kernel-gone", "x"]);
    await expect(answer).rejects.toThrow("The kernel is gone.");
    await expect(store.request({ kind: "cancel" })).rejects.toThrow("The kernel does not answer.");
  });

  test("a kernel that comes back is live again", () => {
    live();
    kernel.fire("comm_live_update");
    kernel.fire("comm_live_update");
    kernel.snapshot(view([message("a", "again")]), { epoch: "f" });
    expect([wire.connection.value, text()]).toEqual(["live", "again"]);
  });

  test("without an answer the saved copy is shown as restored", () => {
    kernel.traits.saved = JSON.stringify({ schema: 1, view: view([message("a", "saved")]) });
    kernel.broken = true;
    wire = new Wire(kernel);
    expect([text(), wire.connection.value]).toEqual(["saved", "connecting"]);
    vi.advanceTimersByTime(3000);
    expect(wire.connection.value).toBe("restored");
  });

  test("with an answer the saved copy gives way to the live view", () => {
    kernel.traits.saved = JSON.stringify({ schema: 1, view: view([message("a", "saved"), message("b", "")]) });
    live();
    vi.advanceTimersByTime(3000);
    expect([text(), wire.data.order(), wire.connection.value]).toEqual(["x", ["a"], "live"]);
  });

  test.each(["{", JSON.stringify({ schema: 2 })])("a saved copy that this version cannot read is left: %s", (saved) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    kernel.traits.saved = saved;
    wire = new Wire(kernel);
    expect(wire.data.order()).toEqual([]);
    expect(warn.mock.calls.length).toBe(saved === "{" ? 1 : 0);
    warn.mockRestore();
  });
});

describe("requests", () => {
  test("an answer comes to the request of its id", async () => {
    live();
    const { store } = wire.openView();
    const first = store.request({ kind: "send", text: "one" });
    const second = store.request({ kind: "send", text: "two" });
    const [one, two] = kernel.got.filter((message) => message.kind === "send");
    kernel.say({ ...ADDRESS, kind: "reply", id: two!.id!, ok: false, error: { message: "no", hint: "why" } });
    kernel.say({ ...ADDRESS, kind: "reply", id: one!.id!, ok: true, result: 7 });
    kernel.say({ ...ADDRESS, kind: "reply", id: "another page's", ok: true, result: 8 });
    expect(await first).toBe(7);
    await expect(second).rejects.toMatchObject({ name: "Refused", message: "no", hint: "why" });
  });

  test("a message names what the page shows", () => {
    live();
    wire.openView().store.send({ kind: "cancel" });
    expect(kernel.last("cancel")).toMatchObject({ kind: "cancel", ...ADDRESS, view: kernel.last("resync").view });
    kernel.reply("cancel");
  });

  test("a refused message without a listener is told to the console only", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    live();
    kernel.broken = true;
    wire.openView().store.send({ kind: "cancel" });
    await vi.waitFor(() => expect(warn).toHaveBeenCalledWith("[acp_notebook]", expect.any(Refused)));
    warn.mockRestore();
  });

  test("open requests are acknowledged once somebody can see them, and once each", () => {
    live(view([permission("p")]));
    expect(kernel.count("ack")).toBe(0);
    const opened = wire.openView();
    expect(kernel.last("ack")).toMatchObject({ requestIds: ["p"] });
    kernel.say({ ...ADDRESS, kind: "ops", version: 6, ops: [{ op: "put", id: "q", item: permission("q"), after: "p" }] });
    expect(kernel.last("ack")).toMatchObject({ requestIds: ["q"] });
    kernel.say({ ...ADDRESS, kind: "ops", version: 7, ops: [{ op: "put", id: "p", item: permission("p", "selected"), after: null }] });
    kernel.say({ ...ADDRESS, kind: "ops", version: 8, ops: [{ op: "meta", fields: { elicitations: [{ id: "e", mode: "form", message: "", schema: {}, url: "" }] } }] });
    expect(kernel.last("ack")).toMatchObject({ requestIds: ["e"] });
    opened.close();
    opened.close();
    kernel.say({ ...ADDRESS, kind: "ops", version: 9, ops: [{ op: "put", id: "r", item: permission("r"), after: "q" }] });
    expect(kernel.count("ack")).toBe(3);
  });

  test("a request in a saved copy is not acknowledged: no click can arrive", () => {
    kernel.traits.saved = JSON.stringify({ schema: 1, view: view([permission("p")]) });
    wire = new Wire(kernel);
    wire.openView();
    expect(kernel.count("ack")).toBe(0);
  });
});

describe("the draft", () => {
  test("typing is told to the kernel after a pause, once", () => {
    live();
    const { store } = wire.openView();
    store.setDraft("h");
    store.setDraft("hello");
    expect([store.draft.value, kernel.count("draft")]).toEqual(["hello", 0]);
    vi.advanceTimersByTime(300);
    expect([kernel.count("draft"), kernel.last("draft")]).toMatchObject([1, { text: "hello" }]);
  });

  test("what is sent goes as a prompt alone, and comes back when the kernel gives it back at once", async () => {
    live();
    const { store } = wire.openView();
    const hear = (version: number, draft: string): void => kernel.say({ ...ADDRESS, kind: "ops", version, ops: [{ op: "meta", fields: { draft } }] });
    store.setDraft("hello");
    vi.advanceTimersByTime(300);
    const sending = store.sendDraft(false);
    hear(6, "hello");
    kernel.reply("draft");
    await vi.advanceTimersByTimeAsync(0);
    hear(7, "");
    expect([store.draft.value, kernel.count("send"), kernel.last("send")]).toMatchObject(["", 1, { text: "hello" }]);
    kernel.reply("send");
    await sending;
    hear(8, "hello");
    await vi.runAllTimersAsync();
    expect([store.draft.value, kernel.count("draft")]).toEqual(["hello", 1]);
  });

  test("a page that goes tells what was typed last", () => {
    const listeners = new Map<string, () => void>();
    vi.stubGlobal("addEventListener", (name: string, listener: () => void) => listeners.set(name, listener));
    vi.stubGlobal("removeEventListener", (name: string) => listeners.delete(name));
    live();
    wire.openView().store.setDraft("hello");
    listeners.get("pagehide")!();
    listeners.get("pagehide")!();
    expect([kernel.count("draft"), kernel.last("draft")]).toMatchObject([1, { text: "hello" }]);
    wire.dispose();
    expect(listeners.size).toBe(0);
    vi.unstubAllGlobals();
  });

  test("another view's draft is taken over, but never while typing here", async () => {
    live(view([], { draft: "kept" }));
    const { store } = wire.openView();
    const hear = (version: number, draft: string): void => kernel.say({ ...ADDRESS, kind: "ops", version, ops: [{ op: "meta", fields: { draft } }] });
    expect(store.draft.value).toBe("kept");
    hear(6, "theirs");
    expect(store.draft.value).toBe("theirs");
    store.setDraft("mine");
    hear(7, "late");
    vi.advanceTimersByTime(300);
    hear(8, "later");
    expect(store.draft.value).toBe("mine");
    kernel.reply("draft");
    await vi.runAllTimersAsync();
    hear(9, "mine");
    hear(10, "theirs again");
    expect(store.draft.value).toBe("theirs again");
    store.setDraft("own");
    vi.advanceTimersByTime(300);
    kernel.reply("draft");
    await vi.runAllTimersAsync();
    kernel.say({ ...ADDRESS, kind: "ops", version: 11, ops: [] });
    expect(store.draft.value).toBe("own");
  });
});

describe("bytes", () => {
  const bytes = (...numbers: number[]): DataView => new DataView(new Uint8Array(numbers).buffer);
  const ref = { sha256: "f00", size: 4, mimeType: "image/png" };
  const blob = { ...ADDRESS, kind: "blob" as const, sha256: "f00", mimeType: "image/png", size: 4 };

  test("a blob is asked for once and given as one URL, whatever the pieces it comes in", async () => {
    live();
    const { store } = wire.openView();
    const [first, second] = [store.blobUrl(ref), store.blobUrl(ref)];
    kernel.say({ ...blob, offset: 0 }, bytes(1, 2));
    kernel.say({ ...blob, offset: 3 }, bytes(9));
    kernel.say({ ...blob, offset: 2 });
    kernel.say({ ...blob, offset: 2 }, bytes(3, 4));
    kernel.reply("fetch-blob");
    expect(await first).toBe(await second);
    expect(kernel.count("fetch-blob")).toBe(1);
    const got = await (await fetch(await first)).arrayBuffer();
    expect([...new Uint8Array(got)]).toEqual([1, 2, 3, 4]);
  });

  test("a deferred field comes as text, without asking when another page has asked", async () => {
    live();
    kernel.say({ ...blob, offset: 0 }, bytes(0x74, 0x65, 0x78, 0x74));
    expect(await wire.openView().store.deferred(ref)).toBe("text");
    expect(kernel.count("fetch-blob")).toBe(0);
  });

  test("a refused blob can be asked for again", async () => {
    live();
    const { store } = wire.openView();
    const first = store.blobUrl(ref);
    kernel.say({ ...ADDRESS, kind: "reply", id: kernel.last("fetch-blob").id!, ok: false, error: { message: "no such bytes", hint: null } });
    await expect(first).rejects.toThrow("no such bytes");
    const second = store.deferred(ref);
    kernel.say({ ...blob, offset: 0 }, bytes(0x6f, 0x6b, 0x21, 0x21));
    kernel.reply("fetch-blob");
    expect(await second).toBe("ok!!");
    expect(kernel.count("fetch-blob")).toBe(2);
  });
});

test("a module is imported from the bytes that the kernel sends", async () => {
  const imported: string[] = [];
  wire = new Wire(kernel, (url) => fetch(url).then((response) => response.text()).then((code) => { imported.push(code); return { code }; }));
  kernel.snapshot(view([]));
  const found = wire.openView().store.loadModule("maths");
  kernel.say({ ...ADDRESS, kind: "blob", sha256: "c0de", mimeType: "text/javascript", size: 2, offset: 0 }, new DataView(new Uint8Array([0x6f, 0x6b]).buffer));
  kernel.reply("fetch-module", { sha256: "c0de", size: 2, mimeType: "text/javascript" });
  expect([await found, imported]).toEqual([{ code: "ok" }, ["ok"]]);
});

test("traits of the widget are signals", () => {
  live();
  const { store } = wire.openView();
  kernel.traits.height = "300px";
  kernel.traits.theme = undefined;
  kernel.fire("change:height");
  kernel.fire("change:theme");
  expect([store.height.value, store.theme.value]).toEqual(["300px", ""]);
});

test("views of one page share the chat and keep what is theirs", () => {
  live();
  const [one, two] = [wire.openView().store, wire.openView().store];
  one.local.get("open", false).value = true;
  expect(two.local.get("open", false).value).toBe(false);
  const heard: string[] = [];
  one.onAppend("a", 0, (added) => heard.push(added));
  kernel.append(6, "y");
  expect([heard, two.text("a", 0), two.item("a").value?.id, two.group("g").value?.id, two.turn(0).value]).toEqual([["y"], "xy", "a", "g", undefined]);
});

test("a closed page leaves no listener, no timer and no open request", async () => {
  live();
  const { store } = wire.openView();
  const url = store.blobUrl({ sha256: "f", size: 1, mimeType: "" });
  kernel.say({ ...ADDRESS, kind: "blob", sha256: "f", mimeType: "", size: 1, offset: 0 }, new DataView(new ArrayBuffer(1)));
  kernel.reply("fetch-blob");
  await url;
  store.setDraft("x");
  const open = store.request({ kind: "cancel" });
  wire.dispose();
  await expect(open).rejects.toThrow("The chat was closed.");
  expect([kernel.listenerCount(), vi.getTimerCount()]).toEqual([0, 0]);
  await expect(fetch(await url)).rejects.toThrow();
});
