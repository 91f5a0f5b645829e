// Goal: a node that is started with wrong TLS files names the file and the fault; a running node keeps its certificates
// until the files are right again. Method: files with every fault, and reloads with a fake clock.
import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { receiveMessageOnPort } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMetrics, type LogFields, type Logger, type Metrics, silentLogger } from '#observability';
import { type NodePeerTls, openPeerTls, readPeerTls } from '../../../../src/main/tls/peer-tls.ts';
import { Tls } from '../../../../src/main/tls/tls.ts';
import { Authority, type Issued } from '../../../support/certificates.ts';
import { type TempDir, tempDir } from '../../../support/temp-dir.ts';

const authority = new Authority();
const pair = authority.issue({ cn: 'one' });
const other = authority.issue({ cn: 'other' });

const ISSUER = 'CN=authority of the tests';
const FIELDS = { subject: 'CN=one', issuer: ISSUER, names: '', until: expect.any(String) };
const CHECK_MS = 5;

let dir: TempDir;
let ending: DisposableStack;
let lines: (readonly [string, LogFields | undefined])[];
let metrics: Metrics;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  ending = new DisposableStack();
  dir = ending.use(tempDir());
  lines = [];
  metrics = createMetrics({ runtime: false });
  put('ca', authority.cert);
});

afterEach(() => {
  ending.dispose();
  vi.useRealTimers();
});

function put(name: string, content: string): string {
  const file = join(dir.path, name);
  writeFileSync(file, content);
  return file;
}

function putPair({ cert, key }: Issued): void {
  put('cert', cert);
  put('key', key);
}

/** Keeps its lines. */
function keeping(): Logger {
  const keep = (level: string) => (event: string, fields?: LogFields) => void lines.push([`${level} ${event}`, fields]);
  return { ...silentLogger, info: keep('info'), warn: keep('warn'), error: keep('error') };
}

interface Files {
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  readonly tlsCaFile: string;
  readonly tlsClientCaFile: string;
}

function open(files: Partial<Files> = {}): Tls {
  const settings = {
    tlsCertFile: join(dir.path, 'cert'),
    tlsKeyFile: join(dir.path, 'key'),
    tlsCaFile: 'none',
    tlsClientCaFile: 'none',
    tlsClientAuth: 'require' as const,
    ...files,
  };
  return ending.use(new Tls(settings, { logger: keeping(), metrics, checkMs: CHECK_MS }));
}

async function reloads(result: string): Promise<number> {
  const { body } = await metrics.render();
  return Number(new RegExp(`^cairn_tls_reloads_total{result="${result}"} (\\d+)`, 'm').exec(body)?.[1] ?? 0);
}

