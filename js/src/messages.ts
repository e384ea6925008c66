// The view protocol: every message between the kernel and the page, in both directions.
// acp_notebook/widget/messages.py says the same in Python; a test holds the two together.

/** What every message from the kernel carries. `epoch` is random per host life. */
export interface Address {
  session: string | null;
  generation: number;
  epoch: string;
}

export interface BlobRef { sha256: string; size: number; mimeType: string }

/**
 * Fields too large to travel in the view: name of the field -> its content as a blob (JSON for values, UTF-8
 * for strings). The field itself is null (a string: its head). `store.deferred(ref)` fetches the whole.
 */
export type Deferred = Record<string, BlobRef>;

interface PartBase { deferred?: Deferred }
export type Part = PartBase & (
  | { kind: "markdown"; text: string }
  | { kind: "image"; blob: BlobRef | null; source: string | null; mimeType: string | null; alt: string | null }
  | { kind: "audio"; blob: BlobRef | null; mimeType: string | null }
  | { kind: "attachment"; refId: string; uri: string | null; name: string | null; mimeType: string | null; size: number | null; source: string | null }
  | { kind: "diff"; path: string; oldText: string | null; newText: string }
  | { kind: "diff"; path: string | null; patch: string; changes: { operation: string; path: string }[] }
  | { kind: "terminal"; terminalId: string; output: string; exitStatus: { exitCode: number | null; signal: string | null } | null; truncated: boolean }
  | { kind: "error"; message: string }
  | { kind: "unsupported"; type: string }
);

/** Flags are left out when false; a `set` tells both values. */
interface ItemBase { id: string; historical?: boolean; supplement?: string | null; deferred?: Deferred }
export interface MessageSegment extends ItemBase {
  kind: "message-segment"; role: "user" | "assistant"; messageId: string | null; segmentIndex: number;
  parts: Part[]; optimistic?: boolean; failed?: boolean;
}
export interface Thought extends ItemBase {
  kind: "thought"; messageId: string | null; segmentIndex: number; parts: Part[];
  startedAt?: number | null; endedAt?: number | null;
}
export interface ToolCall extends ItemBase {
  kind: "tool-call"; toolCallId: string; title: string; name: string | null; toolKind: string; status: string;
  agentStatus: string | null; rawInput: unknown; rawOutput: unknown; outputParts: Part[];
  locations: { path: string; line?: number | null }[]; error: string | null; noResult?: boolean;
  startedAt: number | null; endedAt: number | null;
}
export interface PermissionOption { optionId: string; name: string; kind: string }
export interface Permission extends ItemBase {
  kind: "permission"; requestId: string | number; toolCallId: string | null; title: string; options: PermissionOption[];
  status: "pending" | "selected" | "cancelled"; selectedOptionId: string | null; decidedBy: string | null;
  rawInput: unknown; locations: { path: string; line?: number | null }[]; parts: Part[];
}
export interface Plan extends ItemBase {
  kind: "plan"; planId: string; entries: { content: string; priority: string | null; status: string | null }[];
  markdown: string | null; uri: string | null;
}
export interface Notice extends ItemBase { kind: "notice"; level: string; text: string; source: string | null }
export type Item = MessageSegment | Thought | ToolCall | Permission | Plan | Notice;

export interface Turn {
  index: number; promptItemId: string | null; state: "running" | "idle" | "failed"; stopReason: string | null;
  stoppedByUser: boolean; error: { message: string; code: number | null; data: unknown } | null;
  startedAt: number | null; endedAt: number | null; usage: Record<string, unknown> | null;
  agent: { name: string | null; version: string | null; model: string | null; mode: string | null };
}
export interface Group {
  id: string; kind: "user" | "assistant-turn"; itemIds: string[];
  attachments: string[]; // refIds, lifted out of the items, in order
  turnIndex: number | null;
}

/** `whole` is false when `text` is only the head of a very long prompt, which cannot be edited here then. */
export interface QueuedPrompt { id: string; text: string; whole: boolean }
export interface ChatError { title: string; message: string; detail: string; stderrTail: string; actions: string[] }

/** A question of the agent that is no permission: a form by its flat JSON schema, or a page to open. */
export interface Elicitation { id: string; mode: "form" | "url"; message: string; schema: Record<string, unknown>; url: string }

export interface AttachmentState { state: "pending" | "available" | "unavailable"; reason?: string; displayPath?: string; mimeType?: string; size?: number }

/** All that is not an item: the chat's state and the session's metadata, by their names in to_dict(). */
export interface Meta {
  status: "starting" | "authenticating" | "idle" | "running" | "stopping" | "start-failed" | "auth-failed" | "load-failed" | "exited" | "closed";
  phase: string; title: string; name: string; sessionKey: string | null; cwd: string; readOnly: boolean;
  agent: { name: string; title: string; version: string };
  capabilities: Record<string, unknown>; authMethods: Record<string, unknown>[];
  error: ChatError | null; note: string; elicitations: Elicitation[]; queue: QueuedPrompt[]; runningSince: number | null; draft: string; policy: string;
  metadata: Record<string, unknown>; // snapshot.metadata
  streamingSegments: string[];
  attachments: Record<string, AttachmentState>;
  questions: { entries: { itemId: string; number: number; title: string | null; fallback: string | null }[]; hiddenCount: number };
}

