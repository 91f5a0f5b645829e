// Goal: each event is one JSON line with a constant name and its fields, and without credentials (O2). Method: the real
// logger writes to a file descriptor.
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger, type Logger, type LogLevel } from '#observability';
import { testDir } from '../../support/test-scope.ts';

const TIME: unknown = expect.stringMatching(/^\d{4}-.*Z$/);

function logged(level: LogLevel, write: (logger: Logger) => void): unknown[] {
  return writtenLines(level, write).map((line): unknown => JSON.parse(line));
}

function writtenLines(level: LogLevel, write: (logger: Logger) => void): readonly string[] {
  const file = join(testDir(), 'log');
  const fd = openSync(file, 'w');
  const logger = createLogger({ level, fd });
  write(logger);
  logger.flush();
  closeSync(fd);
  return readFileSync(file, 'utf8').split('\n').filter(Boolean);
}

test('a line has its event, level, time and fields, and the fields of its parents', () => {
  const lines = logged('info', (logger) => {
    logger.with({ database: 'shop' }).info('database-created', { revision: 0 });
    logger.debug('unseen');
  });
  expect(lines).toEqual([{ level: 'info', time: TIME, event: 'database-created', database: 'shop', revision: 0 }]);
});

test.each<LogLevel>(['error', 'silent'])(
  'the reason for the end of the process is logged as an error at the level %s',
  (level) => {
    const lines = logged(level, (logger) => {
      logger.warn('unseen');
      logger.with({ node: 'a' }).fatal('cannot-start', { message: 'why' });
    });
    expect(lines).toEqual([
      expect.objectContaining({ level: 'error', event: 'cannot-start', node: 'a', message: 'why' }),
    ]);
  },
);

test('a field with the name of a part of the line gets a prefix, also when a parent has it', () => {
  const [line = ''] = writtenLines('info', (logger) => {
    logger.with({ level: 'soft' }).warn('disk-level', { time: 'never', event: 'other', group: 7 });
  });
  for (const key of ['level', 'time', 'event']) expect(line.split(`"${key}":`)).toHaveLength(2);
  expect(JSON.parse(line)).toEqual({
    level: 'warn',
    time: TIME,
    event: 'disk-level',
    field_level: 'soft',
    field_time: 'never',
    field_event: 'other',
    group: 7,
  });
});

test('credentials are redacted', () => {
  const lines = logged('info', (logger) => {
    logger.info('request', { headers: { authorization: 'Bearer secret', cookie: 'secret' }, apiKey: 'secret' });
  });
  expect(JSON.stringify(lines)).not.toContain('secret');
});
