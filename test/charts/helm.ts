// Runs helm on the charts of this repository.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findKubeBinaries } from '../../scripts/kube/binaries.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Charts that have values in a folder `ci`. */
export const CHARTS = ['cairn', 'cairn-operator'] as const;
export type Chart = (typeof CHARTS)[number];
export const CHART: string = folderOf('cairn');

export interface Ran {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

export function helm(...args: readonly string[]): Ran {
  const program = join(findKubeBinaries() ?? '', 'helm');
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return { status, output: stdout, errors: stderr };
}

/** Remarks of `helm lint`, recommendations included; --quiet would hide those. */
export function lint(...args: readonly string[]): {
  readonly remarks: readonly string[] | null;
  readonly status: number | null;
} {
  const { output, status } = helm('lint', '--strict', ...args);
  return { remarks: output.match(/^\[.*/gm), status };
}

export function folderOf(chart: Chart): string {
  return join(ROOT, 'charts', chart);
}

/** Names of the files of values in the folder `ci`. */
export function cases(chart: Chart = 'cairn'): readonly string[] {
  return readdirSync(join(folderOf(chart), 'ci')).map((file) => file.replace(/-values\.yaml$/, ''));
}

export function valuesOf(name: string, chart: Chart = 'cairn'): string {
  return join(folderOf(chart), 'ci', `${name}-values.yaml`);
}

const known = new Map<string, string>();

/** Renders the chart cairn as the release shop in the namespace prod. @throws Error with the message of helm. */
export function rendered(...args: readonly string[]): string {
  return renderedOf('cairn', ...args);
}

export function renderedOf(chart: Chart, ...args: readonly string[]): string {
  const key = [chart, ...args].join(' ');
  const found = known.get(key);
  if (found !== undefined) return found;
  const { status, output, errors } = helm('template', 'shop', folderOf(chart), '--namespace', 'prod', ...args);
  if (status !== 0) throw new Error(errors);
  known.set(key, output);
  return output;
}

/** Arguments of helm for the values. */
export function withValues(values: object): readonly string[] {
  return ['--set-json', JSON.stringify(values)];
}
