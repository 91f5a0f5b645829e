// Goal: a node that was removed while it was down exits by itself, then waits, and joins as a new node after a command.
// Method: four real processes; one is killed, replaced, and started again on its ports.
import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { productArgs } from '../../chaos/support/product.ts';
import { clusterCommandAt, describedAt, holdersAt } from '../support/cluster-command.ts';
import { startMember, writeAt } from '../support/cluster-member.ts';
import { startOwnNode } from '../support/own-node.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };
const REMOVED = /Node 3 was removed from its cluster/;

function portIn(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** Starts the node at its old addresses without seeds: it knows the other nodes. */
function startAgain(
  dir: string,
  { grpc, http, peer }: NodeProcess,
  { join: seeds = [], onSpawn = endWithTest }: { join?: readonly string[]; onSpawn?: typeof endWithTest } = {},
): Promise<NodeProcess> {
  const ports = [`--grpc-port=${portIn(grpc)}`, `--http-port=${portIn(http)}`, '--mcp-port=off', '--metrics-port=0'];
  const place = [`--peer-port=${portIn(peer)}`, '--node-name=node-3'];
  return startOwnNode(join(dir, 'node-3'), [...place, ...seeds], { ports, onSpawn });
}

it('a node that was removed while it was down exits at its restart, then waits, and joins as a new node on request (C39)', {
  timeout: 600_000,
}, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const seed = first.process.peer;
  const second = await startMember(dir, 'node-2', seed);
  const third = await startMember(dir, 'node-3', seed);
  await first.client.send('createDatabase', { databaseName: DATABASE });
  await writeAt(first, DATABASE, 'a', POLL);
  await expect.poll(() => holdersAt(seed), POLL).toBe('1,2,3');
  await startMember(dir, 'node-4', seed);
  const answering = async (): Promise<number | undefined> =>
    (await describedAt(seed))?.nodes.filter(({ answers }) => answers).length;
  await expect.poll(answering, POLL).toBe(4);

  third.process.kill('SIGKILL');
  await third.process.ended;
  const { peer } = second.process;
  await expect
    .poll(() => clusterCommandAt(peer, 'replace', '3', '--by=4', '--wait').catch(() => undefined), POLL)
    .toContain('node 3 is removed');
  await expect.poll(() => holdersAt(seed), POLL).toBe('1,2,4');

  const again = await startAgain(dir, third.process);
  expect(await again.ended).toBe(70);
  expect(again.log()).toContain('"reason":"NodeRemoved"');
  expect(again.log()).toMatch(REMOVED);

  // After a restart by a supervisor, the node waits instead of exiting again and again.
  const children: ChildProcess[] = [];
  const onSpawn = (child: ChildProcess): void => {
    endWithTest(child);
    children.push(child);
  };
  void startAgain(dir, third.process, { onSpawn }).catch(() => undefined);
  const readiness = async (): Promise<unknown> => (await fetch(`${third.process.http}/readyz`)).text();
  await expect.poll(() => readiness().catch(() => undefined), POLL).toMatch(REMOVED);
  const rejoin = [...productArgs(), 'rejoin', `--data-dir=${join(dir, 'node-3')}`];
  expect((await promisify(execFile)(process.execPath, rejoin)).stdout).toContain('removed.1');
  const [waiting] = children;
  if (waiting === undefined) throw new Error('The node was started');
  const over = once(waiting, 'exit');
  waiting.kill('SIGTERM');
  expect(await over).toEqual([0, null]);
  await startAgain(dir, third.process, { join: [`--join=${seed}`] });
  await expect.poll(answering, POLL).toBe(4);

  // A node that was only down, and whose peers are all there, remains a member.
  second.process.kill('SIGKILL');
  await second.process.ended;
  const back = await startMember(dir, 'node-2', seed);
  await expect.poll(answering, POLL).toBe(4);
  expect(back.process.log()).not.toContain('NodeRemoved');
  expect(await writeAt(back, DATABASE, 'b', POLL)).toBe(2);
});
