/**
 * Metadata of a protected resource (RFC 9728), which the authorization of MCP requires: it refers clients without a
 * token to the provider.
 *
 * Not here: the host or target of a request. Its sender could have clients ask for tokens for another resource, and
 * collect them (ADR 0121).
 */

export interface ProtectedResource {
  /** URL of the endpoint for clients, in normal form without query and fragment. */
  readonly url: string;
  /** Issuer of accepted tokens, compared literally. */
  readonly issuer: string;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

export class ResourceMetadata {
  /** The parameter of a challenge with its URL (RFC 9728, section 5.1). */
  readonly challenge: string;
  readonly #body: string;
  readonly #paths: ReadonlySet<string>;

  constructor({ url, issuer }: ProtectedResource) {
    const { origin, pathname } = new URL(url);
    // The path of the resource follows the well-known one, without the slash of an empty path (section 3.1).
    const own = `${WELL_KNOWN}${pathname.replace(/\/$/, '')}`;
    this.challenge = `resource_metadata="${origin}${own}"`;
    // Clients that have seen no challenge request the well-known path alone.
    this.#paths = new Set([WELL_KNOWN, own]);
    this.#body = JSON.stringify({
      resource: url,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
    });
  }

  /** The document, if this is its path. */
  at(path: string): string | undefined {
    return this.#paths.has(path) ? this.#body : undefined;
  }
}
