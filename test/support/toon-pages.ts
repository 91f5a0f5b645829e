// Parses a TOON page: the summary, the data (with the decoder of the TOON library), links and actions. `undone`
// converts the data to the form of the JSON rendering.
import { decode } from '@toon-format/toon';

export interface ToonAction {
  readonly request: string;
  readonly does: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly content_type?: string;
  readonly body?: Readonly<Record<string, string>> | string;
}

export interface ToonPage {
  readonly summary: string;
  readonly data: unknown;
  /** `GET` and a path, by name. */
  readonly links: Readonly<Record<string, string>>;
  readonly actions: Readonly<Record<string, ToonAction>>;
}

export function readToonPage(text: string): ToonPage {
  const [, summary = '', data, behind] = /^(\S.*)\n\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? [];
  if (data === undefined || behind === undefined) throw new Error(`not a page of TOON: ${text}`);
  if (!/^Links:\n(?: .*\n)*Actions:\n(?: .*\n)*$/.test(behind)) throw new Error(`not the end of a page: ${behind}`);
  const { Links: links, Actions: actions } = decode(behind) as unknown as Record<'Links', ToonPage['links']> &
    Record<'Actions', ToonPage['actions']>;
  return { summary, data: decode(data), links, actions };
}

/** Paths of its links. */
export function linksOf(page: ToonPage): readonly string[] {
  return Object.values(page.links).map((link) => {
    if (!link.startsWith('GET /')) throw new Error(`not a link: ${link}`);
    return link.slice('GET '.length);
  });
}

/** Removes the members for the next page, whose form depends on the rendering. */
export function bare(data: unknown): unknown {
  return isObject(data) ? { ...data, next: undefined, next_cursor: undefined } : data;
}

const AS_JSON = /_json$/;

/** A member `x_json` contains the JSON text of `x`; null in a row of a table means absent (docs/http.md). */
export function undone(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withoutNulls);
  if (!isObject(data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => named(name, Array.isArray(value) ? value.map(withoutNulls) : value)),
  );
}

function withoutNulls(row: unknown): unknown {
  if (!isObject(row)) return row;
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => (value === null ? [] : [named(name, value)])),
  );
}

function named(name: string, value: unknown): readonly [string, unknown] {
  if (!AS_JSON.test(name) || typeof value !== 'string') return [name, value];
  return [name.replace(AS_JSON, ''), JSON.parse(value)];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
