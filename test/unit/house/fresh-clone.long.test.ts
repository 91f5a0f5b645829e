// Goal: `npm start` starts a fresh clone, its second start builds nothing, and the built product runs with the packages
// of production alone. Method: the files of this working tree in another folder, real processes, gRPC and HTTP.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { Event } from '../../../proto/gen/cairn/v1/event.ts';
import { TestClient } from '../../support/grpc-client.ts';
import { endWithTest, testDir } from '../../support/test-scope.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const SETTINGS = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0', '--wal-segment-bytes=4MiB'];

interface Started {
  readonly grpc: string;
  readonly http: string;
  /** Returns its output on stderr. */
  log(): string;
  /** Stops it by SIGTERM and returns the exit code. */
  stop(): Promise<unknown>;
}

async function start(cwd: string, program: string, args: readonly string[]): Promise<Started> {
  const child: ChildProcess = spawn(program, [...args, `--data-dir=${join(cwd, 'data')}`, ...SETTINGS], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithTest(child);
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (log += text));
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const [line] = await Promise.race([once(lines, 'line'), ended.then(() => ['{}'])]);
  const { grpc, http }: { grpc: string; http: string } = JSON.parse(String(line));
  const stop = async (): Promise<unknown> => {
    child.kill('SIGTERM');
    const [code] = await ended;
    return code;
  };
  return { grpc, http, log: () => log, stop };
}

const npmStart = (cwd: string): Promise<Started> => start(cwd, 'npm', ['start', '--silent', '--']);

/** Copies the files that a clone of this working tree would have, with installed packages. */
function clone(): string {
  const dir = testDir();
  const parts = ['charts', 'operator/src', 'proto', 'scripts', 'src'];
  const listing = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...parts];
  const listed = execFileSync('git', listing, { cwd: ROOT, encoding: 'utf8' });
  const files = [...listed.split('\0').filter(Boolean), 'package.json', 'package-lock.json'];
  for (const file of [...files, 'tsconfig.json', 'tsconfig.build.json']) cpSync(join(ROOT, file), join(dir, file));
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  return dir;
}

/** Copies the built product as into an image: without sources, tools, and packages that only they need. */
function shipped(cloned: string): string {
  const dir = testDir();
  for (const part of ['package.json', 'dist']) cpSync(join(cloned, part), join(dir, part), { recursive: true });
  const { packages }: { packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }> } =
    JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  for (const [path, { dev, devOptional, optional }] of Object.entries(packages)) {
    // A package inside another package is copied with it.
    if (!/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) || dev || devOptional || optional) continue;
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    cpSync(join(ROOT, path), join(dir, path), { recursive: true, dereference: true });
  }
  return dir;
}

async function post(url: string, body: unknown): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
}

it('a fresh clone builds and starts, accepts transactions, and has them after the next start', {
  timeout: 180_000,
}, async () => {
  const cloned = clone();
  const first = await npmStart(cloned);
  expect(first.log()).toContain('Building dist from src');
  expect(await post(`${first.http}/api/v1/db`, { database_name: 'kept' })).toBe(201);
  expect(
    await post(`${first.http}/api/v1/db/kept`, { events: [{ specversion: '1.0', id: '0', type: 't', source: '/s' }] }),
  ).toBe(200);
  await using client = new TestClient(first.grpc);
  const event = Event.fromPartial({ id: '1', specVersion: '1.0', ty: 't', source: '/s' });
  const rest = { constraints: [], options: undefined };
  const transaction = { ...rest, events: [event], transactionId: randomUUID() };
  const reply = await client.send('transact', { databaseName: 'kept', transaction, ...rest, events: [] });
  expect(reply).toMatchObject({ revision: 2 });
  expect(await first.stop()).toBe(0);

  const second = await npmStart(cloned);
  expect(second.log()).not.toContain('Building');
  expect(await (await fetch(`${second.http}/db/kept/latest`)).json()).toMatchObject({ revision: 2 });
  expect(await second.stop()).toBe(0);

  const image = shipped(cloned);
  cpSync(join(cloned, 'data'), join(image, 'data'), { recursive: true });
  const third = await start(image, process.execPath, ['dist/main.js']);
  expect(await (await fetch(`${third.http}/db/kept/latest`)).json()).toMatchObject({ revision: 2 });
  expect(await third.stop()).toBe(0);
  const wrong = spawnSync(process.execPath, ['dist/main.js', '--nothing=1'], { cwd: image, encoding: 'utf8' });
  expect(wrong).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('--nothing is not a setting') });
});
