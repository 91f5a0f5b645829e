/**
 * An API key or a token as stored in the catalog, and its bytes (docs/formats/entries.md). Only the hash of a secret is
 * stored.
 *
 * ```
 * key     8 bytes id | varint version | text name | text created by | u64 LE created ms | u64 LE expires ms, 0: never
 *         | u8 kind | of kind 2 alone: 8 bytes id of a key | varint count, each grant | varint count, each secret
 * grant   u8 role | text databases | u8 has a maximum | [varint maximum number of databases]
 * kind    0 a key | 1 a token | 2 a token that a key has issued
 * secret  32 bytes SHA-256 | u64 LE created ms | u64 LE expires ms, 0: with its key
 * text    varint length | UTF-8
 * ```
 *
 *   M13 A key has exactly one encoding; all other bytes are refused.
 */
import {
  encodeUtf8,
  type Field,
  fail,
  fieldsOf,
  fixedBytes,
  listOf,
  mapped,
  oneOf,
  optional,
  parseHex,
  TEXT,
  toHex,
  U64,
  VARINT,
  valid,
} from '#base';
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
export function isStillIssued(token: ApiKey, issuer: ApiKey | undefined, nowMs: number): boolean {
  const { secrets = [] } = issuer ?? {};
  return secrets.some(
    ({ createdAtMs, expiresAtMs = Infinity }) => createdAtMs <= token.createdAtMs && expiresAtMs > nowMs,
  );
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

export const KEY_ID: Field<string> = mapped(fixedBytes(ID_BYTES), bytesOfId, toHex);
const TIME_MS = valid(U64, (timeMs) => timeMs <= TIME_MS_MAX);
/** 0 for none. */
const EXPIRY_MS: Field<number | undefined> = {
  write: (writer, timeMs) => TIME_MS.write(writer, timeMs ?? 0),
  read: (reader) => TIME_MS.read(reader) || undefined,
};

const TOKEN: Field<TokenOrigin | undefined> = {
  write: (writer, token) => {
    const kind = token === undefined ? KIND.KEY : KIND.TOKEN;
    writer.u8(token?.keyId === undefined ? kind : KIND.TOKEN_OF_KEY);
    if (token?.keyId !== undefined) KEY_ID.write(writer, token.keyId);
  },
  read: (reader) => {
    const kind = reader.u8();
    if (kind === KIND.KEY) return undefined;
    if (kind === KIND.TOKEN) return { keyId: undefined };
    return kind === KIND.TOKEN_OF_KEY ? { keyId: KEY_ID.read(reader) } : fail(reader);
  },
};

const GRANT: Field<Grant> = valid(
  fieldsOf<Grant>({ role: oneOf(ROLES), databases: TEXT, databasesMax: optional(VARINT) }),
  isGrant,
);

const SECRET = fieldsOf<KeySecret>({ hash: fixedBytes(HASH_BYTES), createdAtMs: TIME_MS, expiresAtMs: EXPIRY_MS });

/** A token has an expiry. */
export const API_KEY: Field<ApiKey> = valid(
  fieldsOf<ApiKey>({
    id: KEY_ID,
    version: valid(VARINT, (version) => version > 0),
    name: valid(TEXT, (name) => faultInKeyName(name) === undefined),
    createdBy: valid(TEXT, isBy),
    createdAtMs: TIME_MS,
    expiresAtMs: EXPIRY_MS,
    token: TOKEN,
    grants: listOf(GRANT, { max: KEY_GRANTS_MAX }),
    secrets: listOf(SECRET, { min: 1, max: KEY_SECRETS_MAX }),
  }),
  ({ token, expiresAtMs }) => token === undefined || expiresAtMs !== undefined,
);

function bytesOfId(id: string): Uint8Array {
  return parseHex(id) ?? new Uint8Array(ID_BYTES);
}
