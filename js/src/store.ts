// What a page shows of one chat, as signals that components read. The store is fed by snapshots and ops from
// the kernel (wire.ts brings them) and makes nothing up: meaning is Python's, presentation the components'.
//
// Growing text. An append changes the text of a part in place and tells the listeners of that part, not the
// item's signal: so whoever shows a markdown part's `text` or a terminal part's `output` subscribes with
// `onAppend` and reads the start from `text()`. Every other change replaces the item by a new object.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Append, BlobRef, FromPageBody, Group, Item, Meta, Op, Part, Piece, Turn } from "./messages";

/** live: answers come; connecting: not yet; restored: a saved copy without a kernel; kernel-gone: it was live. */
export type Connection = "connecting" | "live" | "restored" | "kernel-gone";

type MetaSignals = { readonly [K in keyof Meta]: ReadonlySignal<Meta[K]> };

/** State of one view that lives in the page only: open cards, selected tabs, menus. */
export interface Local {
  /** The signal of that name, made with `initial` when first asked for. */
  get<T>(key: string, initial: T): Signal<T>;
}

/** What a component gets: one a view; all but `local` is shared by the views of one page. */
export interface Store {
  readonly groupIds: ReadonlySignal<readonly string[]>;
  readonly groups: ReadonlySignal<readonly Group[]>;
  group(id: string): ReadonlySignal<Group | undefined>;
  /** undefined: not there (yet: a large snapshot comes in pieces, newest first). */
  item(id: string): ReadonlySignal<Item | undefined>;
  /** Ids of all items in timeline order; not reactive. */
  order(): readonly string[];
  /** The whole text of a markdown or terminal part now; "" when there is none. */
  text(id: string, part: number): string;
  /** Calls back with each text added to that part, until the returned function is called. */
  onAppend(id: string, part: number, listener: (text: string) => void): () => void;
  readonly turns: ReadonlySignal<readonly Turn[]>;
  turn(index: number): ReadonlySignal<Turn | undefined>;
  readonly meta: MetaSignals;
  /** Pieces of the snapshot are still to come. */
  readonly loading: ReadonlySignal<boolean>;
  readonly connection: ReadonlySignal<Connection>;
  /** Synced traits of the widget. */
  readonly height: ReadonlySignal<string>;
  readonly theme: ReadonlySignal<string>;
  /** The composer's text, kept in the kernel: survives a reload, follows in other views. */
  readonly draft: ReadonlySignal<string>;
  setDraft(text: string): void;
  /** Sends the draft as a prompt and empties it, here and in the kernel; rejects, and it is back, when that fails. */
  sendDraft(queue: boolean): Promise<void>;
  /** Sends without waiting for an answer; a refusal is in the console. */
  send(message: FromPageBody): void;
  /** Sends and resolves with the answer's result, or rejects with a `Refused`. */
  request(message: FromPageBody): Promise<unknown>;
  /** An object URL of the bytes; each blob crosses the wire once a page. */
  blobUrl(ref: BlobRef): Promise<string>;
  /** Code that is not in the bundle: its exports. */
  loadModule(name: "maths" | "languages"): Promise<unknown>;
  /** The whole of a deferred field: text as it is, JSON as text. */
  deferred(ref: BlobRef): Promise<string>;
  readonly local: Local;
}

/** The kernel's refusal of a request, or the reason why it could not be asked. */
export class Refused extends Error {
  constructor(message: string, readonly hint: string | null = null) {
    super(message);
    this.name = "Refused";
  }
}

/** An op that does not fit the view: ops were lost, a snapshot is needed. */
export class Gap extends Error {}

const EMPTY: Meta = {
  status: "starting", phase: "", title: "", name: "", sessionKey: null, cwd: "", readOnly: false,
  agent: { name: "", title: "", version: "" },
  capabilities: {}, authMethods: [], error: null, note: "", elicitations: [], queue: [], runningSince: null, draft: "", policy: "ask", metadata: {},
  streamingSegments: [], attachments: {}, questions: { entries: [], hiddenCount: 0 },
};

type Listener = (text: string) => void;

/** The item's list of parts: what it says, or a tool's output. */
export function partsOf(item: Item): Part[] {
  if (item.kind === "tool-call") return item.outputParts;
  return "parts" in item ? item.parts : [];
}

function withParts(item: Item, parts: Part[]): Item {
  return (item.kind === "tool-call" ? { ...item, outputParts: parts } : { ...item, parts }) as Item;
}

