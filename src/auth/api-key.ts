/**
 * API keys as text.
 *
 * ```
 *   cairn_ <id: 16 hex digits> _ <secret: 64 hex digits> <check: 8 hex digits>
 * ```
 * The id is no secret and names the key; the secret has 256 random bits, so that one pass of SHA-256 is enough to keep
 * it by. The check is of what stands before it, and lets scanners for leaked secrets be sure. It proves nothing.
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
  /** What its holder sends; nobody can make it again. */
  readonly text: string;
}

/** Undefined: this is no API key. In this one spelling alone: nothing is trimmed, and no case is changed. */
export function parseApiKey(text: string): ParsedKey | undefined {
  const [, id, secret, check] = SHAPE.exec(text) ?? [];
  if (id === undefined || secret === undefined || check !== checkOf(id, secret)) return undefined;
  return { id, hash: secretHash(secret) };
}

/** A new secret for a key with this id; a new id, too, unless one is given. */
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

/** In a time that does not depend on where they differ. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function checkOf(id: string, secret: string): string {
  return hash('sha256', `cairn_${id}_${secret}`, 'hex').slice(0, CHECK_LENGTH);
}
