/** Measures the memory of an idle and of a loaded node, and the time from its start to its ready line. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { startCairn } from '../peers/cairn.ts';
import { type ResidentMemory, residentMemory } from '../support/process-cpu.ts';
import type { LoadedNode } from './read.ts';

const SETTLE_MS = 3000;
const STARTS = 5;

export async function footprint(arena: Arena, loaded: LoadedNode): Promise<string> {
  const idle = await startCairn(join(arena.dir, 'idle'));
  await delay(SETTLE_MS);
  const atRest = residentMemory(idle.pid);
  await idle.stop();
  const afterReads = residentMemory(loaded.node.pid);
  await loaded.node.stop();
  const readyMs: number[] = [];
  let restarted = afterReads;
  for (let i = 0; i < STARTS; i++) {
    const node = await startCairn(join(arena.dir, `loaded-${loaded.events}`));
    readyMs.push(node.readyMs);
    await delay(SETTLE_MS / STARTS);
    restarted = residentMemory(node.pid);
    await node.stop();
  }
  const times = readyMs.toSorted((a, b) => a - b).map((value) => value.toFixed(0));
  return `### footprint

| resident memory | total | anonymous | mapped files |
| --- | --- | --- | --- |
| idle | ${inMebibytes(atRest)} |
| after loading and reading ${loaded.events} events | ${inMebibytes(afterReads)} |
| after a restart with ${loaded.events} events | ${inMebibytes(restarted)} |

Start to ready with ${loaded.events} events, ${STARTS} starts: ${times.join(', ')} ms.
`;
}

function inMebibytes({ total, anonymous, files }: ResidentMemory): string {
  return [total, anonymous, files].map((bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`).join(' | ');
}
