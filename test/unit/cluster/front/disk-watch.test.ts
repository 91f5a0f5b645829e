// Goal: the core hears of each change of what the disk allows, once, and the metrics show what was found. Method: a
// real guard over a file system whose free space the test sets.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createMetrics, silentLogger } from '#observability';
import { DiskGuard, type DiskLevel } from '#storage';
import { watchDisk } from '../../../../src/cluster/front/disk-watch.ts';

const THRESHOLDS = { softBytes: 1000, hardBytes: 100 };
let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cairn-disk-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('the watch of the disk tells the core each change once', async () => {
  const told: DiskLevel[] = [];
  const metrics = createMetrics({ runtime: false });
  let availableBytes = 900;
  const probe = (): { availableBytes: number; capacityBytes: number } => ({ availableBytes, capacityBytes: 10_000 });
  const guard = new DiskGuard(directory, { thresholds: THRESHOLDS, needs: { segmentBytes: 1000 }, probe });
  const link = {
    isAlone: true,
    send: () => undefined,
    onReport: () => undefined,
    reportDisk: (level: DiskLevel) => told.push(level),
    leave: async () => undefined,
    drain: async () => undefined,
  };
  const lines: unknown[] = [];
  const logger = { ...silentLogger, warn: (event: string, fields: unknown) => lines.push({ event, fields }) };
  const look = watchDisk({ guard, link, logger, metrics });
  expect(told).toEqual(['refusing-writes']);
  for (const bytes of [900, 50, 40, 9000, 9000]) {
    availableBytes = bytes;
    look();
  }
  expect(told).toEqual(['refusing-writes', 'read-only', 'open']);
  expect(lines.slice(0, 2)).toEqual([
    { event: 'disk-level', fields: { diskLevel: 'refusing-writes', availableBytes: 900 } },
    { event: 'disk-level', fields: { diskLevel: 'read-only', availableBytes: 50 } },
  ]);
  const { body } = await metrics.render();
  expect(body).toContain('cairn_disk_available_bytes 9000');
  expect(body).toContain('cairn_disk_capacity_bytes 10000');
  expect(body).toContain('cairn_disk_level 0');
  expect(body).toContain('cairn_disk_threshold_bytes{level="soft"} 1000');
  expect(body).toContain('cairn_disk_threshold_bytes{level="hard"} 100');
});

it('the watch of the disk says at once when the disk is too small for users ever to write', async () => {
  const thresholds = { ...THRESHOLDS, softBytes: 21_000 };
  const probe = (): { availableBytes: number; capacityBytes: number } => ({
    availableBytes: 9000,
    capacityBytes: 10_000,
  });
  const guard = new DiskGuard(directory, { thresholds, needs: { segmentBytes: 1000 }, probe });
  const link = {
    isAlone: true,
    send: () => undefined,
    onReport: () => undefined,
    reportDisk: () => undefined,
    leave: async () => undefined,
    drain: async () => undefined,
  };
  const lines: unknown[] = [];
  const logger = { ...silentLogger, warn: (event: string, fields: unknown) => lines.push({ event, fields }) };
  watchDisk({ guard, link, logger, metrics: createMetrics({ runtime: false }) });
  expect(lines).toEqual([
    {
      event: 'disk-too-small',
      // The log has three segments beside what must stay free.
      fields: { capacityBytes: 10_000, neededBytes: 24_000, softBytes: 21_000, hardBytes: 100 },
    },
    { event: 'disk-level', fields: { diskLevel: 'refusing-writes', availableBytes: 9000 } },
  ]);
});
