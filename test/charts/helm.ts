// Helm, as a user runs it on the chart of this repository.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findKubeBinaries } from '../../scripts/kube/binaries.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const CHART: string = join(ROOT, 'charts/cairn');
const CI = join(CHART, 'ci');

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

/** The names of the values of ci. */
export function cases(): readonly string[] {
  return readdirSync(CI).map((file) => file.replace(/-values\.yaml$/, ''));
}

export function valuesOf(name: string): string {
  return join(CI, `${name}-values.yaml`);
}

const known = new Map<string, string>();

/** What is rendered of the release shop in the namespace prod, once. @throws Error with what helm says. */
export function rendered(...args: readonly string[]): string {
  const key = args.join(' ');
  const found = known.get(key);
  if (found !== undefined) return found;
  const { status, output, errors } = helm('template', 'shop', CHART, '--namespace', 'prod', ...args);
  if (status !== 0) throw new Error(errors);
  known.set(key, output);
  return output;
}

/** Values as arguments. */
export function withValues(values: object): readonly string[] {
  return ['--set-json', JSON.stringify(values)];
}
