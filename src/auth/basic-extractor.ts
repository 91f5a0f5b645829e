/**
 * API keys and tokens as passwords of HTTP Basic authentication (RFC 7617), the only credential that a browser asks its
 * user for without a page.
 *
 * The user name is ignored. The password is checked like a bearer token, so that API keys are checked in one place. A
 * password that is not an API key is left to other extractors. gRPC and MCP do not use this extractor, because their
 * clients are programs.
 */
import { isUtf8 } from 'node:buffer';
import { type Credentials, type Extractor, type Found, NOTHING, type Principal } from './extractor.ts';

/** Challenge that makes a browser ask its user, and send the input in UTF-8 (RFC 7617, section 2.1). */
const BASIC_CHALLENGE = 'Basic realm="cairn", charset="UTF-8"';

/** Well above the length of any key and name. */
const LENGTH_MAX = 4_096;
const BASIC = /^basic +([\da-z+/]+={0,2})$/i;
/** Neither part has control characters (RFC 7617, section 2); a key has no spaces; a password may contain colons. */
const PAIR = /^[^:\p{Cc}]*:([^\p{Cc}\s]+)$/u;

/** `keys`: extractors of API keys, in the order in which they are called. */
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

/** Synchronous if all extractors are. */
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

/** The password of valid, canonical base64 in UTF-8; undefined without one. */
function passwordIn(credentials: Credentials): string | undefined {
  if (credentials.mayBeBrowser !== true) return undefined;
  const [sent = ''] = credentials.values('authorization');
  const [, text] = sent.length > LENGTH_MAX ? [] : (BASIC.exec(sent) ?? []);
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text || !isUtf8(bytes)) return undefined;
  return PAIR.exec(bytes.toString())?.[1];
}
