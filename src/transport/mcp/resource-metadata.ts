/**
 * Metadata of a protected resource (RFC 9728), which the authorization of MCP requires: it leads a client without a
 * token to the provider.
 *
 * Not here: the host or target of a request. Its sender could have clients ask for tokens for another resource, and
 * collect them (ADR 0121).
 */

export interface ProtectedResource {
  /** Where clients reach the endpoint, as a URL in normal form without query and fragment. */
  readonly url: string;
  /** Whose tokens count, letter by letter. */
  readonly issuer: string;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

export class ResourceMetadata {
  /** The parameter of a challenge that leads to it (RFC 9728, section 5.1). */
  readonly challenge: string;
  readonly #body: string;
  readonly #paths: ReadonlySet<string>;

  constructor({ url, issuer }: ProtectedResource) {
    const { origin, pathname } = new URL(url);
    // The path of the resource goes behind the well-known one, without the slash of an empty path (section 3.1).
    const own = `${WELL_KNOWN}${pathname.replace(/\/$/, '')}`;
    this.challenge = `resource_metadata="${origin}${own}"`;
    // Clients ask for the one without a path, too, where they have seen no challenge.
    this.#paths = new Set([WELL_KNOWN, own]);
    this.#body = JSON.stringify({
      resource: url,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
    });
  }

  /** The document, if it is at the path. */
  at(path: string): string | undefined {
    return this.#paths.has(path) ? this.#body : undefined;
  }
}
