// The handed cases: folders of tests/cases at the project's root.
import { readFileSync } from "node:fs";
import path from "node:path";

const FOLDER = path.join(import.meta.dirname, "../../tests/cases");

export type Update = { sessionUpdate: string; content?: { type: string; text: string } } & Record<string, unknown>;

/** The session updates of a case, in order. */
export function updates(name: string): Update[] {
  const lines = readFileSync(path.join(FOLDER, name, "stream.ndjson"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as { params?: { update?: Update } }).flatMap((message) => (message.params?.update ? [message.params.update] : []));
}

/** The texts of a case's agent message, chunk by chunk. */
export const chunks = (name: string): string[] =>
  updates(name).filter((update) => update.sessionUpdate === "agent_message_chunk").map((update) => update.content?.text ?? "");
