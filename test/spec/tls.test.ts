// Every client port accepts only TLS, certificates are reloaded while streams run, and internal requests verify
// certificates.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectPlainly } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { PROBE_PATHS } from '#observability';
import { productArgs } from '../../chaos/support/product.ts';
import { SubscribeEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
import { Authority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { GrpcFailure, TestClient } from '../support/grpc-client.ts';
import { AS_FIRST, FIRST_KEY } from '../support/guarded-node.ts';
import { askHttps } from '../support/https.ts';
import { startTestServer } from '../support/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { channelOf, LOOPBACK_NAMES, TlsFiles } from '../support/tls-files.ts';

const authority = new Authority();
const stranger = new Authority('another authority');
const dir = tempDir();
const files = new TlsFiles(dir.path);
files.put(authority.issue({ cn: 'first', names: LOOPBACK_NAMES }));
const caFile = files.authorities('ca.crt', authority);
const keyFile = join(dir.path, 'first-key');
writeFileSync(keyFile, FIRST_KEY);
const server = await startTestServer(...files.settings, '--auth=on', `--auth-bootstrap-key-file=${keyFile}`);
const client = new TestClient(server.grpc, {}, channelOf(authority));
const name = 'tls';
await client.send('createDatabase', { databaseName: name }, { metadata: AS_FIRST });

afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

const PORTS = [
  ['gRPC', server.port, 'h2'],
  ['HTTP', Number(new URL(server.http).port), 'http/1.1'],
  ['MCP', Number(new URL(server.mcp).port), 'http/1.1'],
  ['metrics', Number(new URL(server.metrics).port), 'http/1.1'],
] as const;

interface Shaken {
  readonly version: string | null;
  readonly protocol: string | false | null;
  readonly subject: string;
}

async function shaken(port: number, protocol: string, options: object = {}): Promise<Shaken> {
  const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, ALPNProtocols: [protocol], ...options });
  await once(socket, 'secureConnect');
  const { subject = '' } = socket.getPeerX509Certificate() ?? {};
  const found = { version: socket.getProtocol(), protocol: socket.alpnProtocol, subject };
  socket.destroy();
  return found;
}

describe('SPEC-TLS-PORTS', () => {
  it.each(PORTS)('%s accepts TLS 1.3 and 1.2 with its protocol, and nothing else', async (_name, port, protocol) => {
    const subject = 'CN=first';
    expect(await shaken(port, protocol)).toEqual({ version: 'TLSv1.3', protocol, subject });
    const older = { maxVersion: 'TLSv1.2' };
    expect(await shaken(port, protocol, older)).toEqual({ version: 'TLSv1.2', protocol, subject });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(shaken(port, protocol, old)).rejects.toThrow(/alert protocol version/);
    await expect(shaken(port, protocol, { ca: stranger.cert })).rejects.toThrow(/unable to verify|self-signed/);
    for (const words of ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']) {
      const socket = connectPlainly(port, '127.0.0.1').resume();
      socket.on('error', () => undefined);
      socket.write(words);
      await once(socket, 'close');
    }
    expect((await shaken(port, protocol)).protocol).toBe(protocol);
  });

  it('probes need no credential, at the port of HTTP and at that of metrics', async () => {
    const answers = [server.http, new URL(server.metrics).origin].flatMap((url) =>
      PROBE_PATHS.map(async (path) => askHttps(`${url}${path}?verbose`, authority.cert)),
    );
    for (const { status, text } of await Promise.all(answers)) {
      expect([status, text]).toEqual([200, expect.stringMatching(/^(?:\[\+\][a-z-]+ ok\n)+[a-z]+ check passed\n$/)]);
    }
  });

  it('failed handshakes are counted', async () => {
    const { text } = await askHttps(server.metrics, authority.cert);
    expect(text).toMatch(/^cairn_tls_handshakes_failed_total [1-9]/m);
  });

  it('requests are answered as without TLS', async () => {
    const answer = await askHttps(`${server.http}/databases/${name}`, authority.cert, { headers: AS_FIRST });
    expect([answer.status, answer.headers['x-revision']]).toEqual([200, '0']);
    await expect(
      client.send('fetchLatestDatabase', { databaseName: name }, { metadata: AS_FIRST }),
    ).resolves.toBeDefined();
    await expect(client.send('fetchLatestDatabase', { databaseName: name })).rejects.toThrow(/requires a credential/);
    const plain = new TestClient(server.grpc);
    await expect(plain.send('fetchLatestDatabase', { databaseName: name })).rejects.toThrow(GrpcFailure);
    await plain[Symbol.asyncDispose]();
  });
});

