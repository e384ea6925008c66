// Views to look at, in the form in which the kernel sends them.
import type { BlobRef, Group, Item, Meta, Part, SessionList, TraceLine, Turn, View } from "../src/messages";

const START = Math.floor(Date.now() / 1000) - 120;

export const META: Meta = {
  status: "idle", phase: "", title: "Weather data clean-up", name: "", sessionKey: "s", readOnly: false, note: "", elicitations: [], cwd: "/home/ada/weather", agent: { name: "opencode", title: "OpenCode", version: "1.4.0" },
  capabilities: { loadSession: true, promptCapabilities: { image: true, embeddedContext: true }, sessionCapabilities: { list: {} } }, authMethods: [], error: null, queue: [], runningSince: null, draft: "", policy: "ask",
  metadata: {
    currentModeId: "build", availableModes: [{ id: "build", name: "Build", description: "Reads and changes files" }, { id: "plan", name: "Plan", description: "Reads only" }],
    configOptions: [
      { id: "model", name: "Model", category: "model", type: "select", currentValue: "m7", options: Array.from({ length: 50 }, (_, n) => ({ value: `m${n}`, name: `Model ${n}`, description: n % 3 ? undefined : "fast" })) },
      { id: "web", name: "Web", type: "boolean", currentValue: true },
    ],
    availableCommands: [{ name: "review", description: "Review the changes of this branch", input: { hint: "path" } }, { name: "/test", description: "Run the tests" }, { name: "init", description: "Describe the project" }],
    usage: { used: 48_200, size: 200_000, cost: { amount: 0.4213, currency: "USD" } },
  },
  streamingSegments: [], attachments: {}, questions: { entries: [], hiddenCount: 0 },
};

/** Writes a view turn by turn. */
export class Scene {
  readonly view: View = { items: [], groups: [], turns: [], meta: structuredClone(META) };
  private n = 0;
  private at = START;

