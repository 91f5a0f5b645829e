// Goal: the command starts, says where it is, drains and ends as an operator expects (N1 to N3).
// Method: the real process on free loopback ports, its output and its exit code.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NodeProcess } from '../../../chaos/support/node-process.ts';
import { runProduct, startOwnNode } from '../../support/own-node.ts';
import { testDir } from '../../support/test-scope.ts';

test('malformed settings are all reported on stderr, and nothing is opened (N1)', () => {
  const { status, stdout, stderr } = runProduct(['--grpc-port=x', '--nothing=1']);
  expect(status).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain('cairn: --grpc-port is "x"; it must be a port');
  expect(stderr).toContain('cairn: --nothing is not a setting');
});

test('--help and --version answer on stdout', () => {
  expect(runProduct(['--help'])).toMatchObject({ status: 0, stdout: expect.stringContaining('--data-dir VALUE') });
  expect(runProduct(['--version'])).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

test('a node says in one line where it is, and answers there (N2)', async () => {
  const dir = testDir();
  const node = await startOwnNode(dir);
  expect(node.grpc).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(await (await fetch(`${node.http}/health`)).text()).toBe('OK');
  node.kill('SIGTERM');
  expect(await node.ended).toBe(0);
  expect(node.output()).toMatch(/^\{"event":"ready","grpc":"[^"]+","http":"[^"]+","metrics":"[^"]+"[^\n]*\}\n$/);
  for (const line of node.log().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('event');
});

test('what a node keeps is for its own user, and its metrics are where the settings say, or nowhere', async () => {
  const dir = join(testDir(), 'data');
  const ports = ['--grpc-port=0', '--http-port=0', '--mcp-port=off'];
  const away = await startOwnNode(dir, [], { ports: [...ports, '--metrics-port=off'] });
  expect(away.output()).not.toContain('metrics');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name));
  const shared = [dir, ...files].filter((path) => (statSync(path).mode & 0o077) !== 0);
  expect([files.length > 1, shared]).toEqual([true, []]);
  away.kill('SIGTERM');
  expect(await away.ended).toBe(0);
  const elsewhere = [...ports, '--metrics-port=0', '--metrics-host=127.0.0.2'];
  const node = await startOwnNode(dir, [], { ports: elsewhere });
  expect(node.metrics).toMatch(/^http:\/\/127\.0\.0\.2:\d+\/metrics$/);
  expect(await (await fetch(node.metrics)).text()).toContain('cairn_build_info');
});

test('what was taken in before SIGTERM is answered, and is there after the next start (N3)', async () => {
  const dir = testDir();
  const first = await startOwnNode(dir);
  const headers = { 'content-type': 'application/json' };
  const post = (node: NodeProcess, path: string, body: unknown): Promise<Response> =>
    fetch(`${node.http}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  await post(first, '/api/v1/db', { database_name: 'kept' });
  const event = (id: number): unknown => ({ specversion: '1.0', id: `${id}`, type: 't', source: '/s' });
  const answers = Array.from({ length: 50 }, (_, id) => post(first, '/api/v1/db/kept', { events: [event(id)] }));
  await Promise.race(answers);
  first.kill('SIGTERM');
  const settled = await Promise.allSettled(answers);
  expect(await first.ended).toBe(0);
  const committed = settled.filter((answer) => answer.status === 'fulfilled' && answer.value.status === 200).length;
  expect(committed).toBeGreaterThan(0);
  const second = await startOwnNode(dir);
  const described: unknown = await (await fetch(`${second.http}/db/kept/latest`)).json();
  expect(described).toMatchObject({ revision: expect.any(Number) });
  const { revision } = Object(described);
  expect(revision).toBeGreaterThanOrEqual(committed);
});

test.each(['info', 'silent'])('a directory in use is refused by name, in one line, at level %s (N1)', async (level) => {
  const dir = testDir();
  await startOwnNode(dir);
  const ports = ['grpc', 'http', 'mcp', 'metrics'].map((name) => `--${name}-port=0`);
  const { status, stdout, stderr } = runProduct([`--data-dir=${dir}`, `--log-level=${level}`, ...ports]);
  expect([status, stdout, stderr.includes('    at ')]).toEqual([1, '', false]);
  const refusal = { event: 'cannot-start', level: 'error', reason: 'DataDirectoryInUse' };
  expect(JSON.parse(stderr)).toMatchObject({ ...refusal, message: expect.stringContaining(dir) });
});
