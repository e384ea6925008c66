// Numbers as people read them.
import { language, t } from "../strings";

/** Whole seconds, e.g. "12 s", "3 min 5 s"; "" when unknown or less than one. */
export function duration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds) || seconds < 0) return "";
  const s = Math.floor(seconds);
  if (s < 60) return t("time.s", { s });
  if (s < 3600) return t("time.ms", { m: Math.floor(s / 60), s: s % 60 });
  return t("time.hm", { h: Math.floor(s / 3600), m: Math.floor((s % 3600) / 60) });
}

export function between(start: number | null | undefined, end: number | null | undefined): number | null {
  return typeof start === "number" && typeof end === "number" && end >= start ? end - start : null;
}

const formats = new Map<string, Intl.NumberFormat>();

/** Formats are dear to make, and few. */
function format(value: number, options: Intl.NumberFormatOptions): string {
  const key = `${language} ${JSON.stringify(options)}`;
  let own = formats.get(key);
  if (!own) formats.set(key, (own = new Intl.NumberFormat(language, options)));
  return own.format(value);
}

/** 950 -> "950", 12300 -> "12.3K". */
export const count = (value: number): string => format(value, { notation: "compact", maximumFractionDigits: 1 });

export function bytes(size: number): string {
  const round = (value: number): string => format(value, { maximumFractionDigits: value < 10 ? 1 : 0 });
  if (size < 1000) return t("size.bytes", { count: size });
  if (size < 1_000_000) return t("size.kb", { count: round(size / 1000) });
  return t("size.mb", { count: round(size / 1_000_000) });
}

/** Money of an agent's usage report; null when it is not a sum of money. */
export function money(cost: unknown): string | null {
  if (typeof cost !== "object" || cost === null) return null;
  const { amount, currency } = cost as { amount?: unknown; currency?: unknown };
  if (typeof amount !== "number" || !Number.isFinite(amount)) return null;
  const code = typeof currency === "string" && /^[A-Z]{3}$/.test(currency) ? currency : null;
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  const style = code ? ({ style: "currency", currency: code } as const) : {};
  return format(amount, { ...style, minimumFractionDigits: 2, maximumFractionDigits: digits });
}

/** How long ago, never in the future. */
export function ago(then: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - then) / 60);
  if (minutes < 1) return t("time.now");
  if (minutes < 60) return t("time.minutes", { count: minutes });
  if (minutes < 60 * 24) return t("time.hours", { count: Math.floor(minutes / 60) });
  return t("time.days", { count: Math.floor(minutes / 1440) });
}

/** The last part of a path or uri. */
export const basename = (path: string): string => path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;

/** A file's name as one line of at most 200 characters, without those that hide, reorder or break what is read. */
export const fileLabel = (name: string): string =>
  [...name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "").trim()].slice(0, 200).join("");

/** A path as seen from the chat's folder. */
export function relativePath(path: string, cwd: string): string {
  const folder = cwd.endsWith("/") ? cwd : `${cwd}/`;
  return cwd && path.startsWith(folder) ? path.slice(folder.length) : path;
}