  private group(kind: Group["kind"]): Group {
    const last = this.view.groups.at(-1);
    if (last?.kind === kind && last.turnIndex === this.view.turns.length - 1) return last;
    const group: Group = { id: `group:${this.view.groups.length}`, kind, itemIds: [], attachments: [], turnIndex: this.view.turns.length - 1 };
    this.view.groups.push(group);
    return group;
  }
  private add(item: Item, kind: Group["kind"] = "assistant-turn"): this {
    this.view.items.push(item);
    const group = this.group(kind);
    group.itemIds.push(item.id);
    const parts = item.kind === "tool-call" ? item.outputParts : "parts" in item ? item.parts : [];
    for (const part of parts) if (part.kind === "attachment") group.attachments.push(part.refId);
    return this;
  }
  ask(text: string, parts: Part[] = [], fields: object = {}): this {
    const id = `user:${this.view.turns.length}`;
    this.view.turns.push({
      index: this.view.turns.length, promptItemId: id, state: "idle", stopReason: "end_turn", stoppedByUser: false, error: null, startedAt: this.at, endedAt: this.at + 23,
      usage: { inputTokens: 12_400, outputTokens: 830, totalTokens: 13_230 }, agent: { name: "opencode", version: "1.4.0", model: null, mode: null },
    });
    this.view.meta.questions.entries.push({ itemId: id, number: this.view.turns.length, title: text.split("\n")[0]!.slice(0, 80) || null, fallback: text ? null : "untitled" });
    return this.add({ id, kind: "message-segment", role: "user", messageId: null, segmentIndex: 0, parts: [...(text ? [{ kind: "markdown", text } as const] : []), ...parts], ...fields }, "user");
  }
  say(text: string, parts: Part[] = []): this {
    return this.add({ id: `msg:assistant:m${this.n++}:0`, kind: "message-segment", role: "assistant", messageId: `m${this.n}`, segmentIndex: 0, parts: [{ kind: "markdown", text }, ...parts] });
  }
  think(text: string, seconds = 4): this {
    return this.add({ id: `thought:t${this.n++}:0`, kind: "thought", messageId: null, segmentIndex: 0, parts: [{ kind: "markdown", text }], startedAt: this.at, endedAt: this.at + seconds });
  }
  tool(title: string, toolKind: string, fields: object = {}): this {
    const id = `call-${this.n++}`;
    return this.add({
      id: `tool:${id}`, kind: "tool-call", toolCallId: id, title, name: null, toolKind, status: "completed", agentStatus: null, rawInput: null, rawOutput: null,
      outputParts: [], locations: [], error: null, startedAt: this.at, endedAt: this.at + 3, ...fields,
    });
  }
  permit(title: string, fields: object = {}): this {
    const call = this.view.items.findLast((item) => item.kind === "tool-call");
    return this.add({
      id: `perm:${this.n++}`, kind: "permission", requestId: this.n, toolCallId: call?.kind === "tool-call" ? call.toolCallId : null, title,
      options: [{ optionId: "once", name: "Allow once", kind: "allow_once" }, { optionId: "always", name: "Always allow", kind: "allow_always" }, { optionId: "no", name: "Reject", kind: "reject_once" }],
      status: "pending", selectedOptionId: null, decidedBy: null, rawInput: null, locations: [], parts: [], ...fields,
    });
  }
  plan(...entries: [string, string][]): this {
    return this.add({ id: `plan:current#${this.n++}`, kind: "plan", planId: "current", entries: entries.map(([content, status], n) => ({ content, status, priority: n === 0 ? "high" : "medium" })), markdown: null, uri: null });
  }
  notice(text: string, level = "info", source: string | null = null): this {
    return this.add({ id: `notice:${this.n++}`, kind: "notice", level, text, source });
  }
  turn(fields: Partial<Turn>): this {
    Object.assign(this.view.turns.at(-1)!, fields);
    return this;
  }
  meta(fields: Partial<Meta>): this {
    Object.assign(this.view.meta, fields);
    return this;
  }
  running(): this {
    const now = Date.now() / 1000;
    return this.turn({ state: "running", stopReason: null, startedAt: now - 17, endedAt: null, usage: null }).meta({ status: "running", runningSince: now - 17 });
  }
}

export const PICTURE: BlobRef = { sha256: "picture", size: 0, mimeType: "image/png" };

export const PROSE = `I looked at \`load.py\` and found **two problems**:

1. The dates are read as text, so sorting is alphabetic.
2. Missing temperatures are written as \`-999\`, which pulls every mean down.

> The station changed its sensor in 2019, see the [log](https://example.org/log) and the note[^1].

\`\`\`python
import pandas as pd

def load(path: str) -> pd.DataFrame:
    """Read one station's table."""
    frame = pd.read_csv(path, parse_dates=["date"], na_values=[-999])
    return frame.sort_values("date")  # oldest first
\`\`\`

| Station | Rows | Mean °C | Share |
|:--------|-----:|--------:|:-----:|
| Uppsala | 12,410 | 6.3 | 41 % |
| Lund    | 9,208  | 8.1 | 30 % |
| Kiruna  | 8,877  | −1.2 | 29 % |

- [x] parse the dates
- [x] treat \`-999\` as missing
- [ ] check the change of sensor

The trend is $\\hat\\beta = \\frac{\\sum_i (x_i - \\bar x)(y_i - \\bar y)}{\\sum_i (x_i - \\bar x)^2}$, which costs between $5 and $10 to compute. In full:

$$
y_t = \\alpha + \\beta t + \\varepsilon_t, \\qquad \\varepsilon_t \\sim \\mathcal{N}(0, \\sigma^2)
$$

![chart](https://example.org/chart.png) and <b>raw html</b> stays text.

[^1]: Kept by hand until 2021.
`;

