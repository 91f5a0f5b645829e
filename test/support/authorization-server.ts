// An OAuth authorization server for tests, in addition to an identity provider with its keys: metadata (RFC 8414),
// registration of clients (RFC 7591), codes with PKCE (RFC 7636) for a resource (RFC 8707), and single-use refresh
// tokens. Every user consents automatically. Invalid requests are refused and recorded.
import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type IdentityProvider, sendJson } from './identity-provider.ts';

interface Consent {
  readonly client: string;
  readonly redirect: string;
  readonly challenge: string;
  readonly resource: string;
}

export interface Grant {
  readonly kind: string;
  readonly resource: string | null;
}

const LIFETIME_S = 300;

export class AuthorizationServer {
  /** The requests for tokens. */
  readonly grants: Grant[] = [];
  readonly faults: string[] = [];
  /** Additional claims of the issued tokens. */
  claims: Readonly<Record<string, unknown>> = {};
  readonly #provider: IdentityProvider;
  readonly #clients = new Map<string, readonly string[]>();
  readonly #codes = new Map<string, Consent>();
  readonly #refreshing = new Map<string, Consent>();

  constructor(provider: IdentityProvider) {
    this.#provider = provider;
    const { answers, issuer, jwksUrl } = provider;
    answers.set('/.well-known/oauth-authorization-server', (_request, response) => {
      sendJson(response, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        jwks_uri: jwksUrl,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      });
    });
    answers.set('/register', (request, response) => void this.#register(request, response));
    answers.set('/authorize', (request, response) => this.#authorize(request, response));
    answers.set('/token', (request, response) => void this.#token(request, response));
  }

  async #register(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await textOf(request)) as { readonly redirect_uris: readonly string[] };
    const id = randomUUID();
    this.#clients.set(id, asked.redirect_uris);
    const body = JSON.stringify({ ...asked, client_id: id });
    response.writeHead(201, { 'content-type': 'application/json' }).end(body);
  }

  #authorize({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const { searchParams: asked } = new URL(url, this.#provider.issuer);
    const [client, redirect, challenge, resource] = ['client_id', 'redirect_uri', 'code_challenge', 'resource'].map(
      (name) => asked.get(name) ?? '',
    ) as [string, string, string, string];
    const isRight = asked.get('response_type') === 'code' && asked.get('code_challenge_method') === 'S256';
    if (!isRight || challenge === '' || resource === '') return this.#refuse(response, 'invalid_request');
    if (this.#clients.get(client)?.includes(redirect) !== true) return this.#refuse(response, 'invalid_client');
    const code = randomUUID();
    this.#codes.set(code, { client, redirect, challenge, resource });
    const back = new URL(redirect);
    back.search = new URLSearchParams({ code, state: asked.get('state') ?? '', iss: this.#provider.issuer }).toString();
    response.writeHead(302, { location: back.href }).end();
  }

  async #token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = new URLSearchParams(await textOf(request));
    const kind = asked.get('grant_type') ?? '';
    this.grants.push({ kind, resource: asked.get('resource') });
    const consent = kind === 'refresh_token' ? this.#refreshed(asked) : this.#redeemed(asked);
    if (consent?.client !== asked.get('client_id') || consent?.resource !== asked.get('resource')) {
      return this.#refuse(response, 'invalid_grant');
    }
    const refresh_token = randomUUID();
    this.#refreshing.set(refresh_token, consent);
    const exp = Math.floor(Date.now() / 1_000) + LIFETIME_S;
    const access_token = await this.#provider.token({ aud: consent.resource, exp, ...this.claims });
    sendJson(response, { access_token, token_type: 'Bearer', expires_in: LIFETIME_S, refresh_token });
  }

  #redeemed(asked: URLSearchParams): Consent | undefined {
    const consent = taken(this.#codes, asked.get('code'));
    const shown = createHash('sha256').update(asked.get('code_verifier') ?? '');
    const isRight = consent?.challenge === shown.digest('base64url') && consent.redirect === asked.get('redirect_uri');
    return isRight ? consent : undefined;
  }

  #refreshed(asked: URLSearchParams): Consent | undefined {
    return taken(this.#refreshing, asked.get('refresh_token'));
  }

  #refuse(response: ServerResponse, error: string): void {
    this.faults.push(error);
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  }
}

/** Removes and returns the entry, so that it is used only once. */
function taken(from: Map<string, Consent>, name: string | null): Consent | undefined {
  const found = from.get(name ?? '');
  from.delete(name ?? '');
  return found;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
