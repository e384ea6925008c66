// The page's end of the comm: one a model. Puts kernel messages into the store in version order, asks for a
// snapshot when something is missing, gives requests their answers and blobs their bytes.
import { signal, type Signal } from "@preact/signals";
import type { BlobRef, FromKernel, FromPage, FromPageBody, Piece, View } from "./messages";
import { importByUrl } from "./modules";
import { createLocal, Gap, Refused, TimelineStore, type Connection, type Store } from "./store";

/** What we use of anywidget's model, so that tests need no more than this. */
export interface Model {
  get(name: string): unknown;
  on(name: string, listener: (...args: never[]) => void): void;
  off(name: string, listener: (...args: never[]) => void): void;
  send(content: unknown): void;
}

/** The answer to a resync takes longer only when the kernel is busy, gone, or was never there. */
const RESTORED_AFTER_MS = 3000;
const RETRY_MS = 5000;
const RETRY_MAX_MS = 60_000;
const DRAFT_MS = 300;

type Snapshot = Extract<FromKernel, { kind: "snapshot" }>;
type Timer = ReturnType<typeof setTimeout>;
interface Pending { resolve(value: unknown): void; reject(error: Error): void }
interface Incoming { bytes: Uint8Array<ArrayBuffer>; received: number; mimeType: string }

/** What a saved notebook has of a chat: the trait `saved` as JSON. */
interface Saved { schema: number; view: View }

