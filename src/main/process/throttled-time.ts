/**
 * Metric of the time in which a CPU limit kept this process from running. The limit is a quota per 100 ms: a process
 * that has used up its quota stands still until the next period, and a stopped leader misses heartbeats.
 */
import { readFile } from 'node:fs/promises';
import type { Metrics } from '#observability';

/** Linux: files with the figures of the container's own control group, version 2 and version 1. */
const CPU_STATS: readonly string[] = ['/sys/fs/cgroup/cpu.stat', '/sys/fs/cgroup/cpu/cpu.stat'];

/** Name and unit of the throttled time in each version. */
const FIELDS = [
  { pattern: /^throttled_usec (\d+)$/m, perSecond: 1_000_000 },
  { pattern: /^throttled_time (\d+)$/m, perSecond: 1_000_000_000 },
];

/** Read before each scrape; it stays 0 without the file or without a limit. */
export function showThrottledTime(metrics: Metrics, files: readonly string[] = CPU_STATS): void {
  metrics.beforeScrape(async () => {
    for (const file of files) {
      // Another system, or a container without the file: there is nothing to count.
      const seconds = throttledSeconds(await readFile(file, 'utf8').catch(() => ''));
      if (seconds === undefined) continue;
      // The group may be older than the process. Earlier throttling counts, because it is the same container.
      metrics.counter('cairn_cpu_throttled_seconds_total', {}).raiseTo(seconds);
      return;
    }
  });
}

function throttledSeconds(text: string): number | undefined {
  for (const { pattern, perSecond } of FIELDS) {
    const [, units] = pattern.exec(text) ?? [];
    if (units !== undefined) return Number(units) / perSecond;
  }
  return undefined;
}
