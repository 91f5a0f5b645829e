/** Compares the same writes and reads on a node with few events and on one with ten times as many. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { appendRequests, TRANSACT } from '../peers/cairn.ts';
import { grpcHeaders } from '../support/http2-connection.ts';
import { measured } from '../support/measured.ts';
import { cpuSeconds } from '../support/process-cpu.ts';
import type { Contender, Workload } from '../support/sample.ts';
import { DATABASE, type LoadedNode, selectorReads } from './read.ts';

const EVENT_BYTES = 256;
const WRITERS = 64;
const READERS = 16;
/** A node has settled when it used less than this share of a processor for `SETTLED_MS`. */
const SETTLED_SHARE = 0.05;
const SETTLED_MS = 2000;

/**
 * Waits until both nodes have finished the compactions of the loading; the measured load causes compactions of its own.
 */
export async function scaleWorkloads(arena: Arena, few: LoadedNode, many: LoadedNode): Promise<readonly Workload[]> {
  await Promise.all([settled(few), settled(many)]);
  const both = (contender: (peer: string, node: LoadedNode) => Contender): readonly Contender[] =>
    [many, few].map((node) => contender(`${node.events} events`, node));
  return [
    {
      name: 'scale-writes',
      what: 'Conditional transactions of one event, by what the database held before.',
      unit: 'events',
      clients: WRITERS,
      eventBytes: EVENT_BYTES,
      contenders: both((peer, node) => writes(arena, peer, node)),
    },
    {
      name: 'scale-selector-reads',
      what: 'The ten events of one subject, by what the database holds.',
      unit: 'reads',
      clients: READERS,
      eventBytes: EVENT_BYTES,
      contenders: both((peer, node) => selectorReads(peer, node, READERS)),
    },
  ];
}

function writes(arena: Arena, peer: string, { node }: LoadedNode): Contender {
  const shape = { database: DATABASE, events: 1, eventBytes: EVENT_BYTES, conditional: true };
  const template = appendRequests(shape, arena.numbers());
  const load = { address: node.address, headers: grpcHeaders(TRANSACT), clients: WRITERS };
  return {
    peer,
    durability: 'fdatasync before the answer',
    run: (seconds) =>
      measured({ pids: [node.pid], eventsPerCall: 1 }, { ...load, seconds, request: () => template.next() }),
  };
}

/** Waits until the node has finished its compactions. */
export async function settled({ node }: LoadedNode): Promise<void> {
  for (let before = cpuSeconds([node.pid]), share = 1; share > SETTLED_SHARE; ) {
    await delay(SETTLED_MS);
    const after = cpuSeconds([node.pid]);
    share = ((after - before) * 1000) / SETTLED_MS;
    before = after;
  }
}