const OLD = `import pandas as pd

def load(path):
    frame = pd.read_csv(path)
    frame = frame.sort_values("date")
    return frame

def mean(frame):
    return frame["temp"].mean()
`;
const NEW = `import pandas as pd

def load(path: str) -> pd.DataFrame:
    frame = pd.read_csv(path, parse_dates=["date"], na_values=[-999])
    frame = frame.sort_values("date")
    return frame

def mean(frame: pd.DataFrame) -> float:
    return frame["temp"].mean()

def trend(frame):
    return frame.set_index("date").temp.resample("YE").mean()
`;
export const TESTS = "\u001b[1m============ test session starts ============\u001b[0m\ncollected 14 items\n\ntests/test_load.py \u001b[32m........\u001b[0m\u001b[31mF\u001b[0m\u001b[32m.....\u001b[0m                   \u001b[32m[100%]\u001b[0m\n\n\u001b[31mFAILED\u001b[0m tests/test_load.py::\u001b[1mtest_mean\u001b[0m - assert 6.3 == 6.4\n 10%\r 50%\r100%\n\u001b[31m======= \u001b[1m1 failed\u001b[0m, \u001b[32m13 passed\u001b[0m\u001b[31m in 0.42s =======\u001b[0m\n";

const DIFF: Part = { kind: "diff", path: "/home/ada/weather/load.py", oldText: OLD, newText: NEW };
const text = (body: string): Part => ({ kind: "markdown", text: body });
const file = (refId: string, uri: string, name: string | null = null): Part => ({ kind: "attachment", refId, uri, name, mimeType: null, size: 18_233, source: null });

