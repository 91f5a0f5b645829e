/**
 * A client of the OCI distribution API, for artifacts with one layer: a reference becomes the digest of its layer, and
 * the layer its bytes, which are verified.
 */
import { asError, sha256Of } from '../kube/index.ts';

export interface Credential {
  readonly username: string;
  readonly password: string;
}

interface Reference {
  readonly host: string;
  readonly repository: string;
  /** A tag or a digest. */
  readonly version: string;
}

interface Manifest {
  readonly mediaType?: string;
  readonly layers?: readonly { readonly mediaType: string; readonly digest: string; readonly size: number }[];
}

const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');
const LAYERS = ['application/wasm', 'application/octet-stream'];
const REFERENCE =
  /^([a-z0-9][a-zA-Z0-9.-]*(?::\d+)?)\/([a-z0-9._/-]+?)(?::([A-Za-z0-9_][A-Za-z0-9._-]*))?(?:@(sha256:[0-9a-f]{64}))?$/;
const LOOPBACK = /^(?:localhost|127\.0\.0\.1)(?::|$)/;
const MANIFEST_BYTES_MAX = 4 * 2 ** 20;
/** Limit of the server for a component. */
const LAYER_BYTES_MAX = 64 * 2 ** 20;
const TIMEOUT_MS = 60_000;

export class Registry {
  readonly #reference: Reference;
  readonly #credential: Credential | undefined;
  #authorization: string | undefined;

  constructor(reference: string, credential?: Credential) {
    this.#reference = parse(reference);
    this.#credential = credential;
  }

  /** The digest of the layer, as sha256: and 64 digits. */
  async resolve(): Promise<string> {
    const { version } = this.#reference;
    const body = await this.#get(`manifests/${version}`, MANIFESTS, MANIFEST_BYTES_MAX);
    if (version.startsWith('sha256:')) verify(body, version);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each field that is read is checked
    const { layers = [] } = JSON.parse(body.toString('utf8')) as Manifest;
    const [layer] = layers;
    if (layer === undefined || layers.length > 1) throw new Error(`the artifact has ${layers.length} layers, not one`);
    if (!LAYERS.includes(layer.mediaType))
      throw new Error(`the layer is ${layer.mediaType}, not ${LAYERS.join(' or ')}`);
    if (!(layer.size <= LAYER_BYTES_MAX))
      throw new Error(`the layer has ${layer.size} bytes, more than ${LAYER_BYTES_MAX}`);
    if (!/^sha256:[0-9a-f]{64}$/.test(layer.digest))
      throw new Error(`the digest of the layer is ${layer.digest}, not SHA-256`);
    return layer.digest;
  }

  async load(digest: string): Promise<Buffer> {
    const bytes = await this.#get(`blobs/${digest}`, '*/*', LAYER_BYTES_MAX);
    verify(bytes, digest);
    return bytes;
  }

  async #get(path: string, accept: string, bytesMax: number): Promise<Buffer> {
    const { host, repository } = this.#reference;
    const url = `${LOOPBACK.test(host) ? 'http' : 'https'}://${host}/v2/${repository}/${path}`;
    let response = await this.#fetch(url, accept);
    if (response.status === 401) {
      this.#authorization = await this.#authorize(response.headers.get('www-authenticate') ?? '');
      response = await this.#fetch(url, accept);
    }
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return read(response, url, bytesMax);
  }

  #fetch(url: string, accept: string): Promise<Response> {
    const authorization = this.#authorization === undefined ? {} : { authorization: this.#authorization };
    return request(url, { accept, ...authorization });
  }

  /** Answers the challenge of a registry: with the credential, or with a token that a service gives for it. */
  async #authorize(challenge: string): Promise<string> {
    const { username, password } = this.#credential ?? {};
    const basic =
      username === undefined ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    const fields = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    );
    const realm = fields.get('realm');
    if (!/^bearer /i.test(challenge) || realm === undefined) {
      if (basic === undefined)
        throw new Error(`set pullSecretName to a Secret with a credential for ${this.#reference.host}`);
      return basic;
    }
    const url = new URL(realm);
    if (url.protocol !== 'https:' && !LOOPBACK.test(url.host))
      throw new Error(`the token service ${realm} is not HTTPS`);
    for (const name of ['service', 'scope']) {
      const value = fields.get(name);
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const headers = basic === undefined ? {} : { authorization: basic };
    const response = await request(url, headers);
    if (!response.ok) throw new Error(`the token service answered ${response.status}`);
    const body = await read(response, realm, MANIFEST_BYTES_MAX);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an absent token is refused below
    const { token, access_token: access } = JSON.parse(body.toString('utf8')) as {
      token?: string;
      access_token?: string;
    };
    if (token === undefined && access === undefined) throw new Error('the token service gave no token');
    return `Bearer ${token ?? access}`;
  }
}

/** The credential for a registry in a Secret of the type kubernetes.io/dockerconfigjson. */
export function credentialFor(reference: string, dockerConfig: string): Credential | undefined {
  const { host } = parse(reference);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- absent fields give no credential
  const { auths = {} } = JSON.parse(dockerConfig) as {
    auths?: Record<string, { auth?: string; username?: string; password?: string }>;
  };
  const [, found] = Object.entries(auths).find(([key]) => key.replace(/^https?:\/\//, '').split('/')[0] === host) ?? [];
  if (found === undefined) return undefined;
  const [user = '', ...rest] = Buffer.from(found.auth ?? '', 'base64')
    .toString('utf8')
    .split(':');
  return { username: found.username ?? user, password: found.password ?? rest.join(':') };
}

function parse(reference: string): Reference {
  const [, host, repository = '', tag = 'latest', digest] = REFERENCE.exec(reference) ?? [];
  if (host === undefined) throw new Error(`${reference} is not the reference of an artifact`);
  return { host, repository, version: digest ?? tag };
}

/** The message of `fetch` says only that it has failed; the cause says why. */
async function request(url: string | URL, headers: Readonly<Record<string, string>>): Promise<Response> {
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = asError(error);
    throw new Error(`${String(url)}: ${cause === undefined ? message : asError(cause).message}`, { cause: error });
  }
}

async function read(response: Response, what: string, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const reader = response.body?.getReader();
  for (let length = 0; ; ) {
    const chunk: { value?: Uint8Array } | undefined = await reader?.read();
    if (chunk?.value === undefined) return Buffer.concat(chunks);
    length += chunk.value.length;
    if (length > bytesMax) {
      await reader?.cancel();
      throw new Error(`${what} has more than ${bytesMax} bytes`);
    }
    chunks.push(chunk.value);
  }
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${sha256Of(bytes)}`;
}

function verify(bytes: Buffer, digest: string): void {
  const found = digestOf(bytes);
  if (found !== digest) throw new Error(`the registry sent ${found} for ${digest}`);
}
