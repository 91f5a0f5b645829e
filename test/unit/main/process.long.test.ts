// Goal: the command starts, says where it is, drains and ends as an operator expects (N1 to N3).
// Method: the real process on free loopback ports, its output and its exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, truncateSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { NodeProcess } from '../../../chaos/support/node-process.ts';
import { productArgs } from '../../../chaos/support/product.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { BARE_ENV, runProduct, startOwnNode } from '../../support/own-node.ts';
import { endWithTest, testDir } from '../../support/test-scope.ts';

/** A flag of Node that runs the code before anything else. */
function imported(code: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

test.skipIf(lacksTool('script'))('a node at a terminal ends its start with the address to open (N2)', async () => {
  const ports = ['--grpc-port=0', '--http-port=0', '--mcp-port=off', '--metrics-port=off'];
  const small = ['--wal-segment-bytes=4MiB', '--disk-soft-bytes=0', '--disk-hard-bytes=0'];
  const args = [...productArgs(), '--bootstrap=alone', `--data-dir=${testDir()}`, ...ports, ...small];
  const command = `exec ${[process.execPath, ...args].map((word) => `'${word}'`).join(' ')}`;
  const child = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
    env: { ...BARE_ENV, PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endWithTest(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await vi.waitFor(() => expect(output).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\r$/m), { timeout: 30_000 });
  expect(output).toContain(`"http":"${/^Open (\S+)/m.exec(output)?.[1]}"`);
  child.kill('SIGTERM');
  await once(child, 'exit');
});

test('an older Node prints one line that says what is needed, and how to run it', () => {
  // A Node of that release has this version, and lacks this function.
  const older = `Object.defineProperty(process, 'version', { value: 'v20.20.2' }); delete Promise.withResolvers;`;
  const { status, stdout, stderr } = runProduct(['--version'], [imported(older)]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(
    /^cairn: needs Node 24 or later, and this is v20\.20\.2; run it by the one that is here: (\S+\/node_modules\/node\/bin\/node) \S+\/main\.[jt]s\n$/,
  );
});

test('a command that waits for an answer ends with the first signal', async () => {
  const deaf = createServer().listen(0, '127.0.0.1');
  await once(deaf, 'listening');
  const { port } = deaf.address() as AddressInfo;
  const args = [...productArgs(), 'cluster', 'status', `--at=127.0.0.1:${port}`];
  const child = spawn(process.execPath, args, { env: BARE_ENV, stdio: 'ignore' });
  endWithTest(child);
  await once(deaf, 'connection');
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
  deaf.close();
});

test('the permission model of Node, under which nothing can be synced, is refused in one line', () => {
  const dir = testDir();
  const rights = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*'];
  const { status, stdout, stderr } = runProduct([`--data-dir=${dir}/data`], rights);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^cairn: cannot run under the permission model.* without --permission\n$/);
  expect(existsSync(join(dir, 'data'))).toBe(false);
});

test('a node whose stdout is not read continues, and logs it', async () => {
  const dir = testDir();
  const ports = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0', '--wal-segment-bytes=4MiB'];
  const args = [...productArgs(), '--bootstrap=alone', `--data-dir=${dir}`, ...ports];
  const child = spawn(process.execPath, args, { env: BARE_ENV, stdio: ['ignore', 'pipe', 'pipe'] });
  endWithTest(child);
  const ended = once(child, 'exit');
  child.stdout.destroy();
  let log = '';
  child.stderr.on('data', (piece) => void (log += String(piece)));
  await vi.waitUntil(() => child.exitCode !== null || log.includes('stdout-lost'), { timeout: 60_000 });
  const http = /"http":"([^"]+)"/.exec(log)?.[1] ?? '';
  expect(await (await fetch(`${http}/health`)).text()).toBe('OK');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  for (const line of log.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('event');
});

test('a node that receives SIGTERM before it has opened anything exits with 0, and opens nothing', () => {
  const dir = testDir();
  // Tells the process in the moment in which it begins to listen.
  const hook = `
    const { on } = process;
    process.on = function (event, listener) {
      on.call(this, event, listener);
      if (event === 'SIGTERM') process.kill(process.pid, 'SIGTERM');
      return this;
    };`;
  const { status, signal, stdout, stderr } = runProduct([`--data-dir=${dir}/data`], [imported(hook)]);
  expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({ event: 'stopped', signal: 'SIGTERM' });
  expect(existsSync(join(dir, 'data'))).toBe(false);
});

/** A request that never ends, so that a drain takes as long as it may. */
async function busyWith(node: NodeProcess): Promise<Socket> {
  const busy = connect(Number(new URL(node.http).port), '127.0.0.1');
  busy.on('error', () => undefined).write('POST /databases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{');
  expect(await (await fetch(`${node.http}/health`)).text()).toBe('OK');
  return busy;
}

test('a node that is interrupted again while it drains ends with 1, and says so at every level', async () => {
  const node = await startOwnNode(testDir(), ['--log-level=silent']);
  const busy = await busyWith(node);
  const telling = setInterval(() => node.kill('SIGINT'), 100);
  expect(await node.ended).toBe(1);
  clearInterval(telling);
  busy.destroy();
  expect(JSON.parse(node.log())).toMatchObject({ event: 'stopped-without-drain', level: 'error', signal: 'SIGINT' });
});

test('a damaged log is refused with its name, in one line, and with the stack when asked for', async () => {
  const dir = testDir();
  const node = await startOwnNode(dir);
  node.kill('SIGTERM');
  await node.ended;
  const guard = join(dir, 'log', 'guard');
  truncateSync(guard, 100);
  const place = [`--data-dir=${dir}`, '--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0'];
  const refused = runProduct(place);
  expect([refused.status, refused.stdout, refused.stderr.includes('    at ')]).toEqual([1, '', false]);
  const message = expect.stringContaining(guard);
  expect(JSON.parse(refused.stderr)).toMatchObject({ event: 'cannot-start', message });
  const { status, stderr } = runProduct([...place, '--log-level=debug']);
  expect(status).toBe(1);
  // Where it is in the sources, although what runs is a bundle.
  expect(stderr).toMatch(/ {4}at [^"]*\/src\/storage\/[a-z-]+\.ts:\d+:\d+/);
});
