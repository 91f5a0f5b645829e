/**
 * An OpenID provider for tests: a small server on loopback with its own keys, which issues any tokens that a test
 * needs.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export const AUDIENCE = 'cairn-test';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface SignParts {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: CryptoKey | Uint8Array;
  /** Header names that the verifier must understand. */
  readonly crit?: Readonly<Record<string, boolean>>;
}

export class IdentityProvider implements AsyncDisposable {
  readonly issuer: string;
  readonly jwksUrl: string;
  /**
   * Answers in addition to its configuration, by path with or without a query; an entry for its keys replaces the
   * default.
   */
  readonly answers: Map<string, Answer> = new Map();
  /** Requested paths. */
  readonly asked: string[] = [];
  readonly #server: Server;
  #keys: readonly JWK[] = [];
  #signer: { readonly kid: string; readonly key: CryptoKey } | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${port}`;
    this.jwksUrl = `${this.issuer}/keys`;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  static async start(): Promise<IdentityProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a TCP address');
    const provider = new IdentityProvider(server, address.port);
    await provider.rotate('key-1');
    return provider;
  }

  /** Signs with a new key from now on, and publishes only that key. */
  async rotate(kid: string, alg = 'ES256'): Promise<JWK> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const published = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
    this.#keys = [published];
    this.#signer = { kid, key: privateKey };
    return published;
  }

  publish(keys: readonly JWK[]): void {
    this.#keys = keys;
  }

  /** A valid token unless the test says otherwise; `undefined` omits a claim. */
  async token(claims: Record<string, unknown> = {}, { header = {}, key, crit }: SignParts = {}): Promise<string> {
    if (this.#signer === undefined) throw new Error('a provider has a key');
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const usual = { iss: this.issuer, aud: AUDIENCE, sub: 'ann', iat: nowSeconds, exp: nowSeconds + 300 };
    const all = Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined);
    return new SignJWT(Object.fromEntries(all))
      .setProtectedHeader({ alg: 'ES256', kid: this.#signer.kid, ...header })
      .sign(key ?? this.#signer.key, crit === undefined ? {} : { crit });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/';
    this.asked.push(path);
    const answer = this.answers.get(path) ?? this.answers.get(path.split('?', 1)[0] ?? path);
    if (answer !== undefined) return answer(request, response);
    if (path === '/keys') return sendJson(response, { keys: this.#keys });
    if (path === '/.well-known/openid-configuration') {
      return sendJson(response, { issuer: this.issuer, jwks_uri: this.jwksUrl });
    }
    response.writeHead(404).end();
  }
}

export function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A token without a signature, or with the given one. */
export function unsignedToken(header: object, claims: object, signature = ''): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${signature}`;
}
