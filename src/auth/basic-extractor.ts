/**
 * API keys and tokens as passwords of HTTP Basic (RFC 7617): the one way in which a browser asks its user by itself.
 *
 * The name is whatever the user likes. The password is judged as the same text would be as a bearer token, so that
 * there is one place that knows keys; what is no key is left to others, who may take passwords of their own. Where
 * nothing but programs ask, over gRPC and MCP, nobody is identified so.
 */
import { isUtf8 } from 'node:buffer';
import type { Credentials, Extractor, Found } from './extractor.ts';
import type { Principal } from './principal.ts';

/** What has a browser ask its user. It is to send in UTF-8 what the user types (RFC 7617, section 2.1). */
const BASIC_CHALLENGE = 'Basic realm="cairn", charset="UTF-8"';

/** No key is nearly as long, and names are short. */
const LENGTH_MAX = 4_096;
const BASIC = /^basic +([\da-z+/]+={0,2})$/i;
/** Neither has control characters (RFC 7617, section 2), and a key has no blanks; a password may have colons. */
const PAIR = /^[^:\p{Cc}]*:([^\p{Cc}\s]+)$/u;
const NOTHING: Found = { kind: 'nothing' };

/** `keys`: those that know keys, in the order in which they are asked. */
export function basicExtractor(keys: readonly Extractor[]): Extractor {
  const known = new WeakMap<Principal, Principal>();
  const asSignedIn = (found: Found): Found => {
    if (found.kind !== 'principal') return found;
    const principal = known.get(found.principal) ?? { ...found.principal, isOfBrowser: true };
    known.set(found.principal, principal);
    return { kind: 'principal', principal };
  };
  return {
    inputs: ['Authorization'],
    challenge: BASIC_CHALLENGE,
    extract: (credentials) => {
      const password = passwordIn(credentials);
      if (password === undefined) return NOTHING;
      const found = firstOf(keys, asBearer(password));
      return found instanceof Promise ? found.then(asSignedIn) : asSignedIn(found);
    },
  };
}

/** At once where all are. */
function firstOf(keys: readonly Extractor[], credentials: Credentials): Found | Promise<Found> {
  const [first, ...rest] = keys;
  if (first === undefined) return NOTHING;
  const found = first.extract(credentials);
  if (found instanceof Promise) return found.then((later) => orElse(later, rest, credentials));
  return orElse(found, rest, credentials);
}

function orElse(found: Found, rest: readonly Extractor[], credentials: Credentials): Found | Promise<Found> {
  return found.kind === 'nothing' ? firstOf(rest, credentials) : found;
}

function asBearer(password: string): Credentials {
  const bearer = [`Bearer ${password}`];
  return { values: (name) => (name === 'authorization' ? bearer : []) };
}

/** In the one spelling that there is of its base64, and in UTF-8; undefined: there is none. */
function passwordIn(credentials: Credentials): string | undefined {
  if (credentials.mayBeBrowser !== true) return undefined;
  const [sent = ''] = credentials.values('authorization');
  const [, text] = sent.length > LENGTH_MAX ? [] : (BASIC.exec(sent) ?? []);
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text || !isUtf8(bytes)) return undefined;
  return PAIR.exec(bytes.toString())?.[1];
}
