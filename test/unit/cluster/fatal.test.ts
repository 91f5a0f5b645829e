// Goal: a process that ends because of damaged rows leaves a note for its next start, and no other end does (W19).
// Method: stopProcess with a stub for exit.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { DatabaseError } from '#base';
import { EXIT_FATAL, type Isolate, stopProcess } from '#cluster';
import { silentLogger } from '#observability';
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

it('the end of a process leaves a note about a corrupt row in a read, and about a table that the scrub found damaged', () => {
  expect(noteAfter('front', CORRUPT)).toContain('The row with key 0102 is corrupt');
  expect(noteAfter('core', unpackFailure(packFailure(CORRUPT)))).toContain('is corrupt');
  const details = { reason: 'StoreDamaged' };
  const said = new DatabaseError('internal', 'Rows could not be read: Corruption: a key', { details });
  expect(noteAfter('core', unpackFailure(packFailure(said)))).toContain('Corruption: a key');
  expect(noteAfter('scrub', new StorageFailure('corrupt', '7.ldb is damaged', { path: '7.ldb' }))).toContain(
    '7.ldb is damaged',
  );
});

it('the end of a process leaves no note about other failures', () => {
  expect(noteAfter('front', new DatabaseError('internal', 'a bug'))).toBeUndefined();
  expect(
    noteAfter('core', new StorageFailure('unwritten', 'the log could not be written', { path: '1.wal' })),
  ).toBeUndefined();
  expect(noteAfter('scrub', new TypeError('a bug'))).toBeUndefined();
});
