// promtool, the tool of Prometheus that evaluates and reads rules.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kubeBinaries } from '../../scripts/kube/binaries.ts';

const OUTPUT_BYTES_MAX = 16 << 20;

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function promtool(...args: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(join(kubeBinaries(), 'promtool'), args, {
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  return { status, stdout, stderr };
}

/** A file of rules that record these expressions, so that `check rules` reads them. JSON is YAML. */
export function recordingRules(directory: string, exprs: readonly string[]): string {
  const path = join(directory, 'recorded.yaml');
  const rules = exprs.map((expr, at) => ({ record: `expression:${at}`, expr }));
  writeFileSync(path, JSON.stringify({ groups: [{ name: 'expressions', rules }] }));
  return path;
}
