// Client certificates give rights over gRPC, at a node that holds the database and at a node that relays.
import { X509Certificate } from 'node:crypto';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { afterAll, describe, expect, it } from 'vitest';
import { RELAYED } from '../../src/transport/relay.ts';
import { Authority, type Issued } from '../support/certificates.ts';
import { outcomeOf, TestClient } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { AS_FIRST, guardedSettings } from '../support/guarded-node.ts';
import { askHttps } from '../support/https.ts';
import type { TestServer } from '../support/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { channelOf, LOOPBACK_NAMES, TlsFiles } from '../support/tls-files.ts';
import { startTwo } from '../support/two-nodes.ts';

const NAME = 'shop';
const authority = new Authority();
const stranger = new Authority('another authority');
const dir = tempDir();
const files = new TlsFiles(dir.path);
files.put(authority.issue({ cn: 'node', names: LOOPBACK_NAMES }));
const caFile = files.authorities('ca.crt', authority);

const writer = authority.issue({ cn: 'a writer', names: ['URI:spiffe://shop/api', 'DNS:api.shop.example'] });
const unknown = authority.issue({ cn: 'nobody in particular' });

const { holder, other } = await startTwo(
  NAME,
  { credential: AS_FIRST, channel: channelOf(authority, writer) },
  ...files.settings,
  `--tls-ca-file=${caFile}`,
  `--tls-client-ca-file=${caFile}`,
  ...guardedSettings(dir.path),
  '--rate-limit-per-second=100000',
  // CN=node has the role admin: a node that relays a request must act with the rights of the client, not with its own.
  '--auth-certificate-roles=URI=spiffe://shop/api=writer:shop;CN=node=admin;CN=reader of all=reader;CN=elsewhere=reader:elsewhere',
);
const NODES: readonly (readonly [string, TestServer])[] = [
  ['that holds the database', holder],
  ['that does not', other],
];

const clients: TestClient[] = [];
afterAll(async () => {
  for (const client of clients) await client[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

function clientOf({ grpc }: TestServer, channel: ChannelCredentials): TestClient {
  const client = new TestClient(grpc, {}, channel);
  clients.push(client);
  return client;
}

type Metadata = Readonly<Record<string, string>>;

async function readBy(server: TestServer, shown: Issued | undefined, metadata: Metadata = {}): Promise<string> {
  const client = clientOf(server, channelOf(authority, shown));
  const outcome = await outcomeOf(client.send('fetchLatestDatabase', { databaseName: NAME }, { metadata }));
  return outcome.split(' ', 1).join();
}

describe.each(NODES)('SPEC-TLS-CLIENT: at the node %s', (_which, server) => {
  it('the names of a certificate give its client roles', async () => {
    expect(await readBy(server, writer)).toBe('OK');
    expect(await readBy(server, authority.issue({ cn: 'reader of all' }))).toBe('OK');
    expect(await readBy(server, unknown)).toBe('PERMISSION_DENIED');
  });

  it('a writer can write, and a reader cannot', async () => {
    const write = (shown: Issued): Promise<unknown> => {
      const request = transaction(NAME, [event({ id: uniqueName() })]);
      return clientOf(server, channelOf(authority, shown)).send('transact', request);
    };
    const denied = expect.objectContaining({ code: 'PERMISSION_DENIED' });
    await expect(write(authority.issue({ cn: 'reader of all' }))).rejects.toEqual(denied);
    await expect(write(writer)).resolves.toBeDefined();
  });

  it('a client without a certificate, with one of another authority, or with an expired one is refused', async () => {
    expect(await readBy(server, undefined)).toBe('UNAVAILABLE');
    expect(await readBy(server, stranger.issue({ cn: 'reader of all' }))).toBe('UNAVAILABLE');
    expect(await readBy(server, authority.issue({ cn: 'reader of all', days: [-3, -1] }))).toBe('UNAVAILABLE');
  });

  it('a key counts before the certificate, whether it is right or wrong', async () => {
    expect(await readBy(server, unknown, AS_FIRST)).toBe('OK');
    expect(await readBy(server, writer, { 'x-api-key': 'wrong' })).toBe('UNAUTHENTICATED');
    expect(await readBy(server, writer, { authorization: 'Bearer of nothing' })).toBe('UNAUTHENTICATED');
  });

  it('a client cannot forge the header of a relayed certificate', async () => {
    const forged = `:${new X509Certificate(writer.cert).raw.toString('base64')}:`;
    for (const relayed of [{}, { [RELAYED]: 'one' }, { [RELAYED]: 'two' }, { [RELAYED]: 'nobody' }]) {
      expect(await readBy(server, unknown, { 'client-cert': forged, ...relayed })).toBe('UNAUTHENTICATED');
    }
  });

  it('a list has only the databases that the certificate may read', async () => {
    const seen = async (shown: Issued): Promise<readonly string[]> => {
      const { databases } = await clientOf(server, channelOf(authority, shown)).send('fetchCatalog', {});
      return databases.map(({ name }) => name);
    };
    expect(await seen(writer)).toEqual([NAME]);
    expect(await seen(authority.issue({ cn: 'elsewhere' }))).toEqual([]);
    await expect(seen(unknown)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('HTTP identifies no caller by a certificate, and does not vary on one', async () => {
    const forged = `:${new X509Certificate(writer.cert).raw.toString('base64')}:`;
    const asked = (headers: Metadata): ReturnType<typeof askHttps> =>
      askHttps(`${server.http}/databases/${NAME}`, authority.cert, { headers });
    expect((await asked({ 'client-cert': forged, [RELAYED]: 'one' })).status).toBe(401);
    const answer = await asked(AS_FIRST);
    expect([answer.status, answer.headers['vary']]).toEqual([200, expect.not.stringContaining('Client-Cert')]);
  });
});

it('SPEC-TLS-RELAY a request over HTTP is answered by the node that holds the database', async () => {
  const answer = await askHttps(`${other.http}/databases/${NAME}`, authority.cert, { headers: AS_FIRST });
  expect(answer.status).toBe(200);
  const { text } = await askHttps(other.metrics, authority.cert);
  expect(text).toMatch(/^cairn_relayed_requests_total\{protocol="http",result="answered"\} [1-9]/m);
  expect(text).toMatch(/^cairn_relayed_requests_total\{protocol="grpc",result="answered"\} [1-9]/m);
});

it('SPEC-TLS-CLIENT: a relayed request has the rights of the certificate of the client, not of the node', async () => {
  const node = authority.issue({ cn: 'node', names: LOOPBACK_NAMES });
  const passedOn = `:${new X509Certificate(unknown.cert).raw.toString('base64')}:`;
  expect(await readBy(holder, node, { [RELAYED]: 'two', 'client-cert': passedOn })).toBe('PERMISSION_DENIED');
  expect(await readBy(holder, node, { [RELAYED]: 'two' })).toBe('UNAUTHENTICATED');
  expect(await readBy(holder, node, { [RELAYED]: 'nobody', 'client-cert': passedOn })).toBe('UNAUTHENTICATED');
});
