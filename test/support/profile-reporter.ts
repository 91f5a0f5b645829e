/**
 * Prints a profile at the end of a test run: the slowest files, and the time of all files that was not spent on
 * testing.
 */
import { loadavg } from 'node:os';
import type { Reporter, TestModule } from 'vitest/node';
import { COSTS } from './costs.ts';

const FILES_SHOWN = 30;

export class ProfileReporter implements Reporter {
  readonly #startedMs: number = performance.now();

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= 1) return;
    const lines = profile(modules, (performance.now() - this.#startedMs) / 1000);
    process.stdout.write(`${lines.join('\n')}\n`);
  }
}

function profile(modules: readonly TestModule[], wallSeconds: number): readonly string[] {
  const files = modules.map((module) => {
    const { collectDuration, setupDuration, duration } = module.diagnostic();
    return { module, seconds: (collectDuration + setupDuration + duration) / 1000 };
  });
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, FILES_SHOWN);
  const sum = files.reduce((total, { seconds }) => total + seconds, 0);
  const load = loadavg().map((average) => average.toFixed(1));
  return [
    `── profile: ${slowest.length} slowest of ${files.length} files`,
    ...slowest.map(({ module, seconds }) => `${inTenths(seconds)} s  ${module.relativeModuleId}`),
    ...COSTS.map((cost) => {
      const ms = modules.reduce((total, module) => total + (module.meta().costs?.[cost] ?? 0), 0);
      return `${inTenths(ms / 1000)} s  ${cost}`;
    }),
    `${inTenths(sum)} s  sum of all files, in ${wallSeconds.toFixed(0)} s; load average ${load.join(' ')}`,
  ];
}

function inTenths(seconds: number): string {
  return seconds.toFixed(1).padStart(8);
}
