/**
 * Watches the disk of a running node: looks a few times a second, tells the core when what it allows has changed, and
 * keeps the metrics of it.
 */
import type { Logger, Metrics } from '#observability';
import type { DiskGuard, DiskLevel, DiskReport } from '#storage';
import type { CoreLink } from './link.ts';

const CHECK_INTERVAL_MS = 250;
const LEVEL_NUMBERS: Readonly<Record<DiskLevel, number>> = { open: 0, 'refusing-writes': 1, 'read-only': 2 };

export interface DiskWatchPorts {
  readonly guard: DiskGuard;
  readonly link: CoreLink;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The disk failed in another way than by being full. */
  readonly onFatal: (failure: unknown) => void;
}

/** Begins to watch, and says at once what the disk allows. Returns how to stop. */
export function watchDisk(ports: DiskWatchPorts): () => void {
  const { guard, link, logger, onFatal } = ports;
  const show = diskGauges(ports.metrics);
  let level: DiskLevel = 'open';
  const tell = (report: DiskReport): void => {
    show(report);
    if (report.level === level) return;
    level = report.level;
    link.reportDisk(level);
    logger.warn('disk-level', { level, availableBytes: report.availableBytes, ballastBytes: report.ballastHeldBytes });
  };
  tell(guard.report);
  const watching = setInterval(() => {
    try {
      tell(guard.check());
    } catch (failure) {
      onFatal(failure);
    }
  }, CHECK_INTERVAL_MS);
  return () => clearInterval(watching);
}

function diskGauges(metrics: Metrics): (report: DiskReport) => void {
  const available = metrics.gauge('cairn_disk_available_bytes', {});
  const capacity = metrics.gauge('cairn_disk_capacity_bytes', {});
  const level = metrics.gauge('cairn_disk_level', {});
  const ballast = metrics.gauge('cairn_store_size_bytes', { kind: 'ballast' });
  return (report) => {
    available.set(report.availableBytes);
    capacity.set(report.capacityBytes);
    level.set(LEVEL_NUMBERS[report.level]);
    ballast.set(report.ballastHeldBytes);
  };
}
