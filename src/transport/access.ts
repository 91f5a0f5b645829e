/** Authentication as transports receive it; absent when it is off. */
import type { Authenticator, Credentials, Principal } from '#auth';
import { DatabaseError } from '#base';
import { inSpan, type Span } from '#observability';
import type { Service } from '#service';

export interface Access {
  readonly authenticator: Authenticator;
  /** The service with the permissions of the principal: it refuses what the principal may not do (V16). */
  readonly serviceOf: (principal: Principal) => Service;
}

/** Waits until the caller is authenticated, in a span below that of the request. */
export function authenticating(found: Promise<Principal>, span: Span | undefined): Promise<Principal> {
  return span === undefined ? found : inSpan(span, 'cairn.authenticate', () => found);
}

/** API keys issued while callers are not authenticated would be valid once they are. */
export function authenticationOff(): DatabaseError {
  const message =
    'Authentication is off on this node, and API keys and tokens are issued where it is on: start it with --auth on';
  return new DatabaseError('permission_denied', message, { details: { reason: 'AuthenticationOff' } });
}

/** HTTP/1 headers as received, name and value alternating: Node would join repeated ones, or drop one. */
export function headerLines(
  lines: readonly string[],
  { mayBeBrowser }: Required<Pick<Credentials, 'mayBeBrowser'>>,
): Credentials {
  const values = (wanted: string): readonly string[] =>
    lines.flatMap((name, at) => (at % 2 === 0 && name.toLowerCase() === wanted ? [lines[at + 1] ?? ''] : []));
  return { mayBeBrowser, values };
}
