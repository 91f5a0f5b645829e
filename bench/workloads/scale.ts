/** Compares the same writes and reads on a node with few events and on one with ten times as many. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { appendRequests, TRANSACT } from '../peers/cairn.ts';
import { closedTurns } from '../support/measured.ts';
import { cpuSeconds, processTree } from '../support/process-cpu.ts';
import type { Contender, Turns, Workload } from '../support/sample.ts';
import { DATABASE, type LoadedNode, loadedDirectory, loadedNode, selectorReads } from './read.ts';

const EVENT_BYTES = 256;
const WRITERS = 64;
const READERS = 16;
/** A server has settled when it used less than this share of a processor for `SETTLED_MS`. */
const SETTLED_SHARE = 0.05;
const SETTLED_MS = 2000;

/**
 * Waits until both nodes have finished the compactions of the loading; the measured load causes compactions of its own.
 */
export function scaleWorkloads(arena: Arena, few: number, many: number): readonly Workload[] {
  const both = (open: (node: LoadedNode) => Turns): readonly Contender[] =>
    [many, few].map((events) => ({
      peer: `cairn, ${events} events`,
      directory: loadedDirectory({ arena, events }),
      open: async () => {
        const loaded = await loadedNode(arena, events);
        await settled(loaded.node);
        return open(loaded);
      },
    }));
  const shared = { eventBytes: EVENT_BYTES };
  return [
    {
      ...shared,
      name: 'scale-writes',
      what: 'Conditional transactions of one event, by what the database held before.',
      unit: 'events',
      clients: WRITERS,
      contenders: both((loaded) => writes(arena, loaded)),
    },
    {
      ...shared,
      name: 'scale-selector-reads',
      what: 'The ten events of one subject, by what the database holds.',
      unit: 'reads',
      clients: READERS,
      contenders: both((loaded) => selectorReads(loaded, READERS)),
    },
  ];
}

function writes(arena: Arena, { node }: LoadedNode): Turns {
  const shape = { database: DATABASE, events: 1, eventBytes: EVENT_BYTES, conditional: true };
  const template = appendRequests(shape, arena.numbers());
  const calls = { address: node.address, path: TRANSACT, clients: WRITERS, request: () => template.next() };
  return closedTurns({ pids: [node.pid], eventsPerCall: 1 }, calls);
}

/** Waits until the server has finished its work in the background, such as compactions. */
export async function settled({ pid }: { readonly pid: number }): Promise<void> {
  const used = (): number => cpuSeconds(processTree(pid));
  for (let before = used(), share = 1; share > SETTLED_SHARE; ) {
    await delay(SETTLED_MS);
    const after = used();
    share = ((after - before) * 1000) / SETTLED_MS;
    before = after;
  }
}
