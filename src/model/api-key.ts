/**
 * An API key or a token as stored in the catalog, and its bytes (docs/formats/entries.md). Only the hash of a secret is
 * stored.
 *
 * ```
 * key     8 bytes id | varint version | text name | text created by | u64 LE created ms | u64 LE expires ms, 0: never
 *         | u8 kind | of kind 2 alone: 8 bytes id of a key | varint count, each grant | varint count, each secret
 * grant   u8 role | text databases | with 16 added to the role: varint maximum number of databases
 * kind    0 a key | 1 a token | 2 a token that a key has issued
 * secret  32 bytes SHA-256 | u64 LE created ms | u64 LE expires ms, 0: with its key
 * text    varint length | UTF-8
 * ```
 *
 *   M13 A key has exactly one encoding; all other bytes are refused.
 */
import { type ByteReader, type ByteWriter, encodeUtf8, toHex } from '#base';
import { type Grant, isGrant, ROLES } from './access.ts';

export interface KeySecret {
  /** SHA-256. */
  readonly hash: Uint8Array;
  readonly createdAtMs: number;
  /** End of its validity; undefined: that of its key. */
  readonly expiresAtMs: number | undefined;
}

/** Makes a key a token: short-lived, and issued by a principal that has the rights that it gives. */
export interface TokenOrigin {
  /** The key that issued the token, which is invalid without it; undefined: another kind of principal issued it. */
  readonly keyId: string | undefined;
}

export interface ApiKey {
  /** 16 hex digits. */
  readonly id: string;
  /** 1 for a new key, and incremented by every change. */
  readonly version: number;
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly createdAtMs: number;
  /** The id of the principal that issued it. */
  readonly createdBy: string;
  readonly expiresAtMs: number | undefined;
  /** Absent for a key. */
  readonly token?: TokenOrigin | undefined;
  /** Latest first; two while the previous one is still in use. */
  readonly secrets: readonly KeySecret[];
}

const KEY_NAME_BYTES_MAX = 128;
export const KEY_GRANTS_MAX = 32;
export const KEY_SECRETS_MAX = 2;

export const CREATED_BY_LENGTH_MAX = 512;
const ID_BYTES = 8;
const KIND = { KEY: 0, TOKEN: 1, TOKEN_OF_KEY: 2 } as const;
const HASH_BYTES = 32;
/** Added to the role of a grant that limits the number of databases. */
const BOUNDED = 16;
const ID = /^[\da-f]{16}$/;
/** One line of text, without blanks at its ends. */
const NAME = /^(?! )[^\p{Cc}\p{Zl}\p{Zp}]{1,128}(?<! )$/u;
const TIME_MS_MAX = 253_402_300_799_999;

/** Returns true for a valid id of an issuer. */
function isBy(text: string): boolean {
  return text !== '' && text.length <= CREATED_BY_LENGTH_MAX;
}

/**
 * Returns true when the key of a token still has a valid secret that is as old as the token or older. Replacing a
 * secret invalidates its tokens.
 */
export function isStillIssued(
  { createdAtMs }: Pick<ApiKey, 'createdAtMs'>,
  issuer: { readonly secrets: readonly (Pick<KeySecret, 'createdAtMs'> & Partial<KeySecret>)[] } | undefined,
  nowMs: number,
): boolean {
  const counts = ({ expiresAtMs }: Partial<KeySecret>): boolean => expiresAtMs === undefined || expiresAtMs > nowMs;
  return issuer?.secrets.some((secret) => secret.createdAtMs <= createdAtMs && counts(secret)) === true;
}

/** Returns true when releases that know at most level 5 cannot read the key. */
export function boundsDatabases({ grants }: Pick<ApiKey, 'grants'>): boolean {
  return grants.some(({ databasesMax }) => databasesMax !== undefined);
}

export function isKeyId(text: string): boolean {
  return ID.test(text);
}

/** Why a display name is invalid, or undefined. */
export function faultInKeyName(name: string): string | undefined {
  const bytes = encodeUtf8(name).length;
  if (NAME.test(name) && name.isWellFormed() && bytes <= KEY_NAME_BYTES_MAX) return undefined;
  return `must be one line of 1 to ${KEY_NAME_BYTES_MAX} bytes without blanks at its ends`;
}

