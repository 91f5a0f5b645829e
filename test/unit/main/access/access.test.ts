// Goal: a node that anybody can reach without a credential says so, and one whose first key is not usable does not
// start, without saying what stands in the file; one that runs uses a replaced key. Method: settings, a logger that
// keeps its lines, and the checks of a node in fast motion.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Node } from '#cluster';
import { createMetrics, type LogFields, type Logger, silentLogger } from '#observability';
import type { Service } from '#service';
import { readAccess } from '../../../../src/main/access/access.ts';
import { rateLimitsOf } from '../../../../src/main/access/rate-limits.ts';
import { readInvocation } from '../../../../src/main/settings/config.ts';
import type { Config } from '../../../../src/main/settings/settings.ts';
import { RateLimits } from '../../../../src/transport/rate-limits.ts';
import { credentialsOf } from '../../../support/credentials.ts';
import { tempDir } from '../../../support/temp-dir.ts';

function configOf(...args: readonly string[]): Config {
  const read = readInvocation(args, {});
  if (read.kind !== 'ok' || read.value.kind !== 'run') throw new Error(JSON.stringify(read));
  return read.value.config;
}

function warnings(...args: readonly string[]): readonly (readonly [string, LogFields | undefined])[] {
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const logger: Logger = { ...silentLogger, warn: (event, fields) => lines.push([event, fields]) };
  using files = new DisposableStack();
  readAccess(configOf(...args), { logger, metrics: createMetrics({ runtime: false }), files });
  return lines;
}

test.each(['127.0.0.1', '127.9.8.7', '::1', 'localhost'])('on %s there is no warning', (host) => {
  expect(warnings(`--host=${host}`)).toEqual([]);
});

test.each(['0.0.0.0', '::', '10.0.0.7', 'cairn-0.cairn', '1270.example'])(
  'on %s without authentication there is a warning',
  (host) => {
    const message = expect.stringMatching(/every client that reaches its ports.*--auth on/);
    expect(warnings(`--host=${host}`)).toEqual([['authentication-off', { host, message }]]);
    expect(warnings(`--host=${host}`, '--auth=on')).toEqual([]);
  },
);

test('with authentication a peer port is warned of only without TLS (S1)', () => {
  const message = expect.stringMatching(/every client that reaches it can join the cluster.*Set --peer-secret-file/);
  const peers = ['--peer-port=0', '--peer-tls=off'];
  expect(warnings('--auth=on', ...peers)).toEqual([['peer-port-open', { message }]]);
  expect(warnings('--auth=on', '--peer-port=0', '--peer-secret-file=/s')).toEqual([]);
  expect(warnings('--auth=on', '--peer-port=off', '--peer-tls=off')).toEqual([]);
});

test.each([
  ['127.0.0.1', [], 'auto', true],
  ['0.0.0.0', [], 'auto', false],
  ['0.0.0.0', ['--tls-cert-file=/c', '--tls-key-file=/k'], 'auto', true],
  ['0.0.0.0', ['--tls-cert-file=/c', '--tls-key-file=/k'], 'on', true],
  ['127.0.0.1', [], 'off', false],
  ['127.0.0.1', [], 'on', true],
])('on %s with %j browsers are asked for keys when it is %s: %s', (host, tls, basic, isAsked) => {
  const { over } = readAccess(configOf('--auth=on', `--host=${host}`, `--auth-basic=${basic}`, ...tls), {
    logger: { ...silentLogger, warn: () => expect.unreachable() },
    metrics: createMetrics({ runtime: false }),
    files: new DisposableStack(),
  });
  const { authenticator } = over({} as Service, {} as Node, 'x') ?? {};
  expect(authenticator?.challengeToBrowsers?.slice(0, 6)).toBe(isAsked ? 'Basic ' : undefined);
});

test('that keys are asked for as passwords without TLS is said', () => {
  const message = expect.stringMatching(/an observer of the network gets the keys.*--tls-cert-file/);
  const lines = warnings('--auth=on', '--host=0.0.0.0', '--auth-basic=on');
  expect(lines).toEqual([['basic-without-tls', { host: '0.0.0.0', message }]]);
  expect(warnings('--auth=on', '--host=0.0.0.0')).toEqual([]);
});

test('a file without a usable key keeps the node from starting, and is not repeated', () => {
  using dir = tempDir();
  const file = join(dir.path, 'key');
  const begin = (): unknown =>
    readAccess(configOf('--auth=on', `--auth-bootstrap-key-file=${file}`), {
      logger: silentLogger,
      metrics: createMetrics({ runtime: false }),
      files: new DisposableStack(),
    });
  expect(begin).toThrow(/auth-bootstrap-key-file cannot be read: ENOENT/);
  writeFileSync(file, 'swordfish');
  expect(begin).toThrow(/must hold one line of 32 to 512 characters.*it has 9 characters$/);
  expect(begin).not.toThrow(/swordfish/);
});

test('a key that is replaced in its file is used, and a missing or unusable file leaves the previous one', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  using dir = tempDir();
  using files = new DisposableStack();
  const [file, old, next] = [join(dir.path, 'key'), 'o'.repeat(40), 'n'.repeat(40)];
  writeFileSync(file, old);
  const lines: unknown[] = [];
  const keep = (event: string, fields?: LogFields): void => void lines.push([event, fields?.['message']]);
  const logger = { ...silentLogger, info: keep, error: keep };
  const metrics = createMetrics({ runtime: false });
  const config = configOf('--auth=on', '--rate-limit-per-second=5', `--auth-bootstrap-key-file=${file}`);
  const { bootstrap, over } = readAccess(config, { logger, metrics, files });
  const { authenticator } = over({} as Service, {} as Node, 'x') ?? {};
  const limits = rateLimitsOf(config, { transport: { RateLimits }, metrics, bootstrap });
  const identify = (key: string) => (): unknown => authenticator?.identify(credentialsOf({ 'x-api-key': key }));
  const look = (): unknown => vi.advanceTimersByTime(4_000);
  const proof = limits?.clusterProof();

  rmSync(file);
  look();
  writeFileSync(file, 'swordfish');
  look();
  expect(identify(old)()).toMatchObject({ id: 'bootstrap' });
  expect(limits?.isCounted(proof)).toBe(true);
  const unusable = /^The file of auth-bootstrap-key-file cannot be read.*; the previous key stays valid$/;
  const event = 'bootstrap-key-not-reloaded';
  expect(lines).toEqual([
    [event, expect.stringMatching(unusable)],
    [event, expect.stringMatching(/it has 9 characters; the previous key stays valid$/)],
  ]);

  writeFileSync(file, next);
  look();
  expect(identify(next)()).toMatchObject({ id: 'bootstrap' });
  expect(identify(old)).toThrow('The credential of this request is not valid');
  expect([limits?.isCounted(proof), limits?.isCounted(limits.clusterProof())]).toEqual([false, true]);
  expect(lines.slice(2)).toEqual([['bootstrap-key-reloaded', undefined]]);
});