describe('files at the start', () => {
  it('that are right are used, and it is said until when', () => {
    putPair(pair);
    expect(open().ports).toBeDefined();
    expect(lines).toEqual([['info tls-certificate', FIELDS]]);
  });

  it('of a certificate that has expired are used, and that is said as loudly as it is wrong', () => {
    putPair(authority.issue({ cn: 'old', days: [-3, -1] }));
    const { ports, certificateFault } = open();
    expect(ports).toBeDefined();
    expect(certificateFault).toMatch(/^the certificate of tls-cert-file has expired: it was valid until /);
    const message = expect.stringContaining(dir.path);
    expect(lines.at(-1)).toMatchObject(['warn tls-certificate-expired', { message }]);
  });

  it('report a certificate that is not yet valid, and none that is valid', () => {
    putPair(authority.issue({ cn: 'new', days: [1, 2] }));
    expect(open().certificateFault).toMatch(/^the certificate of tls-cert-file is valid from .* on$/);
    putPair(pair);
    expect(open().certificateFault).toBeUndefined();
  });

  const sealed = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
  const encrypted = createPrivateKey(pair.key).export(sealed);

  it.each<readonly [string, string | undefined, string | undefined, RegExp]>([
    ['no certificate', undefined, pair.key, /^The file of tls-cert-file cannot be read: ENOENT.*cert/],
    ['no key', pair.cert, undefined, /^The file of tls-key-file cannot be read: ENOENT.*key/],
    ['an empty certificate', '', pair.key, /^The file .*cert of tls-cert-file has no certificate in PEM$/],
    ['a key for a certificate', pair.key, pair.key, /^The file .*cert of tls-cert-file has no certificate in PEM$/],
    [
      'a certificate of nothing',
      pair.cert.replaceAll(/^[A-Za-z0-9+/=]+$/gm, 'AAAA'),
      pair.key,
      /^The file .*cert of tls-cert-file has something else than a certificate as number 1$/,
    ],
    ['an empty key', pair.cert, '', /^The file .*key of tls-key-file has no private key in PEM without a passphrase$/],
    ['a key with a passphrase', pair.cert, String(encrypted), /key of tls-key-file has no private key in PEM without/],
    ['another key', pair.cert, other.key, /^The file .*key of tls-key-file is not that of the certificate in .*cert$/],
  ])('with %s keep the node from starting, and nothing of a key is repeated', (_what, cert, key, message) => {
    if (cert !== undefined) put('cert', cert);
    if (key !== undefined) put('key', key);
    expect(() => open()).toThrow(message);
    const secret = other.key.split('\n')[1] ?? '';
    expect(() => open()).not.toThrow(secret);
  });
});

/** As the node does it every now and then. */
function look(times: number): void {
  vi.advanceTimersByTime(times * CHECK_MS);
}

it('files that are replaced are used once they are as at the look before', async () => {
  putPair(pair);
  open();
  put('cert', other.cert);
  look(1);
  put('key', other.key);
  look(1);
  expect([await reloads('loaded'), await reloads('failed')]).toEqual([0, 0]);
  look(1);
  expect([await reloads('loaded'), await reloads('failed')]).toEqual([1, 0]);
  expect(lines.at(-1)).toMatchObject(['info tls-certificate', { subject: 'CN=other' }]);
  look(10);
  expect(await reloads('loaded')).toBe(1);
});

it('files that do not match are reported once and not used; files that match are used', async () => {
  putPair(pair);
  open();
  put('cert', other.cert);
  look(20);
  expect(await reloads('failed')).toBe(1);
  const message = expect.stringMatching(/is not that of the certificate in .*; the previous files stay in use$/);
  expect(lines.at(-1)).toEqual(['error tls-not-reloaded', { message }]);
  put('key', other.key);
  look(2);
  expect([await reloads('loaded'), await reloads('failed')]).toEqual([1, 1]);
});

it.each(['clients', 'peers'])('a valid certificate for %s is not replaced by one that has expired', (port) => {
  putPair(pair);
  if (port === 'clients') open();
  else openPeers();
  putPair(authority.issue({ cn: 'late', days: [-3, -1] }));
  look(20);
  const message = expect.stringMatching(/has expired: it was valid until .*; the previous files stay in use$/);
  const name = port === 'clients' ? 'tls' : 'peer-tls';
  expect(lines.slice(1)).toEqual([[`error ${name}-not-reloaded`, { message }]]);
});

it('a certificate that replaces a valid one is used when it becomes valid', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
  putPair(pair);
  const tls = open();
  putPair(authority.issue({ cn: 'next', days: [1, 3] }));
  look(20);
  expect(lines.at(-1)?.[0]).toBe('error tls-not-reloaded');
  vi.setSystemTime(Date.now() + 1.5 * 86_400_000);
  look(1);
  expect(lines.at(-1)).toMatchObject(['info tls-certificate', { subject: 'CN=next' }]);
  expect(tls.certificateFault).toBeUndefined();
});

it('files that are replaced of authorities are trusted from the next connection on', () => {
  const file = put('ca', authority.cert);
  const tls = open({ tlsCertFile: 'none', tlsKeyFile: 'none', tlsCaFile: file });
  const before = tls.context;
  look(20);
  expect(tls.context).toBe(before);
  put('ca', new Authority('next').cert);
  look(2);
  expect(tls.context).not.toBe(before);
});