export function writeApiKey(into: ByteWriter, key: ApiKey): void {
  writeKeyId(into, key.id);
  into.varint(key.version);
  writeText(into, key.name);
  writeText(into, key.createdBy);
  into.u64le(key.createdAtMs);
  into.u64le(key.expiresAtMs ?? 0);
  writeOrigin(into, key.token);
  into.varint(key.grants.length);
  for (const { role, databases, databasesMax } of key.grants) {
    into.u8(ROLES.indexOf(role) + (databasesMax === undefined ? 0 : BOUNDED));
    writeText(into, databases);
    if (databasesMax !== undefined) into.varint(databasesMax);
  }
  into.varint(key.secrets.length);
  for (const { hash, createdAtMs, expiresAtMs } of key.secrets) {
    into.bytes(hash);
    into.u64le(createdAtMs);
    into.u64le(expiresAtMs ?? 0);
  }
}

/** Returns undefined unless the bytes are an encoding of a key. */
export function readApiKey(reader: ByteReader): ApiKey | undefined {
  const id = readKeyId(reader);
  const version = reader.varint();
  const name = readText(reader);
  const createdBy = readText(reader);
  const createdAtMs = reader.u64le();
  const expiresAtMs = reader.u64le();
  const origin = readOrigin(reader);
  const grants = readGrants(reader);
  const secrets = readSecrets(reader);
  if (reader.failed || id === undefined || origin === undefined || grants === undefined || secrets === undefined)
    return undefined;
  const isDated = createdAtMs <= TIME_MS_MAX && expiresAtMs <= TIME_MS_MAX;
  if (version === 0 || !isDated || faultInKeyName(name) !== undefined || !isBy(createdBy)) return undefined;
  const { token } = origin;
  if (token !== undefined && expiresAtMs === 0) return undefined;
  return { id, version, name, grants, createdAtMs, createdBy, expiresAtMs: expiresAtMs || undefined, token, secrets };
}

function writeOrigin(into: ByteWriter, token: TokenOrigin | undefined): void {
  if (token?.keyId === undefined) {
    into.u8(token === undefined ? KIND.KEY : KIND.TOKEN);
    return;
  }
  into.u8(KIND.TOKEN_OF_KEY);
  writeKeyId(into, token.keyId);
}

function readOrigin(reader: ByteReader): Pick<ApiKey, 'token'> | undefined {
  const kind = reader.u8();
  if (kind === KIND.KEY) return { token: undefined };
  if (kind === KIND.TOKEN) return { token: { keyId: undefined } };
  const keyId = kind === KIND.TOKEN_OF_KEY ? readKeyId(reader) : undefined;
  return keyId === undefined ? undefined : { token: { keyId } };
}

export function writeKeyId(into: ByteWriter, id: string): void {
  for (let at = 0; at < id.length; at += 2) into.u8(Number.parseInt(id.slice(at, at + 2), 16));
}

/** Undefined when the bytes are too short. */
export function readKeyId(reader: ByteReader): string | undefined {
  const bytes = reader.bytes(ID_BYTES);
  return bytes.length === ID_BYTES ? toHex(bytes) : undefined;
}

function readGrants(reader: ByteReader): readonly Grant[] | undefined {
  const count = reader.varint();
  if (count > KEY_GRANTS_MAX) return undefined;
  const grants: Grant[] = [];
  while (grants.length < count) {
    const first = reader.u8();
    const isBounded = first >= BOUNDED;
    const role = ROLES[isBounded ? first - BOUNDED : first];
    const databases = readText(reader);
    if (role === undefined) return undefined;
    const grant = { role, databases, ...(isBounded && { databasesMax: reader.varint() }) };
    if (!isGrant(grant)) return undefined;
    grants.push(grant);
  }
  return grants;
}

function readSecrets(reader: ByteReader): readonly KeySecret[] | undefined {
  const count = reader.varint();
  if (count === 0 || count > KEY_SECRETS_MAX) return undefined;
  const secrets: KeySecret[] = [];
  while (secrets.length < count) {
    const hash = reader.bytes(HASH_BYTES).slice();
    const createdAtMs = reader.u64le();
    const expiresAtMs = reader.u64le();
    if (hash.length !== HASH_BYTES || createdAtMs > TIME_MS_MAX || expiresAtMs > TIME_MS_MAX) return undefined;
    secrets.push({ hash, createdAtMs, expiresAtMs: expiresAtMs || undefined });
  }
  return secrets;
}

function writeText(into: ByteWriter, text: string): void {
  const bytes = encodeUtf8(text);
  into.varint(bytes.length);
  into.bytes(bytes);
}

function readText(reader: ByteReader): string {
  return reader.utf8(reader.varint());
}
