import { effect } from "@preact/signals";
import { describe, expect, test } from "vitest";
import type { Group, Item, Meta, Op, Turn, View } from "../src/messages";
import { createLocal, Gap, partsOf, TimelineStore } from "../src/store";

const turn = (index: number, state: Turn["state"] = "idle"): Turn => ({
  index, promptItemId: null, state, stopReason: null, stoppedByUser: false, error: null, startedAt: null, endedAt: null,
  usage: null, agent: { name: null, version: null, model: null, mode: null },
});
const message = (id: string, text = ""): Item => ({
  kind: "message-segment", id, role: "assistant", messageId: null, segmentIndex: 0, parts: [{ kind: "markdown", text }],
});
const notice = (id: string): Item => ({ kind: "notice", id, level: "info", text: "", source: null });
const tool = (id: string, output: string): Item => ({
  kind: "tool-call", id, toolCallId: id, title: id, name: null, toolKind: "execute", status: "in_progress", agentStatus: null,
  rawInput: null, rawOutput: null, locations: [], error: null, startedAt: null, endedAt: null,
  outputParts: [{ kind: "terminal", terminalId: "t", output, exitStatus: null, truncated: false }, { kind: "error", message: "no" }],
});
const permission = (id: string, status: "pending" | "selected"): Item => ({
  kind: "permission", id, requestId: id, toolCallId: null, title: "", options: [], status, selectedOptionId: null,
  decidedBy: null, rawInput: null, locations: [], parts: [],
});
const group = (id: string, itemIds: string[], attachments: string[] = []): Group => ({
  id, kind: "assistant-turn", itemIds, attachments, turnIndex: 0,
});
const meta = (fields: Partial<Meta> = {}): Meta => ({
  status: "idle", phase: "", title: "", name: "", sessionKey: null, cwd: "/", readOnly: false,
  agent: { name: "", title: "", version: "" }, capabilities: {}, authMethods: [], error: null, note: "", elicitations: [], queue: [], runningSince: null,
  draft: "", policy: "ask", metadata: { title: "old", usage: 1 }, streamingSegments: [], attachments: {},
  questions: { entries: [], hiddenCount: 0 }, ...fields,
});

function shown(view: Partial<View>): TimelineStore {
  const store = new TimelineStore();
  store.replace([{ view: { items: [], groups: [], turns: [], meta: meta(), ...view }, ops: [] }]);
  return store;
}

describe("snapshots", () => {
  test("an older piece stands before a newer one and a group cut between them is whole again", () => {
    const store = shown({ items: [message("c"), message("d")], groups: [group("g1", ["c"], ["r2"]), group("g2", ["d"])] });
    store.prepend({ view: { items: [message("a"), message("b")], groups: [group("g0", ["a"]), group("g1", ["b"], ["r1"])] }, ops: [] });

    expect(store.order()).toEqual(["a", "b", "c", "d"]);
    expect(store.groups.value).toEqual([group("g0", ["a"]), group("g1", ["b", "c"], ["r1", "r2"]), group("g2", ["d"])]);
  });

  test("an older piece with whole groups leaves the newer ones as they are", () => {
    const store = shown({ items: [message("b")], groups: [group("g1", ["b"])] });
    store.prepend({ view: { items: [message("a")], groups: [group("g0", ["a"])] }, ops: [] });

    expect(store.groupIds.value).toEqual(["g0", "g1"]);
  });

  test("an item too long for a piece goes on with appends in the next", () => {
    const store = shown({ items: [message("a", "one ")] });
    store.prepend({ view: { items: [], groups: [] }, ops: [{ op: "append", id: "a", part: 0, text: "two" }] });

    expect(store.text("a", 0)).toBe("one two");
  });

  test("a new snapshot takes away what it does not hold and tells whoever still looks at it", () => {
    const store = shown({ items: [message("a"), message("b")], groups: [group("g", ["a"]), group("h", ["b"])], turns: [turn(0), turn(1)] });
    const seen: unknown[] = [];
    effect(() => { seen.push([store.item("b").value?.id, store.group("h").value?.id, store.turn(1).value?.index]); });
    store.replace([{ view: { items: [message("a")], groups: [group("g", ["a"])], turns: [turn(0)], meta: meta() }, ops: [] }]);

    expect(seen).toEqual([["b", "h", 1], [undefined, undefined, undefined]]);
    expect(store.order()).toEqual(["a"]);
    expect(store.turns.value).toHaveLength(1);
  });

  test("an item that is still to come is seen when it comes", () => {
    const store = shown({ groups: [group("g", ["a"])] });
    const seen: unknown[] = [];
    effect(() => { seen.push(store.item("a").value?.id); });
    store.prepend({ view: { items: [message("a")], groups: [] }, ops: [] });

    expect(seen).toEqual([undefined, "a"]);
  });
});

