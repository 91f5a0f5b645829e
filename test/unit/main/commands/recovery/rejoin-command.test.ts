// Goal: a removed node says so once, waits, and joins as a new node when an operator wants it. Method: the real process
// and the command over a data directory of a removed node.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productArgs } from '../../../../../chaos/support/product.ts';
import { noteRemoved } from '../../../../../src/cluster/store/own-identity.ts';
import { rejoinCommand } from '../../../../../src/main/commands/recovery/rejoin-command.ts';
import { IDENTITY, StoppedDirectory } from '../../../../support/cluster/stopped-node.ts';
import { eventually } from '../../../../support/eventually.ts';
import { freePorts } from '../../../../support/free-ports.ts';
import { startOwnNode } from '../../../../support/own-node.ts';
import { endWithTest, testDir } from '../../../../support/test-scope.ts';

async function removedDirectory(): Promise<string> {
  const dir = testDir();
  await using directory = await StoppedDirectory.begin(dir);
  await noteRemoved(directory.store, IDENTITY);
  return dir;
}

async function rejoin(...args: readonly string[]): Promise<readonly [code: number, out: string, err: string]> {
  let [out, err] = ['', ''];
  const code = await rejoinCommand(args, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    environment: {},
  });
  return [code, out, err];
}

it('a removed node waits and says why, and is a new one once its directory was set aside', async () => {
  const dir = await removedDirectory();
  expect(await rejoin(`--data-dir=${dir}`)).toEqual([1, '', expect.stringContaining('start the node with it once')]);
  const [port] = await freePorts(1);
  const ports = ['--grpc-port=0', `--http-port=${port}`, '--mcp-port=off', '--metrics-port=off'];
  const child = spawn(process.execPath, [...productArgs(), `--data-dir=${dir}`, ...ports]);
  endWithTest(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (log += text));
  const over = once(child, 'exit');
  const ask = async (path: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return [answer.status, await answer.text()];
  };
  const why = 'Node 3 was removed from its cluster';
  await eventually(async () =>
    expect(await ask('/readyz')).toEqual([503, expect.stringContaining(`cluster failed: ${why}`)]),
  );
  expect([await ask('/livez'), await ask('/startupz')]).toEqual([
    [200, 'ok'],
    [200, 'ok'],
  ]);
  expect(await ask('/databases')).toEqual([503, expect.stringContaining(why)]);

  expect(await rejoin('--data-dir', dir)).toEqual([0, expect.stringContaining(join(dir, 'removed.1')), '']);
  expect(readdirSync(join(dir, 'removed.1')).toSorted()).toEqual(['ledger', 'log', 'removed', 'store']);
  child.kill('SIGTERM');
  expect(await over).toEqual([0, null]);
  expect(log.match(/"event":"node-removed"/g)).toHaveLength(1);

  // As where the rest was deleted by hand: a member is not set aside for it.
  writeFileSync(join(dir, 'removed'), '');
  const again = await startOwnNode(dir, ['--bootstrap=alone']);
  expect(await (await fetch(`${again.http}/readyz`)).text()).toBe('ok');
  expect(await rejoin(`--data-dir=${dir}`)).toEqual([1, '', expect.stringContaining('is not known to be')]);
});

describe('cairn rejoin', () => {
  it('takes the next free name, and leaves what is not of the node', async () => {
    const dir = await removedDirectory();
    for (const name of ['removed', 'removed.1', 'notes.txt']) writeFileSync(join(dir, name), '');
    expect(await rejoin(`--data-dir=${dir}`)).toEqual([0, expect.stringContaining('removed.2'), '']);
    expect(readdirSync(dir).toSorted()).toEqual(['notes.txt', 'removed.1', 'removed.2']);
  });

  it('is refused while a process has the directory open', async () => {
    const dir = testDir();
    await using directory = await StoppedDirectory.begin(dir);
    expect(directory.store).toBeDefined();
    writeFileSync(join(dir, 'removed'), '');
    expect(await rejoin(`--data-dir=${dir}`)).toEqual([1, '', expect.stringContaining('open in another process')]);
  });

  it.each([
    [[], '--data-dir is missing'],
    [['--dir=x'], 'unknown option "--dir"'],
  ])('says what is wrong with %j', async (args, fault) => {
    expect(await rejoin(...args)).toEqual([2, '', expect.stringContaining(fault)]);
  });
});
