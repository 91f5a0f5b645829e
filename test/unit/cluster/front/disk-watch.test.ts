// Goal: the core is notified of each change of the disk level once, and the metrics show the disk. Method: a real guard
// over a file system whose free space the test sets.
import { expect, it } from 'vitest';
import { createMetrics, silentLogger } from '#observability';
import { DiskGuard, type DiskLevel } from '#storage';
import { watchDisk } from '../../../../src/cluster/front/disk-watch.ts';
import { testDir } from '../../../support/test-scope.ts';

/** A disk of 10,000 bytes, with the notifications of the core, the log lines and the metrics of its watch. */
function stage(softBytes: number, available: { bytes: number }) {
  const probe = () => ({ availableBytes: available.bytes, capacityBytes: 10_000 });
  const thresholds = { softBytes, hardBytes: 100 };
  const guard = new DiskGuard(testDir(), { thresholds, needs: { segmentBytes: 1000 }, probe });
  const told: DiskLevel[] = [];
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
  const metrics = createMetrics({ runtime: false });
  const look = watchDisk({ guard, link, logger, metrics });
  return { told, lines, metrics, look };
}

it('the watch of the disk notifies the core of each change once', async () => {
  const available = { bytes: 900 };
  const { told, lines, metrics, look } = stage(1000, available);
  expect(told).toEqual(['refusing-writes']);
  for (const bytes of [900, 50, 40, 9000, 9000]) {
    available.bytes = bytes;
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

it('the watch of the disk warns immediately when the disk is too small for any write', () => {
  const { lines } = stage(21_000, { bytes: 9000 });
  expect(lines).toEqual([
    {
      event: 'disk-too-small',
      // The log has three segments in addition to the required free space.
      fields: { capacityBytes: 10_000, neededBytes: 24_000, softBytes: 21_000, hardBytes: 100 },
    },
    { event: 'disk-level', fields: { diskLevel: 'refusing-writes', availableBytes: 9000 } },
  ]);
});
