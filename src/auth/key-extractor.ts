/**
 * Decides whether an API key, or a token that Cairn issued, is valid. The credential is in X-API-Key, or is a bearer
 * token of clients that support nothing else, such as those of MCP.
 */
import { toHex } from '#base';
import { type ApiKey, isStillIssued } from '#model';
import { isSameHash, type ParsedKey, parseApiKey } from './api-key.ts';
import { type Credentials, type Extractor, type Found, NOTHING, type Principal } from './extractor.ts';

export interface KnownKeys {
  /** Returns the current state of a key; a changed key is another object. */
  find(id: string): ApiKey | undefined;
  /**
   * Resolves when `find` knows every key that was acknowledged before the call, because another node may just have
   * issued one. Rejects when that is impossible now.
   */
  refresh(): Promise<void>;
}

export const KEY_INPUTS: readonly string[] = ['Authorization', 'X-API-Key'];

const BEARER = /^bearer +(\S+)$/i;
/** Prefix of every key; other bearer tokens are left to other extractors. */
const KEY_PREFIX = 'cairn_';
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

/** A secret as the request has sent it, and its header. */
export interface SentSecret {
  readonly text: string;
  readonly header: 'x-api-key' | 'authorization';
}

export function sentSecret(credentials: Credentials): SentSecret | undefined {
  const [key] = credentials.values('x-api-key');
  if (key !== undefined) return { text: key, header: 'x-api-key' };
  const [, token] = BEARER.exec(credentials.values('authorization')[0] ?? '') ?? [];
  return token === undefined ? undefined : { text: token, header: 'authorization' };
}

/** Headers that pass the secret on to another node. */
export function proofOf({ text, header }: SentSecret): Readonly<Record<string, string>> {
  return { [header]: header === 'authorization' ? `Bearer ${text}` : text };
}

export function keyExtractor(keys: KnownKeys, nowMs: () => number): Extractor {
  const judge = new Judge(keys, nowMs);
  return {
    inputs: KEY_INPUTS,
    extract: (credentials) => {
      const sent = sentSecret(credentials);
      if (sent === undefined) return NOTHING;
      if (sent.header === 'authorization' && !sent.text.startsWith(KEY_PREFIX)) return NOTHING;
      const parsed = parseApiKey(sent.text);
      if (parsed === undefined) return { kind: 'refused', why: 'what was sent as an API key is none' };
      const found = judge.found(sent, parsed);
      return found.kind === 'principal' || judge.isPast(parsed) ? found : judge.later(sent, parsed);
    },
  };
}

class Judge {
  readonly #keys: KnownKeys;
  readonly #nowMs: () => number;
  /** One principal per secret of a key, created once. */
  readonly #principals = new WeakMap<ApiKey, Map<string, Principal>>();

  constructor(keys: KnownKeys, nowMs: () => number) {
    this.#keys = keys;
    this.#nowMs = nowMs;
  }

  found(sent: SentSecret, { id, hash }: ParsedKey): Found {
    const key = this.#keys.find(id);
    if (key === undefined) return { kind: 'refused', why: `there is no API key ${id}` };
    const fault = this.#faultIn(key, hash);
    if (fault !== undefined) return { kind: 'refused', why: `API key ${id} ${fault}` };
    const known = this.#principals.get(key) ?? new Map<string, Principal>();
    this.#principals.set(key, known);
    const place = `${sent.header} ${toHex(hash)}`;
    const principal = known.get(place) ?? this.#principalOf(key, sent, hash);
    known.set(place, principal);
    return { kind: 'principal', principal };
  }

  /** Returns whether the secret is known and has expired; refreshing the keys would not change that. */
  isPast({ id, hash }: ParsedKey): boolean {
    const key = this.#keys.find(id);
    return key !== undefined && this.#faultIn(key, hash) === EXPIRED;
  }

  async later(sent: SentSecret, parsed: ParsedKey): Promise<Found> {
    await this.#keys.refresh();
    return this.found(sent, parsed);
  }

  #principalOf(key: ApiKey, sent: SentSecret, hash: Uint8Array): Principal {
    const { id, name, grants, token, createdBy, expiresAtMs } = key;
    return {
      name,
      grants,
      ...(token === undefined
        ? { id: `key:${id}`, keyId: id, attributes: NO_ATTRIBUTES }
        : { id: `token:${id}`, issuer: createdBy, attributes: new Map([['issued_by', createdBy]]) }),
      expiresAtMs: earlier(expiresAtMs, key.secrets.find((secret) => isSameHash(secret.hash, hash))?.expiresAtMs),
      holds: () => {
        const now = this.#keys.find(id);
        return now !== undefined && this.#faultIn(now, hash) === undefined;
      },
      proof: () => proofOf(sent),
    };
  }

  #faultIn(key: ApiKey, hash: Uint8Array): string | undefined {
    const nowMs = this.#nowMs();
    const secret = key.secrets.find((each) => isSameHash(each.hash, hash));
    if (secret === undefined) return 'has another secret';
    if (isPast(earlier(key.expiresAtMs, secret.expiresAtMs), nowMs)) return EXPIRED;
    const issuer = key.token?.keyId;
    if (issuer === undefined || isStillIssued(key, this.#keys.find(issuer), nowMs)) return undefined;
    return `was issued by ${issuer}, which is gone or has another secret`;
  }
}

const EXPIRED = 'has expired';

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}
