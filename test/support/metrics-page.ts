// Reads series from the metrics page of a node, which is rendered once per second.
import { expect } from 'vitest';
import { eventually } from './eventually.ts';

/** Value of a series with its labels, or NaN when the page does not have it. */
export async function seriesAt(url: string, series: string): Promise<number> {
  const text = await (await fetch(url)).text();
  const line = text.split('\n').find((row) => row.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

export async function untilRendered(url: string): Promise<void> {
  const clock = (): Promise<number> => seriesAt(url, 'process_cpu_seconds_total');
  const before = await clock();
  await eventually(async () => expect(await clock()).not.toBe(before), { interval: 100 });
}
