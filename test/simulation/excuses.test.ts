// Tests that only the matching fault excuses the end of a process, but no damage elsewhere, no failure of another call,
// and no unrelated kind of failure. It combines each failure with each fault.
import { expect, it } from 'vitest';
import { BrokenInvariant, DatabaseError } from '#base';
import { corruption, foreign, missing, unwritten } from '../../src/storage/basis/storage-failure.ts';
import { fileError } from '../support/file-names.ts';
import { excuseOf, type World } from './node/excuses.ts';

const SEGMENT = 'data/log/000000000002.wal';
const HISTORY = 'store/histories/00000007/0000000000000000.segment';
const IO = fileError('EIO', SEGMENT);
const NO_SPACE = fileError('ENOSPC', SEGMENT);
const STORE_FAILED = refusal('StoreFailed');

interface Wrongs {
  readonly damaged?: string;
  readonly thrown?: { readonly error: Error; readonly code: 'EIO' | 'ENOSPC' };
  readonly isRotten?: boolean;
  readonly isCut?: boolean;
  readonly spoiled?: string;
  readonly storeThrew?: Error;
}

const WRONGS: Readonly<Record<string, Wrongs>> = {
  'a spoiled segment': { damaged: SEGMENT },
  'another spoiled file': { damaged: 'data/log/guard' },
  'a failed call': { thrown: { error: IO, code: 'EIO' } },
  'another failed call': { thrown: { error: fileError('EIO', SEGMENT), code: 'EIO' } },
  'a full disk': { thrown: { error: NO_SPACE, code: 'ENOSPC' } },
  'a spoiled row': { isRotten: true },
  'a store that was cut': { isCut: true },
  'a spoiled history': { spoiled: HISTORY },
  'a failed write of the store': { storeThrew: STORE_FAILED },
  'another failed write of the store': { storeThrew: refusal('StoreFailed') },
};

function refusal(reason: string, message = 'no', cause?: unknown): DatabaseError {
  return new DatabaseError('internal', message, { details: { reason }, cause });
}

function worldOf({ damaged, thrown, isRotten = false, isCut = false, spoiled, storeThrew }: Wrongs): World {
  return {
    disk: {
      damagedFiles: damaged === undefined ? [] : [damaged],
      hasThrown: (error, code) => error === thrown?.error && code === thrown?.code,
    },
    store: {
      isRotten,
      isCut,
      spoiledFiles: spoiled === undefined ? [] : [spoiled],
      hasThrown: (error) => error === storeThrew,
    },
  };
}

/** The faults that excuse the failure. */
function excusedBy(failure: unknown): readonly string[] {
  return Object.keys(WRONGS).filter((wrong) => excuseOf(failure, worldOf(WRONGS[wrong] ?? {})) !== undefined);
}

it.each<readonly [string, unknown, readonly string[]]>([
  ['a damaged segment', corruption(SEGMENT, 512, 'zeros'), ['a spoiled segment']],
  ['a damaged end of a history', corruption(HISTORY, 4096, 'a last block'), ['a spoiled history']],
  ['a damaged history', refusal('HistoryDamaged'), ['a spoiled history']],
  ['a missing segment', missing(SEGMENT, 'segment 3 in its place'), ['a spoiled segment']],
  ['a failed call of the disk', unwritten(SEGMENT, IO), ['a failed call']],
  ['a failed call that was told on', unwritten(SEGMENT, unwritten(SEGMENT, IO)), ['a failed call']],
  ['a full disk', unwritten(SEGMENT, NO_SPACE), ['a full disk']],
  ['a failed write of the store', STORE_FAILED, ['a failed write of the store']],
  ['a failed write that was told on', refusal('StoreFailed', 'no', STORE_FAILED), ['a failed write of the store']],
  ['a spoiled row', refusal('CorruptRecord'), ['a spoiled row']],
  ['a store and a log that disagree', refusal('StoreAndLogDisagree'), ['a store that was cut']],
])('the end of a process by %s is excused by that alone', (_what, failure, wrongs) => {
  expect(excusedBy(failure)).toEqual(wrongs);
});

it.each<readonly [string, unknown]>([
  ['a broken invariant', new BrokenInvariant('The store is not behind its checkpoint')],
  ['an error of the file system', IO],
  ['a file of another store', foreign(SEGMENT, 'other ids')],
  ['a level that is not known', refusal('LevelNotKnown')],
  ['a log without its ledger', refusal('StoreMissing')],
  ['an error of the program', new TypeError('undefined is not a function')],
  ['a refusal of a client', refusal('Draining')],
])('the end of a process by %s is excused by nothing', (_what, failure) => {
  expect(excusedBy(failure)).toEqual([]);
});

it('the end of a process because no cluster answers is always excused', () => {
  expect(excuseOf(refusal('NotJoined'), worldOf({}))).toBe('no cluster has answered');
});
