/**
 * Bytes that the servers write to the disk for an event: by all files together, including what they write in the
 * background after the load. The disk must be idle otherwise. A turn is a fixed number of transactions of 100 events.
 */
import type { Arena } from '../arena.ts';
import { appendScript, measuredPgbench, type Postgres, psql } from '../peers/postgres.ts';
import { fill } from '../support/measured.ts';
import { diskWrittenBytes } from '../support/process-cpu.ts';
import type { Sample, Turns, Workload } from '../support/sample.ts';
import { conditionalContenders } from './append.ts';
import { settled } from './scale.ts';

const NAME = 'written';
const EVENT_BYTES = 256;
const EVENTS = 100;
const CLIENTS = 16;
/** Share of the events of a loaded database that a turn appends. */
const SHARE = 0.2;

export function writtenWorkload(arena: Arena, loaded: number): Workload {
  const transactions = Math.max(CLIENTS, (loaded * SHARE) / EVENTS);
  const shape = { name: NAME, events: EVENTS, eventBytes: EVENT_BYTES };
  const contenders = conditionalContenders(arena, shape, {
    turns: ({ pid, address }, path, template) =>
      counting(arena, pid, () =>
        fill({ pids: [pid], eventsPerCall: EVENTS }, { address, path, request: () => template.next() }, transactions),
      ),
    postgres: (server) => postgres(arena, server, transactions),
  });
  return {
    name: NAME,
    what: `${transactions} transactions of ${EVENTS} events, and the bytes that were written for each event when the server is at rest again.`,
    unit: 'events',
    clients: CLIENTS,
    eventBytes: EVENT_BYTES,
    contenders,
  };
}

function postgres(arena: Arena, server: Postgres, transactions: number): Turns {
  const scripts = [{ text: appendScript(EVENTS, EVENT_BYTES) }];
  const load = { scripts, clients: CLIENTS, seconds: 0, transactions: Math.ceil(transactions / CLIENTS) };
  return counting(arena, server.pid, async () => {
    const sample = await measuredPgbench(server, { ...load, eventsPerCall: EVENTS });
    await psql(server, 'CHECKPOINT');
    return sample;
  });
}

/** A turn begins and ends at rest. There is no warm-up, because a rate is not the purpose. */
function counting(arena: Arena, pid: number, load: () => Promise<Sample>): Turns {
  const run = async (): Promise<Sample> => {
    await settled({ pid });
    const before = diskWrittenBytes(arena.dir);
    const sample = await load();
    await settled({ pid });
    return { ...sample, writtenBytes: diskWrittenBytes(arena.dir) - before };
  };
  return { run };
}