describe("appends", () => {
  test("added text reaches the listeners of its part and nobody else", () => {
    const store = shown({ items: [message("a", "x"), tool("t", "out")] });
    const heard: string[] = [];
    let renders = 0;
    effect(() => { renders += store.item("a").value ? 1 : 0; });
    const stop = store.onAppend("a", 0, (text) => heard.push(`first ${text}`));
    const stopOther = store.onAppend("a", 0, (text) => heard.push(`second ${text}`));
    store.apply([{ op: "append", id: "a", part: 0, text: "y" }, { op: "append", id: "t", part: 0, text: "put" }]);
    stop();
    store.apply([{ op: "append", id: "a", part: 0, text: "z" }]);
    stopOther();
    store.apply([{ op: "append", id: "a", part: 0, text: "!" }]);

    expect(heard).toEqual(["first y", "second y", "second z"]);
    expect(renders).toBe(1);
    expect([store.text("a", 0), store.text("t", 0)]).toEqual(["xyz!", "output"]);
  });

  test("a part without growing text has none", () => {
    const store = shown({ items: [tool("t", "out"), notice("n")] });

    expect([store.text("t", 1), store.text("t", 7), store.text("n", 0), store.text("none", 0)]).toEqual(["", "", "", ""]);
    expect(partsOf(notice("n"))).toEqual([]);
  });
});

