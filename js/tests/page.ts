// The page's store as a process, for the Python tests: JSON lines in, what it shows out.
import { createInterface } from "node:readline";
import type { Op, Piece } from "../src/messages";
import { TimelineStore } from "../src/store";
import { Wire, type Model } from "../src/wire";

type Request =
  | { do: "snapshot"; pieces: Piece[] } | { do: "ops"; ops: Op[] } | { do: "shown" }
  | { do: "open" } | { do: "deliver"; content: unknown } | { do: "close" };

let store = new TimelineStore();

/** A page with its wire: what it sends is kept until somebody takes it. */
class OpenPage implements Model {
  readonly wire: Wire;
  readonly view: { close(): void };
  private sent: unknown[] = [];
  private readonly listeners = new Map<string, (...args: never[]) => void>();
  constructor() {
    this.wire = new Wire(this);
    this.view = this.wire.openView();
  }
  get(): unknown { return ""; }
  on(name: string, listener: (...args: never[]) => void): void { this.listeners.set(name, listener); }
  off(name: string): void { this.listeners.delete(name); }
  send(content: unknown): void { this.sent.push(content); }
  deliver(content: unknown): void { (this.listeners.get("msg:custom") as (content: unknown) => void)(content); }
  take(): unknown[] {
    const { sent } = this;
    this.sent = [];
    return sent;
  }
}
let page: OpenPage | undefined;

function shown(): unknown {
  const { meta, ...data } = { meta: store.meta, items: store.order().map((id) => store.item(id).peek()), groups: store.groups.value, turns: store.turns.value };
  return { ...data, meta: Object.fromEntries(Object.entries(meta).map(([key, cell]) => [key, cell.peek()])) };
}

function answer(request: Request): unknown {
  switch (request.do) {
    case "snapshot": {
      store = new TimelineStore();
      const [first, ...rest] = request.pieces;
      store.replace([first!]);
      for (const piece of rest) store.prepend(piece);
      return null;
    }
    case "ops": return store.apply(request.ops) ?? null;
    case "shown": return shown();
    case "open":
      page = new OpenPage();
      store = page.wire.data;
      return page.take();
    case "deliver":
      page!.deliver(request.content);
      return page!.take();
    case "close":
      page!.view.close();
      page!.wire.dispose();
      return null;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  let said: unknown;
  try {
    said = { result: answer(JSON.parse(line) as Request) };
  } catch (error) {
    said = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(said)}\n`);
});
