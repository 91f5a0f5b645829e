/**
 * Identifies the principal of a request: the first extractor that finds a credential decides. Refuses a repeated
 * credential header, and a request without a valid credential.
 */
import { DatabaseError } from '#base';
import { type Credentials, type Extractor, type Found, NOTHING, type Principal } from './extractor.ts';

const REFUSED = 'CredentialRefused';

/** Value of WWW-Authenticate for a refusal with this reason (RFC 6750, section 3); an API key is a bearer token. */
export function challenge(reason: string | undefined): string {
  return reason === REFUSED ? 'Bearer realm="cairn", error="invalid_token"' : 'Bearer realm="cairn"';
}

export interface AuthenticatorParts {
  /** Extractors in the order in which they are called. */
  readonly chain: readonly Extractor[];
  /** Called for each invalid credential. */
  readonly onRefused: (why: string) => void;
}

export class Authenticator {
  /** The headers that responses to a principal vary on; undefined when an extractor does not declare its headers. */
  readonly inputs: readonly string[] | undefined;
  /** Challenge that makes a browser ask its user; undefined when no extractor accepts such a credential. */
  readonly challengeToBrowsers: string | undefined;
  readonly #chain: readonly Extractor[];
  readonly #names: readonly string[];
  readonly #onRefused: (why: string) => void;

  constructor({ chain, onRefused }: AuthenticatorParts) {
    this.#chain = chain;
    this.#onRefused = onRefused;
    const declared = chain.flatMap(({ inputs = [] }) => inputs);
    this.#names = [...new Set(declared.map((name) => name.toLowerCase()))];
    this.inputs = chain.some(({ inputs }) => inputs === undefined) ? undefined : [...new Set(declared)];
    this.challengeToBrowsers = chain.find(({ challenge: asked }) => asked !== undefined)?.challenge;
  }

  /**
   * Identifies the client of a request. The result is a promise only when an extractor has to wait, such as for the
   * keys of a provider.
   * @throws DatabaseError unauthenticated, also as a rejection
   */
  identify(credentials: Credentials): Principal | Promise<Principal> {
    const twice = this.#names.find((name) => credentials.values(name).length > 1);
    if (twice !== undefined) throw this.#refused(`${twice} was sent more than once`);
    for (const [at, extractor] of this.#chain.entries()) {
      const found = extractor.extract(credentials);
      if (found instanceof Promise) return this.#later(found, this.#chain.slice(at + 1), credentials);
      if (found.kind !== 'nothing') return this.#decided(found, credentials);
    }
    return this.#decided(NOTHING, credentials);
  }

  async #later(first: Promise<Found>, rest: readonly Extractor[], credentials: Credentials): Promise<Principal> {
    let found = await first;
    for (const extractor of rest) {
      if (found.kind !== 'nothing') break;
      found = await extractor.extract(credentials);
    }
    return this.#decided(found, credentials);
  }

  #decided(found: Found, credentials: Credentials): Principal {
    if (found.kind === 'principal') return found.principal;
    if (found.kind === 'refused') throw this.#refused(found.why);
    const unknown = this.#names.find((name) => credentials.values(name).length > 0);
    throw unknown === undefined ? missing() : this.#refused(`what was sent as ${unknown} is no credential of any kind`);
  }

  #refused(why: string): DatabaseError {
    this.#onRefused(why);
    return new DatabaseError('unauthenticated', 'The credential of this request is not valid', {
      details: { reason: REFUSED },
    });
  }
}

function missing(): DatabaseError {
  const message =
    'This server requires a credential: send an API key as X-API-Key, or a token as Authorization: Bearer';
  return new DatabaseError('unauthenticated', message, { details: { reason: 'CredentialMissing' } });
}