async function fetchedByTool(): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${FIRST_KEY}`,
  };
  const clientInfo = { name: 'test', version: '1' };
  const asked = async (body: object, more: Readonly<Record<string, string>> = {}): ReturnType<typeof askHttps> =>
    askHttps(server.mcp, authority.cert, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
  const begun = await asked({ id: 1, method: 'initialize', params });
  const session = { 'mcp-session-id': String(begun.headers['mcp-session-id']) };
  await asked({ method: 'notifications/initialized' }, session);
  const call = { name: 'fetch', arguments: { method: 'GET', path: `/databases/${name}` } };
  const answer = await asked({ id: 2, method: 'tools/call', params: call }, session);
  return answer.text;
}

it('SPEC-TLS-MCP a tool calls the HTTP API of the node, for any name in its certificate', async () => {
  expect(await fetchedByTool()).toContain(`name: ${name}`);
});

describe('SPEC-TLS-CLI', () => {
  const run = promisify(execFile);
  const list = (...more: readonly string[]): Promise<{ stdout: string }> =>
    run(process.execPath, [
      ...productArgs(),
      'auth',
      'key',
      'list',
      `--key-file=${keyFile}`,
      `--url=${server.http}`,
      ...more,
    ]);

  it('accepts the certificate of a node by the given authority', async () => {
    expect((await list(`--tls-ca-file=${caFile}`)).stdout).toMatch(/^ID +NAME/);
  });

  it('accepts no other', async () => {
    const wanted = { code: 1, stderr: expect.stringMatching(/unable to verify|self-signed/) };
    await expect(list()).rejects.toMatchObject(wanted);
    const other = files.authorities('other.crt', stranger);
    await expect(list(`--tls-ca-file=${other}`)).rejects.toMatchObject({ code: 1 });
    await expect(list(`--tls-ca-file=${keyFile}`)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^cairn auth: --tls-ca-file cannot be used: The file .* has no certificate in PEM/),
    });
  });
});

const reloads = async (result: string): Promise<number> => {
  const { text } = await askHttps(server.metrics, authority.cert);
  return Number(new RegExp(`^cairn_tls_reloads_total{result="${result}"} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
};

it('SPEC-TLS-RELOAD new connections get the new certificate, and a stream continues', async () => {
  const request = SubscribeEventsRequest.fromPartial({ databaseName: name, heartbeatMs: 100 });
  const stream = client.open('subscribeEvents', request, { metadata: AS_FIRST, deadlineMs: 60_000 });
  let [heard, ended] = [0, false];
  stream.on('data', () => {
    heard += 1;
  });
  stream
    .on('error', () => undefined)
    .on('close', () => {
      ended = true;
    });
  const kept: TLSSocket = connect({ host: '127.0.0.1', port: PORTS[1][1], ca: authority.cert });
  await once(kept, 'secureConnect');
  await eventually(() => expect(heard).toBeGreaterThan(0));
  files.put(authority.issue({ cn: 'second', names: LOOPBACK_NAMES }));
  for (const [, port, protocol] of PORTS) {
    await eventually(async () => expect((await shaken(port, protocol)).subject).toBe('CN=second'), { interval: 100 });
  }
  const before = heard;
  await eventually(() => expect(heard).toBeGreaterThan(before));
  kept.write(`GET /health HTTP/1.1\r\nHost: a\r\n\r\n`);
  expect(String((await once(kept, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  kept.destroy();
  expect(ended).toBe(false);
  stream.cancel();
  expect(await reloads('loaded')).toBe(1);
});