describe("ops", () => {
  const cases: [string, Partial<View>, Op[], (store: TimelineStore) => unknown, unknown][] = [
    ["put at the end", { items: [message("a")] }, [{ op: "put", id: "b", item: message("b"), after: "a" }], (s) => s.order(), ["a", "b"]],
    ["put first of all", {}, [{ op: "put", id: "a", item: message("a"), after: null }], (s) => s.order(), ["a"]],
    ["put at the head", { items: [message("b")] }, [{ op: "put", id: "a", item: message("a"), after: null }], (s) => s.order(), ["a", "b"]],
    ["put between", { items: [message("a"), message("c")] }, [{ op: "put", id: "b", item: message("b"), after: "a" }], (s) => s.order(), ["a", "b", "c"]],
    ["put in place", { items: [message("a"), message("b")] }, [{ op: "put", id: "a", item: message("a", "new"), after: null }], (s) => [s.order(), s.text("a", 0)], [["a", "b"], "new"]],
    ["drop", { items: [message("a"), message("b")] }, [{ op: "drop", id: "a" }], (s) => [s.order(), s.item("a").value], [["b"], undefined]],
    ["set a field", { items: [tool("t", "")] }, [{ op: "set", id: "t", fields: { status: "completed" } }], (s) => s.item("t").value, { ...tool("t", ""), status: "completed" }],
    ["set a field of a part", { items: [tool("t", "")] }, [{ op: "set", id: "t", part: 0, fields: { truncated: true } }], (s) => partsOf(s.item("t").value!)[0], { ...partsOf(tool("t", ""))[0], truncated: true }],
    ["set a new part", { items: [message("a")] }, [{ op: "set", id: "a", part: 1, fields: { kind: "unsupported", type: "x" } }], (s) => partsOf(s.item("a").value!)[1], { kind: "unsupported", type: "x" }],
    ["groups from an index", { groups: [group("g", []), group("h", [])] }, [{ op: "groups", from: 1, groups: [group("i", ["a"])] }], (s) => [s.groupIds.value, s.group("h").value], [["g", "i"], undefined]],
    ["groups replaced in place", { groups: [group("g", [])] }, [{ op: "groups", from: 0, groups: [group("g", ["a"])] }], (s) => s.groups.value, [group("g", ["a"])]],
    ["items added to a group", { groups: [group("g", ["a"], ["r"])] }, [{ op: "group-add", id: "g", itemIds: ["b"], attachments: ["q"] }], (s) => s.group("g").value, group("g", ["a", "b"], ["r", "q"])],
    ["turns from an index", { turns: [turn(0), turn(1, "running")] }, [{ op: "turns", from: 1, turns: [turn(1), turn(2)] }], (s) => [s.turns.value, s.turn(2).value], [[turn(0), turn(1), turn(2)], turn(2)]],
    ["fewer turns", { turns: [turn(0), turn(1)] }, [{ op: "turns", from: 1, turns: [] }], (s) => [s.turns.value, s.turn(1).value], [[turn(0)], undefined]],
    ["meta fields", {}, [{ op: "meta", fields: { status: "running", draft: "d" } }], (s) => [s.meta.status.value, s.meta.draft.value, s.meta.cwd.value], ["running", "d", "/"]],
    ["meta fields of a newer kernel", {}, [{ op: "meta", fields: { later: 1 } as Partial<Meta> }], (s) => s.meta.status.value, "idle"],
    ["metadata keys", {}, [{ op: "metadata", fields: { title: null } }], (s) => s.meta.metadata.value, { title: null, usage: 1 }],
    ["attachment states", { meta: meta({ attachments: { a: { state: "pending" }, c: { state: "pending" } } }) }, [{ op: "attachments", states: { b: { state: "pending" }, c: null } }], (s) => Object.keys(s.meta.attachments.value), ["a", "b"]],
    ["questions", { meta: meta({ questions: { entries: [1, 2, 3].map((number) => ({ itemId: `${number}`, number, title: null, fallback: null })), hiddenCount: 0 } }) },
      [{ op: "questions", skip: 1, from: 1, entries: [{ itemId: "4", number: 4, title: "t", fallback: null }], hiddenCount: 1 }],
      (s) => [s.meta.questions.value.entries.map((entry) => entry.itemId), s.meta.questions.value.hiddenCount], [["2", "4"], 1]],
  ];
  test.each(cases)("%s", (_name, view, ops, read, expected) => {
    const store = shown(view);
    store.apply(ops);
    expect(read(store)).toEqual(expected);
  });

  const gaps: [string, Op][] = [
    ["append to no item", { op: "append", id: "x", part: 0, text: "t" }],
    ["append to no part", { op: "append", id: "a", part: 3, text: "t" }],
    ["append to a part without text", { op: "append", id: "t", part: 1, text: "t" }],
    ["put after no item", { op: "put", id: "z", item: message("z"), after: "x" }],
    ["set of no item", { op: "set", id: "x", fields: {} }],
    ["set past the last part", { op: "set", id: "a", part: 2, fields: {} }],
    ["group-add to no group", { op: "group-add", id: "x", itemIds: [], attachments: [] }],
    ["groups past the last", { op: "groups", from: 1, groups: [] }],
    ["turns past the last", { op: "turns", from: 1, turns: [] }],
    ["questions past the last", { op: "questions", skip: 0, from: 1, entries: [], hiddenCount: 0 }],
  ];
  test.each(gaps)("a gap is noticed: %s", (_name, op) => {
    const store = shown({ items: [message("a"), tool("t", "")] });
    expect(() => store.apply([op])).toThrow(Gap);
  });

  test("one change of a list of ops is seen at once", () => {
    const store = shown({});
    const seen: unknown[] = [];
    effect(() => { seen.push([store.meta.status.value, store.groupIds.value.length]); });
    store.apply([{ op: "meta", fields: { status: "running" } }, { op: "groups", from: 0, groups: [group("g", [])] }]);

    expect(seen).toEqual([["idle", 0], ["running", 1]]);
  });
});

test("open requests are those that nobody has answered", () => {
  const store = shown({ items: [permission("p", "pending"), permission("q", "selected"), message("a")] });
  expect(store.pendingPermissions()).toEqual(["p"]);
});

test("the state of a view is kept by name", () => {
  const local = createLocal();
  local.get("open", false).value = true;
  expect([local.get("open", false).value, local.get("other", 1).value, createLocal().get("open", false).value]).toEqual([true, 1, false]);
});