function growingText(part: Part | undefined): string | undefined {
  if (part?.kind === "markdown") return part.text;
  return part?.kind === "terminal" ? part.output : undefined;
}

class Cells<T> {
  private readonly cells = new Map<string, Signal<T | undefined>>();
  get(id: string): Signal<T | undefined> {
    let cell = this.cells.get(id);
    if (!cell) this.cells.set(id, (cell = signal<T | undefined>(undefined)));
    return cell;
  }
  peek(id: string): T | undefined {
    return this.cells.get(id)?.peek();
  }
  set(id: string, value: T | undefined): void {
    this.get(id).value = value;
  }
  /** Empties all cells but those; cells stay, so that whoever holds one sees a return. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const [id, cell] of this.cells) if (!ids.has(id)) cell.value = undefined;
  }
}

/** The view of one chat: pieces and ops in, signals out. */
export class TimelineStore {
  readonly groupIds = signal<readonly string[]>([]);
  readonly turns = signal<readonly Turn[]>([]);
  readonly meta: { [K in keyof Meta]: Signal<Meta[K]> };
  readonly groups: ReadonlySignal<readonly Group[]> = computed(() =>
    this.groupIds.value.map((id) => this.groupCells.get(id).value).filter((group) => group !== undefined));
  private readonly items = new Cells<Item>();
  private readonly groupCells = new Cells<Group>();
  private readonly turnCells = new Cells<Turn>();
  private ids: string[] = [];
  private readonly listeners = new Map<string, Set<Listener>>();

  constructor() {
    const meta = Object.fromEntries(Object.entries(EMPTY).map(([key, value]) => [key, signal<unknown>(value)]));
    this.meta = meta as { [K in keyof Meta]: Signal<Meta[K]> };
  }

  item(id: string): ReadonlySignal<Item | undefined> {
    return this.items.get(id);
  }
  group(id: string): ReadonlySignal<Group | undefined> {
    return this.groupCells.get(id);
  }
  turn(index: number): ReadonlySignal<Turn | undefined> {
    return this.turnCells.get(String(index));
  }
  order(): readonly string[] {
    return this.ids;
  }
  text(id: string, part: number): string {
    const item = this.items.peek(id);
    return (item && growingText(partsOf(item)[part])) ?? "";
  }
  onAppend(id: string, part: number, listener: Listener): () => void {
    const key = `${part}/${id}`;
    let set = this.listeners.get(key);
    if (!set) this.listeners.set(key, (set = new Set()));
    set.add(listener);
    return () => {
      set.delete(listener);
      if (set.size === 0) this.listeners.delete(key);
    };
  }
  /** Items that wait for an answer of the user. */
  pendingPermissions(): (string | number)[] {
    const items = this.ids.map((id) => this.items.peek(id));
    return items.flatMap((item) => (item?.kind === "permission" && item.status === "pending" ? [item.requestId] : []));
  }

  /** Shows those pieces and nothing else; `pieces` as they came, newest first. */
  replace(pieces: readonly Piece[]): void {
    batch(() => {
      this.ids = [];
      this.groupIds.value = [];
      this.setTurns(0, []);
      for (const piece of pieces) this.prepend(piece);
      this.items.keepOnly(new Set(this.ids));
      this.groupCells.keepOnly(new Set(this.groupIds.peek()));
    });
  }

  /** Adds an older piece before what is shown. */
  prepend({ view, ops }: Piece): void {
    batch(() => {
      if (view.meta) for (const key of Object.keys(EMPTY) as (keyof Meta)[]) this.setMeta(key, view.meta[key]);
      for (const turn of view.turns ?? []) this.turnCells.set(String(turn.index), turn);
      if (view.turns) this.turns.value = [...view.turns, ...this.turns.peek()];
      for (const item of view.items) this.items.set(item.id, item);
      this.ids = [...view.items.map((item) => item.id), ...this.ids];
      const shown = this.groupIds.peek();
      const first = shown[0];
      const ids = view.groups.map((group) => group.id);
      for (const group of view.groups) {
        const rest = group.id === first ? this.groupCells.peek(group.id) : undefined;
        this.groupCells.set(group.id, rest ? {
          ...rest, itemIds: [...group.itemIds, ...rest.itemIds], attachments: [...group.attachments, ...rest.attachments],
        } : group);
      }
      if (first !== undefined && ids.at(-1) === first) ids.pop();
      this.groupIds.value = [...ids, ...shown];
      this.apply(ops);
    });
  }

