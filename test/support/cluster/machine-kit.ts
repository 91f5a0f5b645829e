/** The state machines of cores in tests, with functions to write transactions and to read them back from the store. */
import { encodeUtf8, type GroupId, type Revision, toRevision } from '#base';
import type { Machines } from '#cluster';
import { DatabaseReader, eventsOf } from '#database';
import type { KvReader } from '#kv';
import { type Constraint, DATA_KIND, encodeEvent, encodeTransactPayload, NO_OPTIONS, ORIGIN, readEvent } from '#model';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import { nativeSha256 } from '../../../src/cluster/system-ports.ts';
import { sharedContent } from '../database-rows.ts';

export const databaseKit: {
  readonly machines: Machines;
  readonly payload: (text: string, name?: string) => Uint8Array;
  readonly history: (kv: KvReader, group: GroupId) => Promise<readonly string[]>;
  readonly shared: (kv: KvReader, group: GroupId) => Promise<readonly unknown[]>;
  readonly storedRevision: (kv: KvReader, group: GroupId) => Revision;
} = {
  machines: databaseMachines,
  /** Payload of a transaction with a text; every third text has a constraint by prefix, which reads the store. */
  payload: (text, name = text) =>
    encodeTransactPayload({
      transactionId: nativeSha256([encodeUtf8(name)]).subarray(0, 16),
      origin: ORIGIN.UNSPECIFIED,
      options: NO_OPTIONS,
      constraints: text.length % 3 === 0 ? [ALWAYS] : [],
      events: [eventOf(text)],
    }),
  /** Texts of a database, by revision. */
  history: async (kv, group) => {
    const reader = readerOf(kv, group);
    const revision = reader.applied()?.revision ?? 0;
    const texts: string[] = [];
    for (let each = 1; each <= revision; each++)
      for (const { bytes } of eventsOf(reader.transaction(each))) texts.push(textIn(bytes));
    return texts;
  },
  /** Stored content of a database that must be the same on every replica. */
  shared: sharedContent,
  storedRevision: (kv, group) => readerOf(kv, group).applied()?.revision ?? toRevision(0),
};

/** Unique names for texts that are written repeatedly. */
export class FreshNames {
  readonly #counts = new Map<string, number>();

  of(text: string): string {
    const count = (this.#counts.get(text) ?? 0) + 1;
    this.#counts.set(text, count);
    return count === 1 ? text : `${text} for the ${count}th time`;
  }
}

const TESTS: Constraint['selector'] = { kind: 'by-type-prefix', value: 'te' };
const ALWAYS: Constraint = { kind: 'max-revision', revision: 1_000_000, selector: TESTS };

function readerOf(kv: KvReader, group: GroupId): DatabaseReader {
  return new DatabaseReader({ kv, group, sha256: nativeSha256 });
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

function textIn(bytes: Uint8Array): string {
  return new TextDecoder().decode(readEvent(bytes, 0, bytes.length).data);
}
