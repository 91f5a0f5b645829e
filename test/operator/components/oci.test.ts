// Goal: the registry client resolves and verifies artifacts, and answers challenges. Method: a registry on loopback.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { credentialFor, digestOf, Registry } from '../../../operator/src/components/index.ts';

const WASM = Buffer.from('a component');
const LAYER = { mediaType: 'application/wasm', digest: digestOf(WASM), size: WASM.length };

interface Plan {
  readonly layers?: readonly object[];
  readonly blob?: Buffer;
  /** True when the registry requires a token, which requires a password. */
  readonly isPrivate?: boolean;
}

async function startRegistry({ layers = [LAYER], blob = WASM, isPrivate = false }: Plan = {}): Promise<string> {
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, layers }));
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { host = '', authorization } = request.headers;
    const { pathname, searchParams } = new URL(request.url ?? '', `http://${host}`);
    const end = (status: number, body: Buffer | string = '', headers = {}): void =>
      void response.writeHead(status, headers).end(body);
    if (pathname === '/token') {
      const isKnown = authorization === `Basic ${Buffer.from('ada:secret').toString('base64')}`;
      const isAsked = searchParams.get('scope') === 'repository:team/balances:pull';
      end(isKnown && isAsked ? 200 : 403, JSON.stringify({ token: 'a-token' }));
    } else if (isPrivate && authorization !== 'Bearer a-token') {
      const challenge = `Bearer realm="http://${host}/token",service="registry",scope="repository:team/balances:pull"`;
      end(401, '', { 'www-authenticate': challenge });
    } else if (
      [`/v2/team/balances/manifests/1.2.0`, `/v2/team/balances/manifests/${digestOf(manifest)}`].includes(pathname)
    )
      end(200, manifest);
    else if (pathname === `/v2/team/balances/manifests/${digestOf(WASM)}`) end(200, manifest);
    else if (pathname === `/v2/team/balances/blobs/${LAYER.digest}`) end(200, blob);
    else end(404);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}/team/balances`;
}

it('resolves a tag and loads the layer with the digest (KP3)', async () => {
  const registry = new Registry(`${await startRegistry()}:1.2.0`);
  const digest = await registry.resolve();
  expect([digest, await registry.load(digest)]).toEqual([LAYER.digest, WASM]);
});

it('gets a token with the credential of the pull secret', async () => {
  const repository = await startRegistry({ isPrivate: true });
  const reference = `${repository}:1.2.0`;
  const host = repository.split('/')[0] ?? '';
  const config = JSON.stringify({ auths: { [host]: { auth: Buffer.from('ada:secret').toString('base64') } } });
  const registry = new Registry(reference, credentialFor(reference, config));
  expect(await registry.load(await registry.resolve())).toEqual(WASM);
  await expect(new Registry(reference).resolve()).rejects.toThrow('the token service answered 403');
});

it('says why a registry cannot be reached', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await promisify(closed.close.bind(closed))();
  const reason = `http://127.0.0.1:${port}/v2/team/balances/manifests/1: connect ECONNREFUSED 127.0.0.1:${port}`;
  await expect(new Registry(`127.0.0.1:${port}/team/balances:1`).resolve()).rejects.toThrow(reason);
});

it.each<readonly [string, Plan, string, string]>([
  ['a layer with other bytes', { blob: Buffer.from('another') }, ':1.2.0', 'the registry sent sha256:'],
  ['a manifest with another digest', {}, `@${digestOf(WASM)}`, 'the registry sent sha256:'],
  ['several layers', { layers: [LAYER, LAYER] }, ':1.2.0', 'the artifact has 2 layers, not one'],
  ['a layer of another type', { layers: [{ ...LAYER, mediaType: 'text/plain' }] }, ':1.2.0', 'the layer is text/plain'],
  ['a layer that is too large', { layers: [{ ...LAYER, size: 2 ** 27 }] }, ':1.2.0', 'more than 67108864'],
  ['a tag that does not exist', {}, ':2', '404 Not Found'],
])('refuses %s (KP3)', async (_name, plan, version, message) => {
  const registry = new Registry(`${await startRegistry(plan)}${version}`);
  await expect(registry.resolve().then((digest) => registry.load(digest))).rejects.toThrow(message);
});
