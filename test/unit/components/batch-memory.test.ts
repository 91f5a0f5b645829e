// Goal: batches that are built on the event loop reuse the memory of earlier ones, but not while it is in use (F9).
// Method: concurrent folds over one memory; each uses a batch while its next one is built, as a view does.
import { expect, it } from 'vitest';
import { ALL } from '#model';
import { BatchMemory } from '../../../src/components/batch-memory.ts';
import { memoryOf } from '../../../src/components/batch-messages.ts';
import { READ_HERE } from '../../../src/components/batch-thread.ts';
import type { BatchedQuery } from '../../../src/components/event-batches.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const FOLDS = 6;
const EVENTS = 60;
const KIB = 1024;

const database = new KnownDatabase(memoryKv());
for (let n = 0; n < EVENTS; n++) database.apply([{ source: 's', type: `type-${n}` }], CREATED_AT_MS + n);
await database.flush();

function asked(start: number, eventsMax: number): BatchedQuery {
  const revisions = { start, end: database.revision };
  return {
    at: database.revision,
    query: { selector: ALL, revisions, direction: 'forward' },
    bounds: { eventsMax, bytesMax: 64 * KIB },
  };
}

interface Looked {
  /** Batches at the time of their arrival. */
  readonly batches: readonly string[];
  /** The same batches after the arrival of the next one. */
  readonly later: readonly string[];
  readonly memories: readonly ArrayBuffer[];
}

async function looked(memory: BatchMemory, query: BatchedQuery): Promise<Looked> {
  const [batches, later, memories]: [string[], string[], ArrayBuffer[]] = [[], [], []];
  const lease = memory.lease();
  const reading = READ_HERE.batches(database.source, query, lease);
  for (let batch = await reading.next(); batch.done !== true; ) {
    const { events } = batch.value;
    batches.push(Buffer.from(events).toString());
    memories.push(memoryOf(batch.value));
    const next = await reading.next();
    later.push(Buffer.from(events).toString());
    batch = next;
  }
  lease.end();
  return { batches, later, memories };
}

it('memory of batches is reused only when no fold uses it any more (F9)', async () => {
  const memory = new BatchMemory();
  const folds = Array.from({ length: FOLDS }, (_, n) => asked(n, n + 1));
  const alone = [];
  for (const fold of folds) alone.push((await looked(new BatchMemory(), fold)).batches);
  const together = await Promise.all(folds.map((fold) => looked(memory, fold)));
  expect(together.map(({ batches }) => batches)).toEqual(alone);
  expect(together.map(({ later }) => later)).toEqual(alone);
});
