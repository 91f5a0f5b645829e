/**
 * Tokens as text (RFC 7515, compact): three parts, of which the first two are JSON objects. What is read here nobody
 * has verified: it says which key is to be asked, and lets a token that cannot be valid cost no key and no signature.
 */
import { fromBase64Url } from '#base';

/** What its head says, as far as it is looked at: keys that it brings or names (`jwk`, `jku`, `x5u`, `x5c`) are not. */
export interface TokenHeader {
  readonly alg: string;
  readonly kid?: string | undefined;
  readonly others: Claims;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface TokenText {
  readonly header: TokenHeader;
  readonly claims: Claims;
}

/** A header of a request has no more; longer ones are none of a provider. */
const TOKEN_LENGTH_MAX = 16 * 1024;
/** A name, not an address: longer ones, and other characters, are of somebody who tries what they do. */
const KID = /^[\x21-\x7e]{1,256}$/;
const SHAPE = /^[\w-]+={0,2}\.[\w-]+={0,2}\.[\w-]+={0,2}$/;

/** Whether it looks like one; what does not is a credential of another kind. */
export function isTokenShaped(text: string): boolean {
  return text.length > TOKEN_LENGTH_MAX || SHAPE.test(text);
}

/** Undefined: it is no token. */
export function readTokenText(token: string): TokenText | undefined {
  if (token.length > TOKEN_LENGTH_MAX || !SHAPE.test(token)) return undefined;
  const [head = '', body = ''] = token.split('.');
  const [others, claims] = [objectIn(head), objectIn(body)];
  if (others === undefined || claims === undefined) return undefined;
  const { alg, kid } = others;
  if (typeof alg !== 'string') return undefined;
  if (kid === undefined) return { header: { alg, others }, claims };
  return typeof kid === 'string' && KID.test(kid) ? { header: { alg, kid, others }, claims } : undefined;
}

function objectIn(part: string): Claims | undefined {
  const bytes = fromBase64Url(part.replace(/=+$/, ''));
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isObject(value) ? value : undefined;
  } catch (failure) {
    if (failure instanceof SyntaxError || failure instanceof TypeError) return undefined;
    throw failure;
  }
}

export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
