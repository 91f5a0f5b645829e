/**
 * The text format of API keys.
 *
 * ```
 *   cairn_ <id: 16 hex digits> _ <secret: 64 hex digits> <check: 8 hex digits>
 * ```
 * The id names the key and is not secret. The secret has 256 random bits, so a single SHA-256 is a safe way to store
 * it. The check is a checksum of the text before it; it lets scanners recognize leaked keys, and proves nothing else.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { toHex } from '#base';

const SHAPE = /^cairn_([\da-f]{16})_([\da-f]{64})([\da-f]{8})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;
const CHECK_LENGTH = 8;

export interface ParsedKey {
  readonly id: string;
  /** SHA-256 of the secret. */
  readonly hash: Uint8Array;
}

export interface IssuedKey extends ParsedKey {
  /** The full text that a client sends; it cannot be recovered later. */
  readonly text: string;
}

/** Returns undefined when the text is not an API key. It must match exactly: nothing is trimmed, and case matters. */
export function parseApiKey(text: string): ParsedKey | undefined {
  const [, id, secret, check] = SHAPE.exec(text) ?? [];
  if (id === undefined || secret === undefined || check !== checkOf(id, secret)) return undefined;
  return { id, hash: secretHash(secret) };
}

/** Issues a new secret for the key with this id, or for a new id if none is given. */
export function issueKey(random: (bytes: number) => Uint8Array, id: string = toHex(random(ID_BYTES))): IssuedKey {
  const secret = toHex(random(SECRET_BYTES));
  return { id, hash: secretHash(secret), text: formatApiKey(id, secret) };
}

function formatApiKey(id: string, secret: string): string {
  return `cairn_${id}_${secret}${checkOf(id, secret)}`;
}

export function secretHash(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer');
}

/** Compares in constant time. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function checkOf(id: string, secret: string): string {
  return hash('sha256', `cairn_${id}_${secret}`, 'hex').slice(0, CHECK_LENGTH);
}
