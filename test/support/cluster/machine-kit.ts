/**
 * Two kinds of state machines to run the core over: the small ones of these tests, and the real ones. A test that is
 * about the runtime uses the small ones; crashes are tried with both.
 */
import { encodeUtf8, type GroupId, LEVEL_FIRST, LEVELS, type LevelRange, type Revision, toRevision } from '#base';
import type { Machines } from '#cluster';
import { DatabaseReader, eventsOf, walkPages } from '#database';
import type { KvReader } from '#kv';
import { type Constraint, DATA_KIND, encodeEvent, encodeTransactPayload, NO_OPTIONS, ORIGIN, readEvent } from '#model';
import { databaseMachines } from '../../../src/cluster/apply/database-machines.ts';
import { nativeCrc32, nativeSha256 } from '../../../src/cluster/native.ts';
import { sharedContent } from '../database-rows.ts';
import { historyOf, storedRevision, toyMachines, transactPayload } from './toy-machines.ts';

export interface MachineKit {
  readonly machines: Machines;
  /** Of clusters that they can belong to. */
  readonly levels: LevelRange;
  /** The payload of a transaction that carries a text. */
  readonly payload: (text: string) => Uint8Array;
  /** The texts of a database, by revision. */
  readonly history: (kv: KvReader, group: GroupId) => Promise<readonly string[]>;
  /** Everything that is stored of a database and must be the same on every replica. */
  readonly shared: (kv: KvReader, group: GroupId) => Promise<readonly unknown[]>;
  readonly storedRevision: (kv: KvReader, group: GroupId) => Revision;
}

export const toyKit: MachineKit = {
  machines: toyMachines,
  levels: { min: LEVEL_FIRST, max: LEVEL_FIRST },
  payload: transactPayload,
  history: async (kv, group) => (await historyOf(kv, group)).map(({ text }) => text),
  shared: historyOf,
  storedRevision,
};

/** Every third text carries a constraint by prefix, for which the machine must look into the store. */
export const databaseKit: MachineKit = {
  machines: databaseMachines,
  levels: LEVELS,
  payload: (text) =>
    encodeTransactPayload({
      transactionId: nativeSha256([encodeUtf8(text)]).subarray(0, 16),
      origin: ORIGIN.UNSPECIFIED,
      options: NO_OPTIONS,
      constraints: text.length % 3 === 0 ? [ALWAYS] : [],
      events: [eventOf(text)],
    }),
  history: async (kv, group) => {
    const reader = readerOf(kv, group);
    const revision = reader.applied()?.revision ?? 0;
    const texts: string[] = [];
    for await (const pages of walkPages(reader, { from: 1, to: revision + 1, direction: 'forward' })) {
      const transactions = pages.flatMap((page) => reader.transactions(page));
      for (const event of transactions.flatMap(eventsOf)) texts.push(readEvent(event.bytes, 0, event.bytes.length).id);
    }
    return texts;
  },
  shared: sharedContent,
  storedRevision: (kv, group) => readerOf(kv, group).applied()?.revision ?? toRevision(0),
};

const ALWAYS: Constraint = {
  kind: 'max-revision',
  revision: 1_000_000,
  selector: { kind: 'by-type-prefix', value: 'te' },
};

function readerOf(kv: KvReader, group: GroupId): DatabaseReader {
  return new DatabaseReader({ kv, group, crc32: nativeCrc32, sha256: nativeSha256 });
}

function eventOf(text: string): Uint8Array {
  return encodeEvent({
    id: text,
    specVersion: '1.0',
    type: 'test',
    source: '/streams/one',
    subject: `subject-${text.length}`,
    data: encodeUtf8(text),
    dataKind: DATA_KIND.TEXT,
    extensions: new Map(),
  });
}
