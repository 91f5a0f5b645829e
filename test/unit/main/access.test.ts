// Goal: a node that anybody can reach without a credential says so, and one whose first key is not usable does not
// start, without saying what stands in the file. Method: settings, and a logger that keeps its lines.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Node } from '#cluster';
import { createMetrics, type LogFields, type Logger, silentLogger } from '#observability';
import type { Service } from '#service';
import { readAccess } from '../../../src/main/access.ts';
import { readInvocation } from '../../../src/main/config.ts';
import type { Config } from '../../../src/main/settings.ts';
import { tempDir } from '../../support/temp-dir.ts';

const arnIn = (region: string): string => `arn:aws:elasticloadbalancing:${region}:1:loadbalancer/app/shop/1`;
const signed = ['--signed-header=X-Who', '--signed-header-issuer=i', '--signed-header-keys=/k'];

function configOf(...args: readonly string[]): Config {
  const read = readInvocation(args, {});
  if (read.kind !== 'ok' || read.value.kind !== 'run') throw new Error(JSON.stringify(read));
  return read.value.config;
}

function warnings(...args: readonly string[]): readonly (readonly [string, LogFields | undefined])[] {
  const lines: (readonly [string, LogFields | undefined])[] = [];
  const logger: Logger = { ...silentLogger, warn: (event, fields) => lines.push([event, fields]) };
  readAccess(configOf(...args), { logger, metrics: createMetrics({ runtime: false }) });
  return lines;
}

test.each(['127.0.0.1', '127.9.8.7', '::1', 'localhost'])('on %s nobody is warned', (host) => {
  expect(warnings(`--host=${host}`)).toEqual([]);
});

test.each(['0.0.0.0', '::', '10.0.0.7', 'cairn-0.cairn', '1270.example'])(
  'on %s without authentication it is said',
  (host) => {
    const message = expect.stringMatching(/everybody who reaches its ports.*--auth on/);
    expect(warnings(`--host=${host}`)).toEqual([['authentication-off', { host, message }]]);
    expect(warnings(`--host=${host}`, '--auth=on')).toEqual([]);
  },
);

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
  });
  const { authenticator } = over({} as Service, {} as Node, 'x') ?? {};
  expect(authenticator?.challengeToBrowsers?.slice(0, 6)).toBe(isAsked ? 'Basic ' : undefined);
});

test('that keys are asked for as passwords without TLS is said', () => {
  const message = expect.stringMatching(/whoever can listen on the way has the keys.*--tls-cert-file/);
  const lines = warnings('--auth=on', '--host=0.0.0.0', '--auth-basic=on');
  expect(lines).toEqual([['basic-without-tls', { host: '0.0.0.0', message }]]);
  expect(warnings('--auth=on', '--host=0.0.0.0')).toEqual([]);
});

test('a first key without authentication is refused with the settings', () => {
  expect(readInvocation(['--auth-bootstrap-key-file=/k'], {})).toEqual({
    kind: 'failure',
    reason: [expect.stringMatching(/^--auth-bootstrap-key-file is set, but --auth is off/)],
  });
});

test('signing in without authentication is refused with the settings', () => {
  expect(readInvocation(['--auth-basic=on'], {})).toEqual({
    kind: 'failure',
    reason: [expect.stringMatching(/^--auth-basic is on, but --auth is off/)],
  });
});

test.each([
  [['--oidc-issuer=https://i.example', '--oidc-audience=a'], /^--oidc-issuer is set, but --auth is off/],
  [['--auth=on', '--oidc-issuer=https://i.example'], /^--oidc-issuer is set, but --oidc-audience is none/],
  [['--auth=on', '--mcp-url=https://m.example'], /^--mcp-url is set, but --oidc-issuer is none/],
  [['--auth=on', '--mcp-url=https://m.example/?a'], /^--mcp-url is .*must be auto, or a URL without a query/],
  [['--auth=on', '--oidc-audience=a'], /^--oidc-audience is set, but --oidc-issuer is none/],
  [
    ['--auth=on', '--oidc-issuer=ftp://i.example', '--oidc-audience=a'],
    /^--oidc-issuer is "ftp:.*must be none, or a URL/,
  ],
  [['--auth=on', '--oidc-issuer=https://a:b@i.example', '--oidc-audience=a'], /must be none, or a URL/],
  [['--auth=on', '--oidc-issuer=https://i.example', '--oidc-audience=a,,b'], /must be none, or names/],
  [['--alb-signer=arn:aws:x'], /^--alb-signer is set, but --auth is off/],
  [['--auth=on', '--alb-signer=shop'], /^--alb-keys-url is region, but --alb-signer is not of one region/],
  [['--auth=on', `--alb-signer=${arnIn('eu-west-1')},${arnIn('eu-west-2')}`], /^--alb-keys-url is region/],
  [['--auth=on', `--alb-signer=${arnIn('a.b/c')}`], /^--alb-keys-url is region/],
  [['--signed-header=X-Who'], /^--signed-header is set, but --auth is off/],
  [['--auth=on', ...signed, '--signed-header-audience=none'], /-audience is none; nobody could tell/],
  [['--auth=on', ...signed.slice(1), '--signed-header=Authorization'], /^--signed-header is "Authorization"/],
  [
    ['--auth=on', ...signed.slice(0, 2), '--signed-header-audience=a', '--signed-header-keys=https://a:b@c'],
    /^--signed-header-keys is "https/,
  ],
])('settings of a provider that do not go together are refused: %j', (args, reason) => {
  expect(readInvocation(args, {})).toEqual({ kind: 'failure', reason: [expect.stringMatching(reason)] });
});

test('a file of grants that is not usable keeps the node from starting', () => {
  using dir = tempDir();
  const file = join(dir.path, 'grants');
  const begin = (): unknown =>
    readAccess(configOf('--auth=on', `--auth-grants-file=${file}`), {
      logger: silentLogger,
      metrics: createMetrics({ runtime: false }),
    });
  expect(begin).toThrow(/auth-grants-file cannot be read: ENOENT/);
  writeFileSync(file, '{"clerks": ["king"]}');
  expect(begin).toThrow(/auth-grants-file must have a list.*"clerks"/);
});

test('a file without a usable key keeps the node from starting, and is not repeated', () => {
  using dir = tempDir();
  const file = join(dir.path, 'key');
  const begin = (): unknown =>
    readAccess(configOf('--auth=on', `--auth-bootstrap-key-file=${file}`), {
      logger: silentLogger,
      metrics: createMetrics({ runtime: false }),
    });
  expect(begin).toThrow(/auth-bootstrap-key-file cannot be read: ENOENT/);
  writeFileSync(file, 'swordfish');
  expect(begin).toThrow(/must hold one line of 32 to 512 characters.*it has 9 characters$/);
  expect(begin).not.toThrow(/swordfish/);
});
