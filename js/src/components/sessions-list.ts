// The agent's sessions as the drawer shows them: by folder, the chat's own first, newest first.
import type { ListedSession } from "../messages";

export interface Folder { cwd: string; missing: boolean; sessions: ListedSession[] }

const time = (session: ListedSession): number => Date.parse(session.updatedAt ?? "") || 0;

/** Seconds since the epoch of a session's last activity, or null. */
export const activity = (session: ListedSession): number | null => (time(session) > 0 ? time(session) / 1000 : null);

export function byFolder(sessions: readonly ListedSession[], own: string, query = ""): Folder[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const folders = new Map<string, Folder>();
  const sorted = [...sessions].sort((one, other) => time(other) - time(one));
  for (const session of sorted) {
    const haystack = `${session.title ?? ""} ${session.cwd}`.toLowerCase();
    if (!words.every((word) => haystack.includes(word))) continue;
    const cwd = session.cwd.replace(/(?<=.)\/+$/, "");
    const folder = folders.get(cwd) ?? { cwd, missing: session.missing, sessions: [] };
    folder.sessions.push(session);
    folders.set(cwd, folder);
  }
  const home = own.replace(/(?<=.)\/+$/, "");
  return [...folders.values()].sort((one, other) => Number(other.cwd === home) - Number(one.cwd === home));
}
