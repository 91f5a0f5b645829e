// Goal: a constraint over a prefix reads a bounded number of rows, and is refused when they do not decide it (D13).
// Method: databases of many subjects on a store that counts rows.
import { expect, it } from 'vitest';
import type { TransactOutcome } from '#database';
import type { KvStore } from '#kv';
import { and, type Constraint, or, type Selector, term } from '#model';
import { CountingReader } from '../../support/counting-reader.ts';
import { DatabaseHost } from '../../support/database-host.ts';
import type { OracleEvent } from '../../support/database-oracle.ts';
import { transactionOf } from '../../support/database-requests.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { withMethods } from '../../support/with-methods.ts';

/** More subjects, and more later events, than a transaction may read. */
const SUBJECTS = 2400;
const NEWER = 30;
const EVENTS_OF_ONE = 20;
/** Revision of the last of these transactions. */
const FILLED = SUBJECTS / 600 + NEWER;
const ROWS_MAX = 2048;
const ROWS_OF_A_WAIT = 256;
const EVENTS_MAX = 512 + 16;
const GETS_OF_A_REVISION = 4;
const old = term('by-subject-prefix', 'old-');

function transact(
  host: DatabaseHost,
  subjects: readonly string[],
  constraints: readonly Constraint[] = [],
): Promise<TransactOutcome> {
  return apply(host, { stream: 'orders', type: 'placed', subjects }, constraints);
}

function transactQuietly(host: DatabaseHost, subjects: readonly string[]): Promise<TransactOutcome> {
  return apply(host, { stream: 'quiet', type: 'ended', subjects }, []);
}

function times(count: number, subject: string): readonly string[] {
  return Array.from({ length: count }, () => subject);
}

function apply(
  host: DatabaseHost,
  { stream, type, subjects }: { readonly stream: string; readonly type: string; readonly subjects: readonly string[] },
  constraints: readonly Constraint[],
): Promise<TransactOutcome> {
  const events = subjects.map((subject, index): OracleEvent => {
    return { id: `e-${index}`, type, source: stream, stream, subject };
  });
  return host.apply(transactionOf(events, constraints));
}

function ask(host: DatabaseHost, ...constraints: readonly Constraint[]): Promise<TransactOutcome> {
  return transact(host, ['asked'], constraints);
}

/** Revisions 1 to 4 have 600 subjects `old-…` each, the others have events of `new`. */
async function manySubjects(kv: KvStore = memoryKv()): Promise<DatabaseHost> {
  const host = new DatabaseHost({}, kv);
  await fill(host);
  return host;
}

async function fill(host: DatabaseHost): Promise<void> {
  const subjects = Array.from({ length: SUBJECTS }, (_, n) => `old-${n}`);
  for (let from = 0; from < SUBJECTS; from += 600) await transact(host, subjects.slice(from, from + 600));
  for (let n = 0; n < NEWER; n++) await transact(host, times(EVENTS_OF_ONE, 'new'));
  await host.flush();
}

function most(revision: number, selector: Selector = old): Constraint {
  return { kind: 'max-revision', revision, selector };
}

function least(revision: number, selector: Selector = old): Constraint {
  return { kind: 'min-revision', revision, selector };
}

it('a prefix of more heads than a transaction may read, none of them new, is refused when the revision decides, with the positions of these constraints', async () => {
  const host = await manySubjects();
  const never = least(10_000, term('by-subject', 'new'));
  const range = { kind: 'revision-range', start: 2, end: 5, selector: old } as const;
  const refused = { kind: 'too-broad', revision: FILLED, constraints: [0, 2, 3] };
  expect(await ask(host, most(0), never, most(3), range)).toEqual(refused);
  expect(host.machine.revision).toBe(FILLED);
});

const besides = (...terms: readonly Selector[]): Selector => and([old, ...terms]);

it.each([
  ['type', term('by-type', 'nosuch')],
  ['stream', term('by-stream', 'nosuch')],
  ['combination', and([term('by-stream', 'orders'), term('by-type', 'nosuch')])],
  ['combination of two that exist', and([term('by-stream', 'quiet'), term('by-type', 'placed')])],
])('an equality beside a prefix of too many heads finds nothing when its %s has no event', async (_what, equality) => {
  const host = await manySubjects();
  await transactQuietly(host, ['other']);
  await transact(host, ['new']);
  expect(await ask(host, most(0, besides(equality)))).toMatchObject({ kind: 'committed' });
  const never = await ask(host, least(1, besides(equality)));
  expect(never).toMatchObject({ kind: 'violated', violations: [{ found: 0 }] });
});

it('the rows that are read for prefixes are bounded, for any number of alternatives and any size of the database', async () => {
  const store = memoryKv();
  const reader = new CountingReader(store);
  const counted = withMethods<KvStore>(store, {
    get: (key) => reader.get(key),
    range: (options) => reader.range(options),
  });
  const host = await manySubjects(counted);
  const narrow = Array.from({ length: 100 }, (_, n) => term('by-subject-prefix', `old-${100 + n}`));
  const wide = [old, and([term('by-type-prefix', 'pl'), old])];
  for (const selector of [...wide, or(narrow)]) {
    reader.reset();
    await ask(host, most(0, selector));
    expect(reader.rows).toBeGreaterThan(ROWS_MAX / 2);
    expect(reader.rows).toBeLessThanOrEqual(ROWS_MAX + ROWS_OF_A_WAIT);
    expect(reader.gets).toBeLessThan(GETS_OF_A_REVISION * EVENTS_MAX);
    expect(reader.openRanges).toBe(0);
  }
});
