/**
 * Shows how long the system has kept this process from running although it had work to do. A limit on processor time
 * is a share of every 100 ms: what uses its share up stands still until the next, and a leader that stands still
 * misses its beats.
 */
import { readFile } from 'node:fs/promises';
import type { Metrics } from '#observability';

/** Linux: where a container finds the figures of its own group, in the second and the first form of control groups. */
const CPU_STATS: readonly string[] = ['/sys/fs/cgroup/cpu.stat', '/sys/fs/cgroup/cpu/cpu.stat'];

/** How each form names the time, and how many of its units make a second. */
const FIELDS = [
  { pattern: /^throttled_usec (\d+)$/m, perSecond: 1_000_000 },
  { pattern: /^throttled_time (\d+)$/m, perSecond: 1_000_000_000 },
];

/** Read before each scrape; where there is no such file, or no limit, it stays 0. */
export function showThrottledTime(metrics: Metrics, files: readonly string[] = CPU_STATS): void {
  let counted = 0;
  metrics.beforeScrape(async () => {
    for (const file of files) {
      const seconds = throttledSeconds(await textOf(file));
      if (seconds === undefined) continue;
      // The group may be older than the process: what was before counts, too, for it is the same container.
      if (seconds >= counted) metrics.counter('cairn_cpu_throttled_seconds_total', {}).add(seconds - counted);
      counted = seconds;
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

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    // Another system, or a container that does not show it: there is nothing to count.
    return '';
  }
}
