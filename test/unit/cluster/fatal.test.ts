// Goal: a process that ends because of damaged data leaves a note for its next start, and no other end does (W19).
// Method: stopProcess with a stub for exit.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { DatabaseError, toGroupId } from '#base';
import { EXIT_FATAL, type Isolate, stopProcess } from '#cluster';
import { corruptRows, RowKeys } from '#database';
import { HistoryFault } from '#kv';
import { type Logger, silentLogger } from '#observability';
import { StorageFailure } from '#storage';
import { packFailure, unpackFailure } from '../../../src/cluster/thread/core-thread-messages.ts';
import { corruptRecord } from '../../../src/database/corruption.ts';
import { tempDir } from '../../support/temp-dir.ts';

const CORRUPT = corruptRecord(Uint8Array.of(1, 2), 'its checksum is wrong');

function noteAfter(isolate: Isolate, failure: unknown, logger = silentLogger): string | undefined {
  using dir = tempDir();
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`);
  });
  const end = (): never => stopProcess({ logger, dataDirectory: dir.path }, isolate, failure);
  expect(end).toThrow(`exit ${EXIT_FATAL}`);
  exit.mockRestore();
  const note = join(dir.path, 'damage');
  return existsSync(note) ? readFileSync(note, 'utf8') : undefined;
}

afterEach(() => vi.restoreAllMocks());

it('the end of a process leaves a note about corrupt rows, wherever they were found', () => {
  expect(noteAfter('front', CORRUPT)).toContain('The row with key 0102 is corrupt');
  expect(noteAfter('core', unpackFailure(packFailure(CORRUPT)))).toContain('is corrupt');
  const details = { reason: 'StoreDamaged' };
  const said = new DatabaseError('internal', 'Rows could not be read: Corruption: a key', { details });
  expect(noteAfter('core', unpackFailure(packFailure(said)))).toContain('Corruption: a key');
  const counted = corruptRows(toGroupId(7), 'rows of positions: 2 instead of 3');
  expect(noteAfter('scrub', unpackFailure(packFailure(counted)))).toBe(
    'Rows of group 7 are missing or damaged: rows of positions: 2 instead of 3\ngroup 7\n',
  );
  const row = corruptRecord(new RowKeys(toGroupId(8)).applied().slice(), 'its checksum is wrong');
  expect(noteAfter('front', row)).toMatch(/is corrupt: its checksum is wrong\ngroup 8\n$/);
});

it('the end of a process by a damaged history leaves a note, so that the next one does not end in the same way', () => {
  const fault = { isMissing: false, text: 'a block does not match its checksum' };
  const failure = new HistoryFault(toGroupId(7), { from: 0, to: 9 }, fault);
  expect(noteAfter('core', unpackFailure(packFailure(failure)))).toBe(
    'The bytes 0 to 9 of the history of group 7 cannot be read: a block does not match its checksum\ngroup 7\n',
  );
});

it('the end of a process by damage says that the next start heals rows, and what to do if it does not start', () => {
  const fatal = vi.fn<Logger['fatal']>();
  noteAfter('front', CORRUPT, { ...silentLogger, fatal });
  noteAfter('core', new DatabaseError('internal', 'a bug'), { ...silentLogger, fatal });
  const [damaged, bug] = fatal.mock.calls.map(([, fields]) => fields);
  expect(damaged).toMatchObject({ advice: expect.stringMatching(/The next start makes .* rows again.*If .* --join/) });
  expect(bug).not.toHaveProperty('advice');
});

it('the end of a process leaves no note about other failures', () => {
  expect(noteAfter('front', new DatabaseError('internal', 'a bug'))).toBeUndefined();
  expect(
    noteAfter('core', new StorageFailure('unwritten', 'the log could not be written', { path: '1.wal' })),
  ).toBeUndefined();
  expect(noteAfter('scrub', new TypeError('a bug'))).toBeUndefined();
  const gone = { isMissing: true, text: 'there is no file' };
  expect(noteAfter('core', new HistoryFault(toGroupId(7), { from: 0, to: 9 }, gone))).toBeUndefined();
});