/** Not `crypto.randomUUID`: that is there in secure contexts only, and a server may be reached by plain http. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Wire {
  readonly data = new TimelineStore();
  readonly connection: Signal<Connection> = signal("connecting");
  readonly loading = signal(false);
  readonly draft = signal("");
  readonly height: Signal<string>;
  readonly theme: Signal<string>;
  private readonly name = randomName();
  private session: string | null = null;
  private generation = 0;
  private epoch: string | null = null;
  private version = -1;
  /** Pieces of the snapshot that is under way; `progressive` ones are on the screen already. */
  private arriving: { version: number; pieces: Piece[]; progressive: boolean } | null = null;
  private awaiting = false;
  private views = 0;
  private requests = 0;
  private readonly acknowledged = new Set<string | number>();
  private readonly pending = new Map<string, Pending>();
  private readonly blobs = new Map<string, { promise: Promise<Blob>; arrive(blob: Blob): void }>();
  private readonly incoming = new Map<string, Incoming>();
  private readonly urls = new Map<string, string>();
  private retry: Timer | undefined;
  private restoreTimer: Timer | undefined;
  private draftTimer: Timer | undefined;
  private draftsUnderWay = 0;
  private kernelDraft = "";
  private readonly cleanups: (() => void)[] = [];

  constructor(
    private readonly model: Model,
    private readonly importUrl: (url: string) => Promise<unknown> = importByUrl,
  ) {
    this.height = this.trait("height");
    this.theme = this.trait("theme");
    this.listen("msg:custom", (content: FromKernel, buffers?: readonly DataView[]) => this.receive(content, buffers ?? []));
    this.listen("comm_live_update", () => this.liveChanged());
    globalThis.addEventListener?.("pagehide", this.keepDraft);
    this.cleanups.push(() => globalThis.removeEventListener?.("pagehide", this.keepDraft));
    this.showSaved();
    this.resync(RETRY_MS);
  }

  /** One view more; its `store` is good until `close`. */
  openView(): { store: Store; close(): void } {
    this.views += 1;
    this.acknowledge();
    const { data } = this;
    const store: Store = {
      groupIds: data.groupIds, groups: data.groups, turns: data.turns, meta: data.meta,
      group: (id) => data.group(id), item: (id) => data.item(id), turn: (index) => data.turn(index),
      order: () => data.order(), text: (id, part) => data.text(id, part),
      onAppend: (id, part, listener) => data.onAppend(id, part, listener),
      loading: this.loading, connection: this.connection, height: this.height, theme: this.theme, draft: this.draft,
      setDraft: (text) => this.setDraft(text),
      sendDraft: (queue) => this.sendDraft(queue),
      send: (message) => void this.request(message).catch((error: unknown) => console.warn("[acp_notebook]", error)),
      request: (message) => this.request(message),
      blobUrl: (ref) => this.blobUrl(ref),
      loadModule: (name) => this.loadModule(name),
      deferred: async (ref) => (await this.blob(ref.sha256)).text(),
      local: createLocal(),
    };
    let open = true;
    return { store, close: () => { if (open) { open = false; this.views -= 1; } } };
  }

  dispose(): void {
    for (const timer of [this.retry, this.restoreTimer, this.draftTimer]) clearTimeout(timer);
    for (const cleanup of this.cleanups) cleanup();
    this.rejectAll("The chat was closed.");
    for (const url of this.urls.values()) URL.revokeObjectURL(url);
    this.urls.clear();
  }

  private listen(name: string, listener: (...args: never[]) => void): void {
    this.model.on(name, listener);
    this.cleanups.push(() => this.model.off(name, listener));
  }

  private trait(name: string): Signal<string> {
    const read = (): string => String(this.model.get(name) ?? "");
    const cell = signal(read());
    this.listen(`change:${name}`, () => { cell.value = read(); });
    return cell;
  }

  private showSaved(): void {
    const text = this.model.get("saved");
    if (typeof text !== "string" || text === "") return;
    try {
      const saved = JSON.parse(text) as Saved;
      if (saved.schema === 1) this.data.replace([{ view: saved.view, ops: [] }]);
    } catch (error) {
      console.warn("[acp_notebook] the saved copy cannot be read", error);
      return;
    }
    this.restoreTimer = setTimeout(() => {
      if (this.connection.peek() === "connecting") this.connection.value = "restored";
    }, RESTORED_AFTER_MS);
  }

  // -- out

  private post(body: FromPageBody, id?: string): void {
    const message: FromPage = {
      ...body, session: this.session, generation: this.generation, epoch: this.epoch, view: this.name,
      ...(id === undefined ? {} : { id }),
    };
    this.model.send(message);
  }

  private request(body: FromPageBody): Promise<unknown> {
    if (this.connection.peek() !== "live") return Promise.reject(new Refused("The kernel does not answer."));
    const id = `${this.name}:${(this.requests += 1)}`;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      try {
        this.post(body, id);
      } catch (error) {
        this.pending.delete(id);
        reject(new Refused(String(error)));
      }
    });
  }

  private rejectAll(reason: string): void {
    for (const { reject } of this.pending.values()) reject(new Refused(reason));
    this.pending.clear();
  }

  private resync(retryMs: number): void {
    this.awaiting = true;
    this.arriving = null;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.resync(Math.min(retryMs * 2, RETRY_MAX_MS)), retryMs);
    try {
      this.post({ kind: "resync" });
    } catch {
      // No comm: a restored model. The retry finds out when one is there.
    }
  }

  /** The comm was closed or opened: while live it can only be gone; an answer says that it is back. */
  private liveChanged(): void {
    if (this.connection.peek() === "live") {
      this.connection.value = "kernel-gone";
      this.loading.value = false;
      this.rejectAll("The kernel is gone.");
    }
    this.resync(RETRY_MS);
  }

  private setDraft(text: string): void {
    this.draft.value = text;
    clearTimeout(this.draftTimer);
    this.draftTimer = setTimeout(() => this.keepDraft(), DRAFT_MS);
  }

  /** The kernel empties its draft as it takes the prompt: told once more, that would wipe a prompt it gives back at once. */
  private async sendDraft(queue: boolean): Promise<void> {
    const text = this.draft.peek();
    clearTimeout(this.draftTimer);
    this.draftTimer = undefined;
    this.draft.value = "";
    this.draftsUnderWay += 1;
    try {
      await this.request(queue ? { kind: "send", text, queue } : { kind: "send", text });
    } catch (error) {
      if (!this.draft.peek()) this.setDraft(text); // nothing typed is lost
      throw error;
    } finally {
      this.draftsUnderWay -= 1;
    }
  }

  /** Tells the kernel the draft that it does not know yet: after a pause, or when the page goes. */
  private readonly keepDraft = (): void => {
    if (this.draftTimer === undefined) return;
    clearTimeout(this.draftTimer);
    this.draftTimer = undefined;
    this.draftsUnderWay += 1;
    const done = (): void => { this.draftsUnderWay -= 1; };
    this.request({ kind: "draft", text: this.draft.peek() }).then(done, done);
  };

  /** Tells the kernel which open requests somebody can see here, so that it knows that clicks can arrive. */
  private acknowledge(): void {
    if (this.views === 0 || this.connection.peek() !== "live") return;
    const open = [...this.data.pendingPermissions(), ...this.data.meta.elicitations.peek().map(({ id }) => id)];
    const fresh = open.filter((id) => !this.acknowledged.has(id));
    this.acknowledged.clear();
    for (const id of open) this.acknowledged.add(id);
    if (fresh.length > 0) this.post({ kind: "ack", requestIds: fresh });
  }

  // -- in

  private receive(message: FromKernel, buffers: readonly DataView[]): void {
    switch (message.kind) {
      case "snapshot": return this.takePiece(message);
      case "ops": return this.takeOps(message);
      case "reply": {
        const waiting = this.pending.get(message.id);
        if (!waiting) return;
        this.pending.delete(message.id);
        if (message.ok) waiting.resolve(message.result);
        else waiting.reject(new Refused(message.error.message, message.error.hint));
        return;
      }
      case "blob": return this.takeBytes(message, buffers[0]);
    }
  }

  private isAddressedHere(message: FromKernel): boolean {
    return message.session === this.session && message.generation === this.generation && message.epoch === this.epoch;
  }

  private takePiece(message: Snapshot): void {
    const forAll = message.for === "*";
    if (!forAll && (message.for !== this.name || !this.awaiting)) return;
    const piece: Piece = { view: message.view, ops: message.ops };
    if (message.piece === 0) {
      // A gap in the chat that is shown is filled at once; another chat grows from its newest end.
      const progressive = !this.isAddressedHere(message);
      this.session = message.session;
      this.generation = message.generation;
      this.epoch = message.epoch;
      this.arriving = { version: message.version, pieces: [piece], progressive };
      if (progressive) this.data.replace([piece]);
      this.loading.value = message.pieces > 1;
    } else {
      const { arriving } = this;
      if (!arriving || arriving.version !== message.version || arriving.pieces.length !== message.piece) return this.resync(RETRY_MS);
      arriving.pieces.push(piece);
      if (arriving.progressive) this.data.prepend(piece);
    }
    if (message.piece === message.pieces - 1) this.arrived();
  }

  private arrived(): void {
    const { version, pieces, progressive } = this.arriving!;
    this.arriving = null;
    this.awaiting = false;
    clearTimeout(this.retry);
    if (!progressive) this.data.replace(pieces);
    this.version = version;
    this.loading.value = false;
    this.connection.value = "live";
    this.followDraft();
    this.acknowledge();
  }

  private takeOps(message: Extract<FromKernel, { kind: "ops" }>): void {
    if (this.awaiting && !this.arriving) return; // the snapshot that was asked for will hold it
    if (this.awaiting || !this.isAddressedHere(message)) return this.resync(RETRY_MS);
    if (message.version <= this.version) return;
    try {
      if (message.version !== this.version + 1) throw new Gap(`version ${message.version} after ${this.version}`);
      this.data.apply(message.ops);
      this.version = message.version;
    } catch (error) {
      if (!(error instanceof Gap)) throw error;
      return this.resync(RETRY_MS);
    }
    this.followDraft();
    if (message.ops.some(({ op }) => op !== "append")) this.acknowledge();
  }

  /** A draft that changed in the kernel is taken over, unless what was typed here is on its way there. */
  private followDraft(): void {
    const draft = this.data.meta.draft.peek();
    if (draft === this.kernelDraft) return;
    this.kernelDraft = draft;
    if (this.draftTimer === undefined && this.draftsUnderWay === 0) this.draft.value = draft;
  }

  // -- bytes

  private takeBytes({ sha256, mimeType, size, offset }: Extract<FromKernel, { kind: "blob" }>, bytes: DataView | undefined): void {
    const incoming = this.incoming.get(sha256) ?? { bytes: new Uint8Array(size), received: 0, mimeType };
    if (!bytes || offset !== incoming.received) return;
    incoming.bytes.set(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset);
    incoming.received += bytes.byteLength;
    if (incoming.received < size) return void this.incoming.set(sha256, incoming);
    this.incoming.delete(sha256);
    this.slot(sha256).arrive(new Blob([incoming.bytes], { type: mimeType }));
  }

  private slot(sha256: string): { promise: Promise<Blob>; arrive(blob: Blob): void } {
    let slot = this.blobs.get(sha256);
    if (!slot) {
      let arrive!: (blob: Blob) => void;
      const promise = new Promise<Blob>((resolve) => { arrive = resolve; });
      this.blobs.set(sha256, (slot = { promise, arrive }));
    }
    return slot;
  }

  /** Asks once; bytes that another page asked for arrive here too and are kept. */
  private async blob(sha256: string): Promise<Blob> {
    if (!this.blobs.has(sha256)) {
      this.slot(sha256);
      try {
        await this.request({ kind: "fetch-blob", sha256 });
      } catch (error) {
        this.blobs.delete(sha256);
        throw error;
      }
    }
    return this.slot(sha256).promise;
  }

  private async loadModule(name: "maths" | "languages"): Promise<unknown> {
    const ref = (await this.request({ kind: "fetch-module", name })) as BlobRef;
    return this.importUrl(await this.blobUrl(ref));
  }

  private async blobUrl(ref: BlobRef): Promise<string> {
    const blob = await this.blob(ref.sha256);
    let url = this.urls.get(ref.sha256);
    if (url === undefined) this.urls.set(ref.sha256, (url = URL.createObjectURL(blob)));
    return url;
  }
}

