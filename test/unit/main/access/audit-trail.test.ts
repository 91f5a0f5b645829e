// Goal: records of acts come to where the setting says, each a line of its own. Method: files in a folder of the test,
// and a logger that only notes.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Logger } from '#observability';
import type { AuditRecord } from '#service';
import { openAuditTrail } from '../../../../src/main/access/audit-trail.ts';
import { testDir } from '../../../support/test-scope.ts';

const RECORD: AuditRecord = {
  act: 'create-database',
  principal: 'key:1',
  principalName: 'ci',
  outcome: 'done',
  about: { database: 'shop\n"' },
};
const FLAT = { act: 'create-database', principal: 'key:1', principalName: 'ci', outcome: 'done', database: 'shop\n"' };

function noting(): { readonly logger: Logger; readonly lines: readonly unknown[] } {
  const lines: unknown[] = [];
  const at = (level: string) => (event: string, fields?: object) => void lines.push([level, event, fields]);
  const logger = { info: at('info'), error: at('error') };
  return { logger: logger as Partial<Logger> as Logger, lines };
}

test('lines of the log, unless the setting says otherwise', () => {
  const { logger, lines } = noting();
  openAuditTrail({ auditLog: 'log', nodeName: 'n' }, logger)(RECORD);
  openAuditTrail({ auditLog: 'off', nodeName: 'n' }, logger)(RECORD);
  expect(lines).toEqual([['info', 'audit', FLAT]]);
});

test('lines of JSON in a file that only its owner reads, also in the next one when it was moved away', () => {
  const file = join(testDir(), 'audit.jsonl');
  const { logger, lines } = noting();
  const note = openAuditTrail({ auditLog: file, nodeName: 'n' }, logger);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  note(RECORD);
  note(RECORD);
  renameSync(file, `${file}.1`);
  note(RECORD);
  const linesOf = (path: string): readonly unknown[] =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  const line = { ...FLAT, node: 'n', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) };
  expect([linesOf(`${file}.1`), linesOf(file), lines]).toEqual([[line, line], [line], []]);
});

test('a file that cannot be written keeps a node from starting, and is said with the record when it is running', () => {
  const dir = join(testDir(), 'audit');
  mkdirSync(dir);
  const { logger, lines } = noting();
  expect(() => openAuditTrail({ auditLog: dir, nodeName: 'n' }, logger)).toThrow(/audit-log cannot be written: EISDIR/);
  const note = openAuditTrail({ auditLog: join(dir, 'a'), nodeName: 'n' }, logger);
  rmSync(dir, { recursive: true });
  note(RECORD);
  expect(lines).toEqual([['error', 'audit-not-written', { ...FLAT, error: expect.any(Error) }]]);
});
