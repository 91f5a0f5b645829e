/** The memory of an idle and of a loaded node, the time of its starts, and that of a start which rebuilds the index. */
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { appendRequests, type CairnNode, QUERY_EVENTS, startCairn, subjectQueries, TRANSACT } from '../peers/cairn.ts';
import { closedLoop } from '../support/closed-loop.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { residentMemory } from '../support/process-cpu.ts';
import { type Figure, spread } from '../support/results.ts';
import type { Measurement, Preparation } from './named.ts';
import { DATABASE, loadedDirectory, loadedNode } from './read.ts';
import { settled } from './scale.ts';

const SETTLE_MS = 3000;
const STARTS = 5;
const RETRY_MS = 50;
const WRITERS = 64;
const EVENT_BYTES = 256;
const WRITE_SECONDS = 2;
/** Lost end of a history: less than is written between two checkpoints, and more than a batch. */
const LOST_BYTES = 32 * 1024;

/** Stops the node with the events. */
export function footprint(run: Preparation): Measurement {
  return {
    name: 'footprint',
    directory: loadedDirectory(run),
    what: `Resident memory of a node, at rest and with ${run.events} events, and its starts.`,
    figures: async () => {
      const idle = await startCairn(run.arena.at('idle'));
      await delay(SETTLE_MS);
      const atRest = memory('cairn, idle', idle);
      await idle.stop();
      const { node } = await loadedNode(run.arena, run.events);
      const afterReads = memory('cairn, after the work of this run', node);
      await node.stop();
      return [atRest, afterReads, ...(await starts(run))];
    },
  };
}

/** Stops the node with the events, and leaves it with a rebuilt index. */
export function largeStart(run: Preparation): Measurement {
  return {
    name: 'start',
    directory: loadedDirectory(run),
    what: `Starts with ${run.events} events; and one after the end of the history was lost, which indexes it again from its beginning.`,
    figures: async () => {
      const { node } = await loadedNode(run.arena, run.events);
      await settled(node);
      await node.stop();
      return [...(await starts(run)), await rebuild(run)];
    },
  };
}

async function starts(run: Preparation): Promise<readonly Figure[]> {
  const readyMs: number[] = [];
  let after: Figure | undefined;
  for (let i = 0; i < STARTS; i++) {
    const node = await startCairn(loadedDirectory(run));
    readyMs.push(node.readyMs);
    await delay(SETTLE_MS / STARTS);
    after = memory('cairn, after a start', node);
    await node.stop();
  }
  const text = `${spread(readyMs, (value) => value.toFixed(0))} ms to ready, ${STARTS} starts, ${run.events} events`;
  return [{ contender: 'cairn', text }, ...(after === undefined ? [] : [after])];
}

/**
 * Kills the node while it writes, and takes the end of the last segment away, as a power failure may do. The history
 * then ends before the state that LevelDB has, and all that follows from the history is written again.
 */
async function rebuild(run: Preparation): Promise<Figure> {
  const directory = loadedDirectory(run);
  const node = await startCairn(directory);
  const shape = { database: DATABASE, events: 1, eventBytes: EVENT_BYTES, conditional: false };
  const template = appendRequests(shape, run.arena.numbers());
  const load = { address: node.address, headers: grpcHeaders(TRANSACT), clients: WRITERS, seconds: 2 * WRITE_SECONDS };
  const writing = Promise.allSettled([closedLoop({ ...load, request: () => template.next() })]);
  await delay(WRITE_SECONDS * 1000);
  await node.kill();
  await writing;
  const last = lastSegment(join(directory, 'store', 'histories'));
  truncateSync(last, statSync(last).size - LOST_BYTES);
  const began = performance.now();
  const again = await startCairn(directory);
  await untilReadable(again);
  const seconds = (performance.now() - began) / 1000;
  await again.stop();
  const rate = (run.events / seconds).toFixed(0);
  const text = `${again.readyMs.toFixed(0)} ms to ready, ${seconds.toFixed(1)} s to a read: ${rate} events/s`;
  return { contender: 'cairn, index rebuilt', text };
}

/** The last file of the largest history. */
function lastSegment(histories: string): string {
  const files = (group: string): readonly string[] =>
    readdirSync(join(histories, group))
      .toSorted()
      .map((name) => join(histories, group, name));
  const sizeOf = (group: string): number => files(group).reduce((sum, file) => sum + statSync(file).size, 0);
  const [largest = ''] = readdirSync(histories).toSorted((one, other) => sizeOf(other) - sizeOf(one));
  return files(largest).at(-1) ?? '';
}

/** Asks for the events of a subject until they can be read. While rows are rebuilt, a read is refused. */
async function untilReadable({ address }: CairnNode): Promise<void> {
  const query = subjectQueries(DATABASE, () => 0).next();
  const load = { address, headers: grpcHeaders(QUERY_EVENTS), clients: 1, seconds: 0, calls: 1 };
  while ((await closedLoop({ ...load, request: () => query })).failed > 0) await delay(RETRY_MS);
}

function memory(contender: string, { pid }: CairnNode): Figure {
  const { total, anonymous, files } = residentMemory(pid);
  const [all, own, mapped] = [total, anonymous, files].map((bytes) => (bytes / 2 ** 20).toFixed(0));
  return { contender, text: `${all} MiB resident, ${own} anonymous, ${mapped} of mapped files` };
}