  /** Turns the view of one version into the next. Throws `Gap` when an op does not fit. */
  apply(ops: readonly Op[]): void {
    batch(() => {
      for (const op of ops) this.applyOne(op);
    });
  }

  private applyOne(op: Op): void {
    switch (op.op) {
      case "append": return this.append(op);
      case "put": return this.put(op.id, op.item, op.after);
      case "set": return this.set(op.id, op.part, op.fields);
      case "drop":
        this.ids = this.ids.filter((id) => id !== op.id);
        return this.items.set(op.id, undefined);
      case "groups": return this.setGroups(op.from, op.groups);
      case "group-add": {
        const group = this.groupCells.peek(op.id);
        if (!group) throw new Gap(`no group ${op.id}`);
        return this.groupCells.set(op.id, {
          ...group, itemIds: [...group.itemIds, ...op.itemIds], attachments: [...group.attachments, ...op.attachments],
        });
      }
      case "turns": return this.setTurns(op.from, op.turns);
      case "meta":
        for (const key of Object.keys(op.fields) as (keyof Meta)[]) this.setMeta(key, op.fields[key]);
        return;
      case "metadata": return this.setMeta("metadata", { ...this.meta.metadata.peek(), ...op.fields });
      case "attachments": {
        const states = { ...this.meta.attachments.peek() };
        for (const [ref, state] of Object.entries(op.states)) {
          if (state === null) delete states[ref];
          else states[ref] = state;
        }
        return this.setMeta("attachments", states);
      }
      case "questions": {
        const kept = this.meta.questions.peek().entries.slice(op.skip).slice(0, op.from);
        if (kept.length !== op.from) throw new Gap("questions are missing");
        return this.setMeta("questions", { entries: [...kept, ...op.entries], hiddenCount: op.hiddenCount });
      }
    }
  }

  private setMeta(key: keyof Meta, value: unknown): void {
    const cell = this.meta[key] as Signal<unknown> | undefined; // a newer kernel may know more
    if (cell) cell.value = value;
  }

  private setTurns(from: number, turns: readonly Turn[]): void {
    const shown = this.turns.peek();
    if (from > shown.length) throw new Gap("turns are missing");
    const next = [...shown.slice(0, from), ...turns];
    for (let index = from; index < Math.max(next.length, shown.length); index++) this.turnCells.set(String(index), next[index]);
    this.turns.value = next;
  }

  private setGroups(from: number, groups: readonly Group[]): void {
    const shown = this.groupIds.peek();
    if (from > shown.length) throw new Gap("groups are missing");
    const ids = [...shown.slice(0, from), ...groups.map((group) => group.id)];
    const stay = new Set(ids);
    for (const id of shown.slice(from)) if (!stay.has(id)) this.groupCells.set(id, undefined);
    for (const group of groups) this.groupCells.set(group.id, group);
    this.groupIds.value = ids;
  }

  private put(id: string, item: Item, after: string | null): void {
    if (this.items.peek(id) === undefined) {
      const at = after === this.ids.at(-1) ? this.ids.length : after === null ? 0 : this.ids.indexOf(after) + 1;
      if (at === 0 && after !== null) throw new Gap(`no item ${after}`);
      if (at === this.ids.length) this.ids.push(id);
      else this.ids.splice(at, 0, id);
    }
    this.items.set(id, item);
  }

  private set(id: string, part: number | undefined, fields: Record<string, unknown>): void {
    const item = this.items.peek(id);
    if (!item) throw new Gap(`no item ${id}`);
    if (part === undefined) return this.items.set(id, { ...item, ...fields } as Item);
    const parts = partsOf(item);
    if (part > parts.length) throw new Gap(`no part ${part} in ${id}`);
    const next = [...parts];
    next[part] = { ...parts[part], ...fields } as Part;
    this.items.set(id, withParts(item, next));
  }

  private append({ id, part: index, text }: Append): void {
    const item = this.items.peek(id);
    const part = item && partsOf(item)[index];
    if (part?.kind === "markdown") part.text += text;
    else if (part?.kind === "terminal") part.output += text;
    else throw new Gap(`no text at ${index} in ${id}`);
    for (const listener of this.listeners.get(`${index}/${id}`) ?? []) listener(text);
  }
}

/** A fresh per-view state. */
export function createLocal(): Local {
  const signals = new Map<string, Signal<unknown>>();
  return {
    get<T>(key: string, initial: T): Signal<T> {
      let found = signals.get(key);
      if (!found) signals.set(key, (found = signal<unknown>(initial)));
      return found as Signal<T>;
    },
  };
}
