/**
 * Remembers the parameter values with which a State View was read: maintenance folds the view for these values.
 *
 * ```
 * name       view_hash of the values        content: the values as JSON
 * ```
 * The files are next to the folded states and may be lost like them; a view is then not maintained until it is read
 * again.
 *
 * F43 At most `countMax` combinations are remembered per view: those that were read last.
 */
import { createHash } from 'node:crypto';
import { decodeUtf8 } from '#base';
import type { CacheFolder } from './cache-folder.ts';
import { encodeParameters } from './view-read.ts';

export type ViewParameters = ReadonlyMap<string, string>;

const DIGITS = 40;
/** Maximum number of views in memory. */
const VIEWS_MAX = 1000;

export class AskedBindings {
  readonly #folder: CacheFolder;
  readonly #countMax: number;
  /** Keyed by view, the least recently used first; then by file name, the least recently read first. */
  readonly #known = new Map<string, Promise<Map<string, ViewParameters>>>();

  constructor(folder: CacheFolder, countMax: number) {
    this.#folder = folder;
    this.#countMax = countMax;
  }

  /** Records a read of the view with these values. The view is identified by `viewKey`. */
  async add(view: string, parameters: ViewParameters): Promise<void> {
    const known = await this.#of(view);
    const content = encodeParameters(parameters);
    const name = `${view}_${digest(content)}`;
    const before = known.get(name);
    known.delete(name);
    known.set(name, before ?? parameters);
    if (before !== undefined) return;
    await this.#folder.put(name, content);
    for (const oldest of known.keys()) {
      if (known.size <= this.#countMax) return;
      known.delete(oldest);
      await this.#folder.drop(oldest);
    }
  }

  /** Returns the recorded values, as far as the folder has kept them; the same objects on each call. */
  async of(view: string): Promise<readonly ViewParameters[]> {
    return [...(await this.#of(view)).values()];
  }

  #of(view: string): Promise<Map<string, ViewParameters>> {
    const known = this.#known.get(view) ?? this.#read(view);
    this.#known.delete(view);
    this.#known.set(view, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > VIEWS_MAX && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  async #read(view: string): Promise<Map<string, ViewParameters>> {
    const found = new Map<string, ViewParameters>();
    for (const name of this.#folder.named(view)) {
      const content = await this.#folder.get(name);
      if (content !== undefined) found.set(name, parametersIn(content));
    }
    return found;
  }
}

/** Group name of a view in the folder. */
export function viewKey(...parts: readonly (string | number)[]): string {
  return digest(JSON.stringify(parts));
}

function digest(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, DIGITS);
}

/** Parses the output of `encodeParameters`; the folder guarantees intact content. */
function parametersIn(content: Uint8Array): ViewParameters {
  const parsed: unknown = JSON.parse(decodeUtf8(content) ?? '{}');
  const found = new Map<string, string>();
  const members: readonly (readonly [string, unknown])[] = isObject(parsed) ? Object.entries(parsed) : [];
  for (const [name, value] of members) if (typeof value === 'string') found.set(name, value);
  return found;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
