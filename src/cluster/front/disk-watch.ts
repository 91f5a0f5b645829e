/**
 * Watches the disk of a running node: reports a changed level to the core, and updates the metrics. The owner of the
 * node calls it a few times a second.
 */
import type { Logger, Metrics } from '#observability';
import type { DiskGuard, DiskLevel, DiskReport, DiskThresholds } from '#storage';
import type { CoreLink } from '../link.ts';

const LEVEL_NUMBERS: Readonly<Record<DiskLevel, number>> = { open: 0, 'refusing-writes': 1, 'read-only': 2 };

export interface DiskWatchPorts {
  readonly guard: DiskGuard;
  readonly link: Pick<CoreLink, 'reportDisk'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Reports the level at once. Returns the check to call a few times a second; it throws when a watched directory is
 * gone.
 */
export function watchDisk(ports: DiskWatchPorts): () => void {
  const { guard, link, logger } = ports;
  const show = diskGauges(ports.metrics, guard.thresholds);
  let level: DiskLevel = 'open';
  const tell = (report: DiskReport): void => {
    show(report);
    if (report.level === level) return;
    level = report.level;
    link.reportDisk(level);
    logger.warn('disk-level', { diskLevel: level, availableBytes: report.availableBytes });
  };
  if (guard.isTooSmall) {
    // Logged because later refusals would not explain it: the level is that of a disk that other data has filled.
    const { report, capacityNeededBytes: neededBytes, thresholds } = guard;
    logger.warn('disk-too-small', { capacityBytes: report.capacityBytes, neededBytes, ...thresholds });
  }
  tell(guard.report);
  return () => tell(guard.check());
}

function diskGauges(metrics: Metrics, { softBytes, hardBytes }: DiskThresholds): (report: DiskReport) => void {
  const available = metrics.gauge('cairn_disk_available_bytes', {});
  const capacity = metrics.gauge('cairn_disk_capacity_bytes', {});
  const level = metrics.gauge('cairn_disk_level', {});
  metrics.gauge('cairn_disk_threshold_bytes', { level: 'soft' }).set(softBytes);
  metrics.gauge('cairn_disk_threshold_bytes', { level: 'hard' }).set(hardBytes);
  return (report) => {
    available.set(report.availableBytes);
    capacity.set(report.capacityBytes);
    level.set(LEVEL_NUMBERS[report.level]);
  };
}