export interface View { items: Item[]; groups: Group[]; turns: Turn[]; meta: Meta }

/** Text added at the end of a markdown part's `text` or a terminal part's `output`. */
export interface Append { op: "append"; id: string; part: number; text: string }
export type Op =
  | { op: "put"; id: string; item: Item; after: string | null }   // insert or replace; after = id of the item before it
  | Append
  | { op: "set"; id: string; part?: number; fields: Record<string, unknown> } // of the item, or of a part; part = length of the list: a new part
  | { op: "drop"; id: string }
  | { op: "groups"; from: number; groups: Group[] }                // the groups from index `from` on are these
  | { op: "group-add"; id: string; itemIds: string[]; attachments: string[] } // appended to the group's lists
  | { op: "turns"; from: number; turns: Turn[] }                   // likewise
  | { op: "meta"; fields: Partial<Meta> }
  | { op: "metadata"; fields: Record<string, unknown> }            // keys of meta.metadata
  | { op: "attachments"; states: Record<string, AttachmentState | null> } // keys of meta.attachments; null: gone
  | { op: "questions"; skip: number; from: number; entries: Meta["questions"]["entries"]; hiddenCount: number }; // drop `skip` at the head, then those from index `from` on are these

/** A piece of a view. */
export interface Piece { view: Pick<View, "items" | "groups"> & Partial<View>; ops: Op[] }

/**
 * A snapshot is for the page named in `for`, or for all ("*": another session is shown). It comes in `pieces`, all
 * of one `version`, newest items first: a piece stands *before* the one that came before it. `meta` is in piece 0
 * only; a turn stands in the piece of its newest item; a group cut by a piece has the same id in both. `ops` are
 * applied when the piece is there: they bring what did not fit into its items, or those of a newer piece.
 */
export type FromKernel =
  | (Address & { kind: "snapshot"; version: number; for: string; piece: number; pieces: number } & Piece)
  | (Address & { kind: "ops"; version: number; ops: Op[] })
  | (Address & { kind: "reply"; id: string; ok: true; result: unknown })
  | (Address & { kind: "reply"; id: string; ok: false; error: { message: string; hint: string | null } })
  | (Address & { kind: "blob"; sha256: string; mimeType: string; size: number; offset: number }); // bytes from `offset` on in the first buffer

/** A session of the agent; `busy`: a prompt of ours runs in it. */
export interface ListedSession { key: string; cwd: string; title: string | null; updatedAt: string | null; missing: boolean; busy: boolean }
/** What the agent can do with its sessions, and those that it has. */
export interface SessionList { can: { list: boolean; load: boolean; fork: boolean; delete: boolean }; sessions: ListedSession[] }
export interface Exported { name: string; sha256: string; size: number; mimeType: string }
/** One message between client and agent, without secrets and long strings; `at` is seconds since the epoch. */
export interface TraceLine { at: number; direction: string; kind: string; size: number; reason: string; message: unknown }

/** From the page. `session`, `generation` and `epoch` are those that the page shows; `view` is the page's own random name. */
export interface FromPageBase { session: string | null; generation: number; epoch: string | null; view: string; id?: string }
export type FromPageBody =
  | { kind: "resync" }
  | { kind: "send"; text: string; queue?: boolean }
  | { kind: "cancel" }
  | { kind: "answer"; requestId: string | number; itemId: string; optionId: string | null; remember?: boolean }
  | { kind: "ack"; requestIds: (string | number)[] }
  | { kind: "draft"; text: string }
  | { kind: "queue"; action: "edit" | "remove" | "send-now"; promptId: string; text?: string }
  | { kind: "set-mode"; modeId: string }
  | { kind: "set-option"; optionId: string; value: unknown }
  | { kind: "restart" } | { kind: "retry" } | { kind: "dismiss-error" }
  | { kind: "sessions" }                                              // answered with a SessionList
  | { kind: "open-session"; action: "new" | "load" | "fork"; key?: string }
  | { kind: "delete-session"; key: string }
  | { kind: "login"; methodId: string }                               // answered with what a person has to do by hand, or null
  | { kind: "logout" }
  | { kind: "set-policy"; policy: string }
  | { kind: "export"; format: "markdown" | "html" | "json" }          // answered with an Exported; its bytes come before
  | { kind: "trace" }                                                 // answered with TraceLine[]
  | { kind: "elicit"; elicitationId: string; action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }
  | { kind: "fetch-blob"; sha256: string }
  | { kind: "fetch-module"; name: "maths" | "languages" }; // answered with the BlobRef of the code
export type FromPage = FromPageBase & FromPageBody;
