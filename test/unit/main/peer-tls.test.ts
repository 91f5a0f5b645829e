// Goal: whoever gives files of TLS between nodes that are wrong, or not all of them, hears which and why; and other
// material reaches this thread and that of the core when it is right. Method: files, and a node's looks in fast motion.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { receiveMessageOnPort } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMetrics, type LogFields, type Logger, silentLogger } from '#observability';
import { type NodePeerTls, openPeerTls, readPeerTls } from '../../../src/main/peer-tls.ts';
import { Authority, type Issued } from '../../support/certificates.ts';
import { type TempDir, tempDir } from '../../support/temp-dir.ts';

const authority = new Authority();
const pair = authority.issue({ cn: 'one' });
const other = authority.issue({ cn: 'other' });
const LOOK_MS = 5;

let dir: TempDir;
let ending: DisposableStack;
let lines: (readonly [string, LogFields | undefined])[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  ending = new DisposableStack();
  dir = ending.use(tempDir());
  lines = [];
  put('ca', authority.cert);
});

afterEach(() => {
  ending.dispose();
  vi.useRealTimers();
});

function put(name: string, content: string): void {
  writeFileSync(join(dir.path, name), content);
}

function putPair({ cert, key }: Issued): void {
  put('cert', cert);
  put('key', key);
}

function settingsOf(peerTls: 'require' | 'prefer' = 'require') {
  const [peerTlsCertFile, peerTlsKeyFile, peerTlsCaFile] = ['cert', 'key', 'ca'].map((name) => join(dir.path, name));
  return {
    peerTlsCertFile: peerTlsCertFile ?? '',
    peerTlsKeyFile: peerTlsKeyFile ?? '',
    peerTlsCaFile: peerTlsCaFile ?? '',
    peerTls,
  };
}

function open(mode?: 'require' | 'prefer', metrics = createMetrics({ runtime: false })): NodePeerTls | undefined {
  const keep =
    (level: string) =>
    (event: string, fields?: LogFields): void =>
      void lines.push([`${level} ${event}`, fields]);
  const logger: Logger = { ...silentLogger, info: keep('info'), warn: keep('warn'), error: keep('error') };
  const tls = openPeerTls(settingsOf(mode), { logger, metrics, lookMs: LOOK_MS });
  ending.defer(() => tls?.[Symbol.dispose]());
  return tls;
}

describe('files of TLS between nodes', () => {
  it('that are right are used, and it is said until when', () => {
    putPair(pair);
    expect(open()?.tls.material).toEqual({ ...pair, ca: authority.cert });
    const fields = { subject: 'CN=one', names: '', until: expect.any(String) };
    expect(lines).toEqual([['info peer-tls-certificate', fields]]);
    expect(readPeerTls(settingsOf()).material).toEqual({ ...pair, ca: authority.cert });
  });

  it.each<readonly [string, Partial<Issued> & { readonly ca?: string }, RegExp]>([
    ['no certificate', { cert: '' }, /^The file .*cert of peer-tls-cert-file has no certificate in PEM$/],
    ['no key', { key: '' }, /^The file .*key of peer-tls-key-file has no private key in PEM without a passphrase$/],
    [
      'another key',
      { key: other.key },
      /^The file .*key of peer-tls-key-file is not that of the certificate in .*cert$/,
    ],
    ['no authority', { ca: 'none' }, /^The file .*ca of peer-tls-ca-file has no certificate in PEM$/],
  ])('with %s keep a node from starting, and a command from asking', (_what, wrong, message) => {
    putPair({ ...pair, ...wrong });
    if (wrong.ca !== undefined) put('ca', wrong.ca);
    expect(() => open()).toThrow(message);
    expect(() => readPeerTls(settingsOf())).toThrow(message);
  });
});

describe('files that are replaced', () => {
  it('reach both threads once they are as at the look before, and right', async () => {
    putPair(pair);
    const metrics = createMetrics({ runtime: false });
    const tls = open('require', metrics);
    const heard = (): unknown => tls && receiveMessageOnPort(tls.forCore.replaced);
    put('cert', other.cert);
    vi.advanceTimersByTime(20 * LOOK_MS);
    expect(lines.at(-1)).toMatchObject([
      'error peer-tls-not-reloaded',
      { message: expect.stringMatching(/is not that of the certificate in .*; what is in use stays in use$/) },
    ]);
    expect([tls?.tls.material.cert, heard()]).toEqual([pair.cert, undefined]);
    put('key', other.key);
    vi.advanceTimersByTime(2 * LOOK_MS);
    const found = { ...other, ca: authority.cert };
    expect([tls?.tls.material, heard()]).toEqual([found, { message: found }]);
    const { body } = await metrics.render();
    for (const result of ['loaded', 'failed'])
      expect(body).toContain(`cairn_peer_tls_reloads_total{result="${result}"} 1`);
    expect(body).toMatch(/^cairn_peer_tls_certificate_expiry_timestamp_seconds \d/m);
  });
});