function settingsOf(peerTls: 'require' | 'prefer' = 'require') {
  const [peerTlsCertFile, peerTlsKeyFile, peerTlsCaFile] = ['cert', 'key', 'ca'].map((name) => join(dir.path, name));
  return {
    peerTlsCertFile: peerTlsCertFile ?? '',
    peerTlsKeyFile: peerTlsKeyFile ?? '',
    peerSecretFile: 'none',
    peerTlsCaFile: peerTlsCaFile ?? '',
    peerTls,
  };
}

function openPeers(mode?: 'require' | 'prefer', files = {}): NodePeerTls | undefined {
  const tls = openPeerTls({ ...settingsOf(mode), ...files }, { logger: keeping(), metrics, checkMs: CHECK_MS });
  ending.defer(() => tls?.[Symbol.dispose]());
  return tls;
}

it('files of TLS between nodes that are right are used, and it is said until when', () => {
  putPair(pair);
  expect(openPeers()?.tls.material).toEqual({ ...pair, ca: authority.cert });
  expect(lines).toEqual([['info peer-tls-certificate', FIELDS]]);
  expect(readPeerTls(settingsOf()).material).toEqual({ ...pair, ca: authority.cert });
});

it.each<readonly [string, Partial<Issued> & { readonly ca?: string }, RegExp]>([
  ['no certificate', { cert: '' }, /^The file .*cert of peer-tls-cert-file has no certificate in PEM$/],
  ['no authority', { ca: 'none' }, /^The file .*ca of peer-tls-ca-file has no certificate in PEM$/],
])('files of TLS between nodes with %s keep a node from starting, a command from asking', (_what, wrong, message) => {
  putPair({ ...pair, ...wrong });
  if (wrong.ca !== undefined) put('ca', wrong.ca);
  expect(() => openPeers()).toThrow(message);
  expect(() => readPeerTls(settingsOf())).toThrow(message);
});

it('files between nodes that are replaced reach both threads once they are as at the look before, and right', async () => {
  putPair(pair);
  const tls = openPeers('require');
  const heard = (): unknown => tls && receiveMessageOnPort(tls.forCore.replaced);
  put('cert', other.cert);
  look(20);
  const message = expect.stringMatching(/is not that of the certificate in .*; the previous files stay in use$/);
  expect(lines.at(-1)).toMatchObject(['error peer-tls-not-reloaded', { message }]);
  expect([tls?.tls.material, heard()]).toEqual([{ ...pair, ca: authority.cert }, undefined]);
  put('key', other.key);
  look(2);
  const found = { ...other, ca: authority.cert };
  expect([tls?.tls.material, heard()]).toEqual([found, { message: found }]);
  const { body } = await metrics.render();
  for (const result of ['loaded', 'failed'])
    expect(body).toContain(`cairn_peer_tls_reloads_total{result="${result}"} 1`);
  expect(body).toMatch(/^cairn_peer_tls_certificate_expiry_timestamp_seconds \d/m);
});

it('a secret of peers that is replaced reaches both threads, and a wrong one does not', () => {
  const peerSecretFile = put('secret', 's'.repeat(40));
  const tls = openPeers('require', { peerTlsCertFile: 'none', peerSecretFile });
  const heard = (): unknown => tls && receiveMessageOnPort(tls.forCore.replaced);
  const before = tls?.tls.material;
  put('secret', 'short');
  look(2);
  const message = expect.stringMatching(/peer-secret-file must have one line.*; the previous files stay in use$/);
  expect(lines).toEqual([['error peer-tls-not-reloaded', { message }]]);
  expect([tls?.tls.material, heard()]).toEqual([before, undefined]);
  put('secret', 'o'.repeat(40));
  look(2);
  expect(tls?.tls.material).not.toEqual(before);
  expect(heard()).toMatchObject({ message: { secret: expect.any(Uint8Array) } });
});
