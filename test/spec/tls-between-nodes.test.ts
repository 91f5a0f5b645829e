// Nodes relay requests only to nodes whose certificate they verify. Nodes with TLS and without coexist while the
// setting changes.
import { afterAll, describe, expect, it } from 'vitest';
import { Authority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { GrpcFailure, TestClient } from '../support/grpc-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { askHttps } from '../support/https.ts';
import { BOTH, INITIALIZE, READY } from '../support/mcp-requests.ts';
import type { RunningServer } from '../support/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { endWithFile } from '../support/test-scope.ts';
import { channelOf, LOOPBACK_NAMES, TlsFiles } from '../support/tls-files.ts';

const authority = new Authority();
const NAME = 'shop';

async function cluster(
  ofFirst: readonly string[],
  ofSecond: readonly string[],
  name = '127.0.0.1',
): Promise<{ readonly first: RunningServer; readonly second: RunningServer }> {
  const started = async (...settings: readonly string[]): Promise<RunningServer> =>
    (await startHttpNode('--peer-port=0', '--copies=1', ...settings)).server;
  const first = await started('--node-name=one', ...ofFirst);
  const { grpc } = first;
  await clientOf({ ...first, grpc: grpc.replace('127.0.0.1', name) }, ofFirst).send('createDatabase', {
    databaseName: NAME,
  });
  const second = await started('--node-name=two', `--join=${first.peer}`, ...ofSecond);
  return { first, second };
}

function clientOf({ grpc }: RunningServer, settings: readonly string[]): TestClient {
  const client = settings.length === 0 ? new TestClient(grpc) : new TestClient(grpc, {}, channelOf(authority));
  endWithFile(() => client[Symbol.asyncDispose]());
  return client;
}

const UNREACHED = [expect.stringMatching(/no node that has one answers now: one/), 503];

async function readAt(server: RunningServer, settings: readonly string[]): Promise<readonly [string, number]> {
  const grpc = await clientOf(server, settings)
    .send('fetchLatestDatabase', { databaseName: NAME })
    .then(
      () => 'OK',
      (failure: unknown) => (failure instanceof GrpcFailure ? failure.message : String(failure)),
    );
  const url = `${server.http}/databases/${NAME}`;
  const status = settings.length > 0 ? (await askHttps(url, authority.cert)).status : (await fetch(url)).status;
  return [grpc, status];
}

async function passedOn({
  first,
  second,
}: {
  readonly first: RunningServer;
  readonly second: RunningServer;
}): Promise<readonly [number, string]> {
  const shared = { 'content-type': 'application/json', accept: BOTH };
  const begin = { method: 'POST', headers: shared, body: JSON.stringify(INITIALIZE) };
  const begun = await askHttps(first.mcp, authority.cert, begin);
  const headers = { ...shared, 'mcp-session-id': String(begun.headers['mcp-session-id']) };
  const { status, text } = await askHttps(second.mcp, authority.cert, {
    ...begin,
    headers,
    body: JSON.stringify(READY),
  });
  return [status, text];
}

const dir = tempDir();
afterAll(() => dir[Symbol.dispose]());
const files = new TlsFiles(dir.path);
files.put(authority.issue({ cn: 'node', names: LOOPBACK_NAMES }));
const caFile = files.authorities('ca.crt', authority);
const others = files.authorities('others.crt', new Authority('another authority'));

describe('SPEC-TLS-RELAY', { timeout: 60_000 }, () => {
  it('a node whose certificate cannot be verified is not asked', async () => {
    const serving = files.settings;
    const nodes = await cluster([...serving, `--tls-ca-file=${caFile}`], [...serving, `--tls-ca-file=${others}`]);
    await eventually(async () => expect(await readAt(nodes.second, serving)).toEqual(UNREACHED));
    // The MCP address of the other node must be known before a session is found.
    const unreached = [404, expect.stringContaining('is not reached')];
    await eventually(async () => expect(await passedOn(nodes)).toEqual(unreached));
  });

  it('a session of MCP continues at a node that verifies the certificate of the node of the session', async () => {
    const serving = [...files.settings, `--tls-ca-file=${caFile}`];
    const nodes = await cluster(serving, serving);
    await eventually(async () => expect(await passedOn(nodes)).toEqual([202, '']));
  });

  it('a node whose certificate has another name is not asked', async () => {
    const elsewhere = tempDir();
    endWithFile(() => elsewhere[Symbol.dispose]());
    const wrong = new TlsFiles(elsewhere.path);
    wrong.put(authority.issue({ cn: 'node', names: ['DNS:localhost', 'DNS:elsewhere.example'] }));
    const serving = [...files.settings, `--tls-ca-file=${caFile}`];
    const { second } = await cluster([...wrong.settings, '--host=127.0.0.1'], serving, 'localhost');
    await eventually(async () => expect(await readAt(second, serving)).toEqual(UNREACHED));
  });

  it('a node with TLS asks a node without it', async () => {
    const serving = [...files.settings, `--tls-ca-file=${caFile}`];
    const { second } = await cluster([], serving);
    await eventually(async () => expect(await readAt(second, serving)).toEqual(['OK', 200]));
  });
});
