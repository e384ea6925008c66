// A kernel in the page: enough of anywidget's model for the real wire and store, playing a scene.
import type { FromPage, View } from "../src/messages";
import type { Model } from "../src/wire";

type Listener = (...args: never[]) => void;

export class SceneModel implements Model {
  readonly sent: FromPage[] = [];
  /** Set: every request is refused with these words. */
  refuse: string | null = null;
  private readonly listeners = new Map<string, Set<Listener>>();
  /** What requests of a kind are answered with; null without an entry. */
  readonly answers: Record<string, unknown> = {};
  private version = 0;
  private gone = false;

  constructor(readonly view: View, private readonly traits: Record<string, unknown>, private readonly picture?: () => Promise<ArrayBuffer>) {}

  get(name: string): unknown {
    return this.traits[name];
  }
  on(name: string, listener: Listener): void {
    const own = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, own.add(listener));
  }
  off(name: string, listener: Listener): void {
    this.listeners.get(name)?.delete(listener);
  }
  emit(content: object, buffers: DataView[] = []): void {
    const message = { session: "s", generation: 0, epoch: "e", ...content };
    for (const listener of this.listeners.get("msg:custom") ?? []) (listener as (...args: unknown[]) => void)(message, buffers);
  }
  ops(ops: object[]): void {
    this.emit({ kind: "ops", version: (this.version += 1), ops });
  }
  /** The comm is closed, as when the kernel ends; nobody answers any more. */
  drop(): void {
    this.gone = true;
    for (const listener of this.listeners.get("comm_live_update") ?? []) (listener as () => void)();
  }
  send(content: unknown): void {
    const message = content as FromPage;
    this.sent.push(message);
    if (this.gone) return;
    if (message.kind === "resync") {
      queueMicrotask(() => this.emit({ kind: "snapshot", version: this.version, for: message.view, piece: 0, pieces: 1, view: structuredClone(this.view), ops: [] }));
    } else if (message.kind === "fetch-blob") {
      void this.picture?.().then((bytes) => {
        this.emit({ kind: "blob", sha256: message.sha256, mimeType: "image/png", size: bytes.byteLength, offset: 0 }, [new DataView(bytes)]);
        this.emit({ kind: "reply", id: message.id, ok: true, result: null });
      });
    } else if (message.id !== undefined && this.refuse !== null) {
      const error = { message: this.refuse, hint: null };
      queueMicrotask(() => this.emit({ kind: "reply", id: message.id, ok: false, error }));
    } else if (message.id !== undefined) {
      const result = this.answers[message.kind] ?? null;
      queueMicrotask(() => this.emit({ kind: "reply", id: message.id, ok: true, result }));
    }
  }
}
