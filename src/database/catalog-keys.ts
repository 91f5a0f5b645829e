/**
 * The API keys and tokens of the cluster in the catalog: in a few rows, so that a change rewrites few keys.
 *
 * ```
 * keys row    u8 format = 1 | varint count, each key in the order of ids (#model, api-key.ts) | u32 CRC
 * ```
 * A key is in the row of the first digit of its id.
 *
 *   D31  A change of a key is applied only if it names the current version of the key: of two concurrent changes, one is
 *        refused.
 */
import { type ByteWriter, listOf } from '#base';
import { API_KEY, type ApiKey } from '#model';
import { closeRow, openRow, sealRow } from './corruption.ts';

const FORMAT = 1;
const KEYS = listOf(API_KEY);
const DIGITS = 16;
/** Rows are read whole at the start of a node, and a node looks keys up in memory. */
export const API_KEYS_MAX = 1_000;
/** Counted apart from keys, so that tokens take no room from keys. */
export const TOKENS_MAX = 1_000;

export type KeyOutcome =
  | { readonly kind: 'key-kept'; readonly key: ApiKey }
  | { readonly kind: 'key-removed'; readonly id: string }
  /** It was changed or removed meanwhile, or never there; or there are as many as there may be. */
  | { readonly kind: 'key-unmoved'; readonly isFull: boolean };

export const KEY_BLOCKS: readonly number[] = Array.from({ length: DIGITS }, (_, block) => block);

export function blockOfKey(id: string): number {
  return Number.parseInt(id.slice(0, 1), DIGITS);
}

export class CatalogKeys {
  readonly #byId = new Map<string, ApiKey>();
  #tokenCount = 0;

  /** All keys, sorted by id. */
  list(): readonly ApiKey[] {
    return [...this.#byId.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  keep(key: ApiKey): KeyOutcome {
    const known = this.#byId.get(key.id);
    const isFull = known === undefined && this.#isFullOf(key);
    if (isFull || key.version !== (known?.version ?? 0) + 1) return { kind: 'key-unmoved', isFull };
    this.#set(key);
    return { kind: 'key-kept', key };
  }

  remove(id: string): KeyOutcome {
    const known = this.#byId.get(id);
    if (known === undefined) return { kind: 'key-unmoved', isFull: false };
    if (known.token !== undefined) this.#tokenCount -= 1;
    this.#byId.delete(id);
    return { kind: 'key-removed', id };
  }

  #isFullOf({ token }: ApiKey): boolean {
    if (token !== undefined) return this.#tokenCount >= TOKENS_MAX;
    return this.#byId.size - this.#tokenCount >= API_KEYS_MAX;
  }

  #set(key: ApiKey): void {
    this.remove(key.id);
    if (key.token !== undefined) this.#tokenCount += 1;
    this.#byId.set(key.id, key);
  }

  /** Takes up what a row holds. Throws when it is corrupt. */
  read(key: Uint8Array, value: Uint8Array): void {
    const row = openRow(key, value, FORMAT);
    const keys = KEYS.read(row);
    closeRow(key, row);
    for (const each of keys) this.#set(each);
  }

  /** The keys of one row, sorted by id. */
  inBlock(block: number): readonly ApiKey[] {
    return this.list().filter(({ id }) => blockOfKey(id) === block);
  }
}

export function writeKeys(row: ByteWriter, keys: readonly ApiKey[]): void {
  row.u8(FORMAT);
  KEYS.write(row, keys);
  sealRow(row);
}
