/**
 * Parses tokens as text (RFC 7515, compact): three parts, of which the first two are JSON objects. The content is not
 * verified here: it selects the key, and lets invalid tokens be refused without a key or a signature check.
 */
import { fromBase64Url } from '#base';

/** Used fields of the header. Keys that a token brings or references (`jwk`, `jku`, `x5u`, `x5c`) are ignored. */
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

/** A request header is not longer; providers do not issue longer tokens. */
const TOKEN_LENGTH_MAX = 16 * 1024;
/** A key name, not a URL; anything longer or with other characters is an attack. */
const KID = /^[\x21-\x7e]{1,256}$/;
const SHAPE = /^[\w-]+={0,2}\.[\w-]+={0,2}\.[\w-]+={0,2}$/;

/** Returns whether the text looks like a token; other texts are credentials of another kind. */
export function isTokenShaped(text: string): boolean {
  return text.length > TOKEN_LENGTH_MAX || SHAPE.test(text);
}

/** Undefined when the text is not a token. */
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
