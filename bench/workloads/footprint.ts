/** Memory of an idle and of a loaded node, and the time from its start to its ready line. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { startCairn } from '../peers/cairn.ts';
import { residentBytes } from '../support/process-cpu.ts';
import type { LoadedNode } from './read.ts';

const SETTLE_MS = 3000;
const STARTS = 5;

export async function footprint(arena: Arena, loaded: LoadedNode): Promise<string> {
  const idle = await startCairn(join(arena.dir, 'idle'));
  await delay(SETTLE_MS);
  const idleBytes = residentBytes(idle.pid);
  await idle.stop();
  const loadedBytes = residentBytes(loaded.node.pid);
  await loaded.node.stop();
  const readyMs: number[] = [];
  let restarted = 0;
  for (let i = 0; i < STARTS; i++) {
    const node = await startCairn(join(arena.dir, `loaded-${loaded.events}`));
    readyMs.push(node.readyMs);
    await delay(SETTLE_MS / STARTS);
    restarted = residentBytes(node.pid);
    await node.stop();
  }
  const times = readyMs.toSorted((a, b) => a - b).map((value) => value.toFixed(0));
  return `### footprint

| what | value |
| --- | --- |
| resident memory, idle | ${mebibytes(idleBytes)} |
| resident memory after loading and reading ${loaded.events} events | ${mebibytes(loadedBytes)} |
| resident memory after a restart with ${loaded.events} events | ${mebibytes(restarted)} |
| start to ready with ${loaded.events} events, ${STARTS} starts | ${times.join(', ')} ms |
`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