const SCENES: Record<string, () => Scene> = {
  empty: () => new Scene().meta({ title: "" }),
  prose: () => new Scene().ask("What is wrong with load.py?\nPlease fix it, and say what you did.").think("The user wants a review of **load.py**. I should read it first and then look at the data for odd values.").say(PROSE),
  tools: () =>
    new Scene().ask("Fix it and run the tests").think("I will edit the file, then run the tests.", 6)
      .plan(["Read load.py", "completed"], ["Change the loader", "completed"], ["Run the tests", "in_progress"], ["Write a note", "pending"])
      .say("I'll start with the loader.")
      .tool("Read load.py", "read", { locations: [{ path: "/home/ada/weather/load.py", line: 1 }], outputParts: [text(OLD)], rawInput: { path: "load.py" } })
      .tool("Edit load.py", "edit", { outputParts: [DIFF], locations: [{ path: "/home/ada/weather/load.py", line: 4 }], status: "in_progress", endedAt: null })
      .tool("pytest -q tests", "execute", { status: "in_progress", rawInput: { command: "pytest -q tests", timeout: 60 }, outputParts: [{ kind: "terminal", terminalId: "t", output: TESTS, exitStatus: { exitCode: 1, signal: null }, truncated: false }], startedAt: Date.now() / 1000 - 8, endedAt: null })
      .tool("Search the web for “sensor change 2019”", "fetch", { status: "failed", error: "HTTP 503 from the search service", rawInput: { query: "sensor change 2019", limit: 5, nested: { deep: [1, 2, { a: null }] } } })
      .tool("Describe", "think", { noResult: true, status: "in_progress", rawInput: { text: "x" } })
      .running(),
  settled: () =>
    new Scene().ask("Fix it and run the tests").say("I'll start with the loader.")
      .tool("Read load.py", "read", { outputParts: [text(OLD)] }).tool("Edit load.py", "edit", { outputParts: [DIFF] }).tool("pytest -q tests", "execute", { status: "failed", outputParts: [text(TESTS)], rawInput: { command: "pytest -q tests" } })
      .say("One test still fails because it expects the old mean.")
      .ask("Then change the test", [file("user:1/0", "file:///home/ada/weather/tests/test_load.py", "test_load.py"), file("user:1/1", "https://example.org/a/long/path/to/the/station/log.html")])
      .tool("Edit tests/test_load.py", "edit", { outputParts: [DIFF] }).permit("Edit tests/test_load.py", { status: "selected", selectedOptionId: "once", decidedBy: "user" })
      .say("Done. All 14 tests pass.").notice("The conversation was compacted.").turn({ stopReason: "max_tokens" })
      .ask("And now delete everything").say("I would rather").turn({ stopReason: "cancelled", stoppedByUser: true, usage: null })
      .meta({ attachments: { "user:1/0": { state: "available", displayPath: "/home/ada/weather/tests/test_load.py", size: 2210 } } }),
  permission: () =>
    new Scene().ask("Run the tests").say("I need to run them in your environment.")
      .tool("pytest -q tests && rm -rf build", "execute", { status: "pending", rawInput: { command: "pytest -q tests && rm -rf build" }, endedAt: null })
      .permit("Run pytest -q tests && rm -rf build", { rawInput: { command: "pytest -q tests && rm -rf build" } }).running(),
  edit: () =>
    new Scene().ask("Fix load.py").tool("Edit load.py", "edit", { status: "pending", endedAt: null, outputParts: [DIFF] }).permit("Edit load.py", { parts: [DIFF], locations: [{ path: "/home/ada/weather/load.py" }] }).running(),
  stream: () => {
    const scene = new Scene().ask("Explain").think("Thinking about it").say("Here is **what I fou").running();
    return scene.meta({ streamingSegments: [scene.view.items.at(-1)!.id], queue: [{ id: "q1", text: "And then plot it by station, please", whole: true }, { id: "q2", text: "Thanks", whole: true }], draft: "One more thing" });
  },
  errors: () =>
    new Scene().ask("First").say("An answer.").turn({ stopReason: "refusal" })
      .ask("Second").turn({ state: "failed", stopReason: null, error: { message: "Rate limit reached for requests", code: 429, data: { retryAfter: 12, limit: "60/min" } } })
      .ask("Third", [], { failed: true }).turn({ state: "failed", error: { message: "The agent has ended", code: null, data: null } })
      .ask("Fourth").say("").turn({ usage: null })
      .meta({ status: "exited", error: { title: "The agent has ended", message: "opencode exited with code 1 while it worked.", detail: "AgentExited: …", stderrTail: "Error: cannot find module 'x'\n    at main.js:1", actions: ["restart", "retry"] } }),
  picture: () =>
    new Scene().ask("Plot it", [{ kind: "image", blob: PICTURE, source: null, mimeType: "image/png", alt: "photo.png" }]).tool("plot", "other", { outputParts: [{ kind: "image", blob: PICTURE, source: null, mimeType: "image/png", alt: "plot" }] })
      .say("Here it is:", [{ kind: "image", blob: PICTURE, source: null, mimeType: "image/png", alt: "Mean by year" }]),
  attachments: () =>
    new Scene().ask("Compare these", [file("user:0/0", "file:///home/ada/weather/data/stations.csv", "stations.csv"), file("user:0/1", "file:///home/ada/vault/a-rather-long-name-for-a-file-of-readings-2019-to-2024.parquet"), file("user:0/2", "https://ada:hush@example.org/log.csv"), file("user:0/3", "https://example.org/a/long/path/to/the/station/log.html")])
      .say("Two of them cannot be had.")
      .meta({ attachments: { "user:0/0": { state: "available", displayPath: "/home/ada/weather/data/stations.csv", mimeType: "text/csv", size: 2210 }, "user:0/1": { state: "unavailable", reason: "encoded_traversal" } } }),
  form: () =>
    new Scene().ask("Deploy").tool("deploy", "execute", { status: "in_progress", endedAt: null }).running().meta({
      note: "The session came without its history.",
      elicitations: [
        { id: "e1", mode: "form", message: "Where should this go?", url: "", schema: { type: "object", required: ["name", "env"], properties: { name: { type: "string", title: "Name", description: "Letters and digits", pattern: "[a-z0-9]+" }, env: { type: "string", title: "Environment", enum: ["test", "prod"], enumNames: ["Test", "Production"] }, count: { type: "integer", title: "Copies", minimum: 1, maximum: 5, default: 2 }, fast: { type: "boolean", title: "Skip the tests" }, tags: { type: "array", title: "Tags", items: { type: "string", enum: ["a", "b"] } } } } },
        { id: "e2", mode: "url", message: "Please log in on this page.", url: "https://example.org/login?x=1", schema: {} },
      ],
    }),
  rtl: () => new Scene().ask("مرحبا").say("שלום, זה הקוד: `./run.sh -v`\n\nالناتج (٣):\n\n```py\nprint(1)\n```\n\nEnglish line."),
  lines: () =>
    new Scene().ask("hello").tool("Run step", "execute", { status: "in_progress", endedAt: null, outputParts: [text(Array.from({ length: 30_000 }, (_, line) => `${line} `.padEnd(119, "x")).join("\n"))] }).running(),
  thousands: () => {
    // 2,000 items as a long session has them: questions, prose with code, and folded tool calls.
    const body = "Lorem ipsum dolor sit amet, `code` and **bold**, consectetur adipiscing.\n\n- one\n- two\n\n```\nx = 1\n```\n";
    const scene = new Scene();
    for (let n = 0; n < 250; n += 1) {
      scene.ask(`Question ${n}`);
      for (let m = 0; m < 5; m += 1) scene.say(body);
      for (let m = 0; m < 2; m += 1) scene.tool(`Read file ${n}-${m}`, "read", { historical: true, outputParts: [text("output line\n".repeat(6))] });
    }
    return scene;
  },
  many: () => {
    const scene = new Scene();
    for (let n = 0; n < 200; n += 1) scene.ask(`Question ${n}`).say(`Answer ${n} with **bold** text.`).tool(`Read file-${n}.py`, "read", { outputParts: [text("one\ntwo")], historical: true }).tool(`Read other-${n}.py`, "read", { outputParts: [text("x")], historical: true }).say(PROSE.slice(0, 300));
    return scene;
  },
};

