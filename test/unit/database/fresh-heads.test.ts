// Goal: the head of a new subject costs nothing to keep, and says the same as any other whenever it is asked for again.
// Method: the table by itself, with hashes that collide; then subjects that come again at every stage of a flush,
// against the same transactions flushed one by one.

import { describe, expect, it } from 'vitest';
import { ByteWriter, encodeUtf8, NO_BYTES } from '#base';
import { FreshHeads } from '../../../src/database/fresh-heads.ts';
import { writeFirstOfSubject, writeHead } from '../../../src/database/head.ts';
import { HEAD_KIND } from '../../../src/database/keys.ts';
import { PostingPlace, writePosting } from '../../../src/database/posting.ts';
import { CREATED_AT_MS, DatabaseHost } from '../../support/database-host.ts';
import { payloadOf } from '../../support/database-requests.ts';

const ENTRY = { revision: 300, index: 7, pageOffset: 2, offset: 900, seconds: 1_767_225_600, nanos: 5_000_000 };

describe('the table of fresh heads', () => {
  it('tells subjects with one hash apart, and grows', () => {
    const fresh = new FreshHeads();
    const names = Array.from({ length: 3000 }, (_, at) => encodeUtf8(`subject-${at}`));
    const hashOf = (at: number): number => (at % 500) - 250;
    const heads = names.map((name, at) => fresh.add(hashOf(at), name, 0, name.length));
    const found = names.map((name, at) => fresh.find(hashOf(at), name, 0, name.length));
    expect(found.every((head, at) => head === heads[at])).toBe(true);
    expect(heads.map((head) => head.term)).toEqual(names);
    expect(fresh.find(hashOf(0), names[1] ?? NO_BYTES, 0, names[1]?.length ?? 0)).toBeUndefined();
  });

  it('uses the objects again, but for those that were asked for', () => {
    const fresh = new FreshHeads();
    const [first, kept] = ['a', 'b'].map((name, at) => fresh.add(at, encodeUtf8(name), 0, 1));
    kept?.keep();
    fresh.clear();
    expect(fresh.find(0, encodeUtf8('a'), 0, 1)).toBeUndefined();
    const [again, other] = ['c', 'd'].map((name, at) => fresh.add(at, encodeUtf8(name), 0, 1));
    expect(again).toBe(first);
    expect(other).not.toBe(kept);
    expect([again?.term, other?.term, kept?.term]).toEqual(['c', 'd', 'b'].map(encodeUtf8));
  });
});

it('the row of a first event is what any head with it would write', () => {
  const tips = [3, 200, 70_000, ENTRY.revision];
  const short = new ByteWriter();
  writeFirstOfSubject(short, tips, ENTRY, new PostingPlace());
  const inline = new ByteWriter();
  writePosting(inline, new PostingPlace(), ENTRY);
  const long = new ByteWriter();
  const name = { kind: HEAD_KIND.SUBJECT, term: NO_BYTES };
  const { revision } = ENTRY;
  const fields = { id: 0, firstRevision: revision, lastRevision: revision, lastWithoutSubject: 0, count: 1 };
  writeHead(long, { name, ...fields, spilled: false, tips, inlineCount: 1 }, inline.view());
  expect(short.take()).toEqual(long.take());
});

describe('a subject that comes again', () => {
  /** The subjects of each transaction; a flush begins and ends where it says so. */
  const steps = ['aab', 'begin', 'bc', 'end', 'cad', 'begin', 'end', 'abcd', 'dd', 'begin', 'abe', 'end', 'e', 'f'];

  it('has the head that it has when every transaction is flushed', async () => {
    const [staged, plain] = [new DatabaseHost(), new DatabaseHost()];
    for (const [serial, step] of steps.entries()) {
      if (step === 'begin') staged.beginFlush();
      else if (step === 'end') await staged.endFlush();
      else {
        await staged.apply(transactionOf(serial, step));
        await plain.apply(transactionOf(serial, step));
        await plain.flush();
      }
    }
    await staged.flush();
    for (const subject of 'abcdef') expect(headOf(staged, subject)).toEqual(headOf(plain, subject));
    const tips = [1, 1, 1, 6, 1, 1, 2, 3];
    expect(headOf(staged, 'a')).toMatchObject({ firstRevision: 1, lastRevision: 6, count: 5, inlineCount: 5, tips });
  });
});

function transactionOf(serial: number, subjects: string): Uint8Array {
  const events = Array.from(subjects, (subject, at) => ({
    id: `e-${serial}-${at}`,
    type: `type-${at}`,
    source: 'orders',
    stream: 'orders',
    subject,
  }));
  const transactionId = serial.toString(16).padStart(32, '0');
  return payloadOf({ transactionId, stampedMs: CREATED_AT_MS + serial, events, constraints: [] }, NO_BYTES);
}

/** All that the head's row says but where its events stand in pages. */
function headOf(host: DatabaseHost, subject: string): unknown {
  const found = host.reader().head({ kind: HEAD_KIND.SUBJECT, term: encodeUtf8(subject) });
  return { ...found, inline: NO_BYTES };
}
