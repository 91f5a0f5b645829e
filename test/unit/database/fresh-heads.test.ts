// Goal: the head of a new subject needs no allocation, and has the content of any other head. Method: the table alone,
// with hashes that collide, and the bytes of a row. test/property/database-replicas.test.ts has subjects that occur
// again.
import { expect, it } from 'vitest';
import { ByteWriter, encodeUtf8, NO_BYTES } from '#base';
import { FreshHeads } from '../../../src/database/fresh-heads.ts';
import { writeFirstOfSubject, writeHead } from '../../../src/database/head.ts';
import { HEAD_KIND } from '../../../src/database/keys.ts';
import { PostingPlace, writePosting } from '../../../src/database/posting.ts';

const ENTRY = { revision: 70_000, index: 3, position: 900, seconds: 1_700_000_000, nanos: 5_000_000, extra: 9 };

it('the table of fresh heads distinguishes subjects with one hash, and grows', () => {
  const fresh = new FreshHeads();
  const names = Array.from({ length: 3000 }, (_, at) => encodeUtf8(`subject-${at}`));
  const hashOf = (at: number): number => (at % 500) - 250;
  const heads = names.map((name, at) => fresh.add(hashOf(at), name, 0, name.length));
  const found = names.map((name, at) => fresh.find(hashOf(at), name, 0, name.length));
  expect(found.every((head, at) => head === heads[at])).toBe(true);
  expect(heads.map((head) => head.term)).toEqual(names);
  expect(fresh.find(hashOf(0), names[1] ?? NO_BYTES, 0, names[1]?.length ?? 0)).toBeUndefined();
});

it('the table of fresh heads reuses its objects, except those that were kept', () => {
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

it('the row of a first event has the bytes of a general head with this event', () => {
  const tips = [3, 200, 70_000, ENTRY.revision];
  const short = new ByteWriter();
  writeFirstOfSubject(short, tips, ENTRY, new PostingPlace());
  const inline = new ByteWriter();
  writePosting(inline, new PostingPlace(), ENTRY);
  const long = new ByteWriter();
  const name = { kind: HEAD_KIND.SUBJECT, term: NO_BYTES };
  const { revision } = ENTRY;
  const fields = { id: 0, firstRevision: revision, lastRevision: revision, lastWithoutSubject: 0, count: 1 };
  writeHead(long, { name, ...fields, spilled: false, tips, inlineCount: 1 });
  long.bytes(inline.view());
  expect(short.take()).toEqual(long.take());
});
