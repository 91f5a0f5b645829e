/** What every transport is given with authentication on; without it there is none. */
import type { Authenticator, Credentials, Principal } from '#auth';
import { DatabaseError } from '#base';
import { inSpan, type Span } from '#observability';
import type { Service } from '#service';

export interface Access {
  readonly authenticator: Authenticator;
  /** As the principal sees it: what it may not do is refused there (V16). */
  readonly serviceOf: (principal: Principal) => Service;
}

/** The wait until it is known who asks, in a span below that of the request. */
export function authenticating(found: Promise<Principal>, span: Span | undefined): Promise<Principal> {
  return span === undefined ? found : inSpan(span, 'cairn.authenticate', () => found);
}

/** API keys issued while callers are not authenticated would be valid once they are. */
export function authenticationOff(): DatabaseError {
  const message =
    'Authentication is off on this node, and API keys and tokens are issued where it is on: start it with --auth on';
  return new DatabaseError('permission_denied', message, { details: { reason: 'AuthenticationOff' } });
}

/** The headers of HTTP/1 as they came, name and value in turn: Node would join what is sent twice, or drop one. */
export class HeaderLines implements Credentials {
  readonly mayBeBrowser: boolean;
  readonly #lines: readonly string[];

  constructor(lines: readonly string[], { mayBeBrowser }: Required<Pick<Credentials, 'mayBeBrowser'>>) {
    this.#lines = lines;
    this.mayBeBrowser = mayBeBrowser;
  }

  values(name: string): readonly string[] {
    const values: string[] = [];
    for (let at = 0; at < this.#lines.length; at += 2) {
      if (this.#lines[at]?.toLowerCase() === name) values.push(this.#lines[at + 1] ?? '');
    }
    return values;
  }
}