export const sceneNames = Object.keys(SCENES);
export const scene = (name: string): View => (SCENES[name] ?? SCENES["empty"]!)().view;

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

export const SESSIONS: SessionList = {
  can: { list: true, load: true, fork: true, delete: true },
  sessions: [
    { key: "s", cwd: "/home/ada/weather", title: "Weather data clean-up", updatedAt: hoursAgo(0), missing: false, busy: false },
    { key: "a", cwd: "/home/ada/weather", title: "A very long title that says in one breath what the whole conversation was about", updatedAt: hoursAgo(1.2), missing: false, busy: true },
    ...Array.from({ length: 9 }, (_, n) => ({ key: `w${n}`, cwd: "/home/ada/weather", title: n === 3 ? null : `Station ${n}`, updatedAt: hoursAgo(20 + n * 30), missing: false, busy: false })),
    { key: "b", cwd: "/home/ada/gone", title: "Old project", updatedAt: hoursAgo(4000), missing: true, busy: false },
    { key: "c", cwd: "/home/ada/maps", title: "Tiles", updatedAt: null, missing: false, busy: false },
  ],
};

export const TRACE: TraceLine[] = [
  { at: START, direction: "client->agent", kind: "session/prompt", size: 312, reason: "", message: { jsonrpc: "2.0", id: 3, method: "session/prompt", params: { prompt: [{ type: "text", text: "hello" }] } } },
  { at: START + 1, direction: "agent->client", kind: "session/update", size: 208, reason: "", message: { method: "session/update" } },
  { at: START + 2, direction: "agent->client", kind: "bad line", size: 12_400, reason: "not JSON", message: "oops" },
];
