// The page's store as a process, for the Python tests: JSON lines in, what it shows out.
import { createInterface } from "node:readline";
import type { Op, Piece } from "../src/messages";
import { TimelineStore } from "../src/store";

type Request = { do: "snapshot"; pieces: Piece[] } | { do: "ops"; ops: Op[] } | { do: "shown" };

let store = new TimelineStore();

function shown(): unknown {
  const meta = Object.fromEntries(Object.entries(store.meta).map(([key, cell]) => [key, cell.peek()]));
  return { items: store.order().map((id) => store.item(id).peek()), groups: store.groups.value, turns: store.turns.value, meta };
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
