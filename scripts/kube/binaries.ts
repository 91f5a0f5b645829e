/**
 * Where the programs of a Kubernetes control plane and of Prometheus are on this machine: etcd, kube-apiserver,
 * kube-controller-manager, kube-scheduler, kubectl, helm, prometheus and promtool.
 *
 * They are in the folder that KUBE_BIN names, or in a cache outside the repository, keyed by the sums of the pinned Go
 * modules. `kubeBinaries` builds what is in neither, once per machine (build.sh, about 11 minutes). The variable does
 * not begin with CAIRN_: a node takes each of those for a setting, and rejects unknown ones.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toolCache } from '../support/tool-cache.ts';

const VARIABLE = 'KUBE_BIN';
const PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'helm',
  'prometheus',
  'promtool',
];
const BOXES = ['kubebox', 'prombox'];
const KEY_LENGTH = 16;

/** The folder of the programs, undefined when they were never built here. @throws Error when KUBE_BIN lacks one. */
export function findKubeBinaries(): string | undefined {
  const given = process.env[VARIABLE];
  if (given !== undefined && given !== '') {
    const missing = missingIn(given);
    if (missing.length > 0) throw new Error(`${VARIABLE} names ${given}, which lacks ${missing.join(', ')}`);
    return given;
  }
  const cached = cacheDir();
  return missingIn(cached).length === 0 ? cached : undefined;
}

/** The folder of the programs, which are built when they are missing. @throws Error when they cannot be built. */
export function kubeBinaries(): string {
  return findKubeBinaries() ?? build(cacheDir());
}

function missingIn(dir: string): readonly string[] {
  return PROGRAMS.filter((name) => !existsSync(join(dir, name)));
}

function cacheDir(): string {
  return join(toolCache(), `kube-${sourcesKey()}`);
}

/** The first digits of a sum over build.sh and the sources of the boxes, which hold the sums of every module. */
function sourcesKey(): string {
  const inBoxes = BOXES.flatMap((box) =>
    readdirSync(join(import.meta.dirname, box))
      .toSorted()
      .map((name) => join(box, name)),
  );
  const hash = createHash('sha256');
  for (const path of ['build.sh', ...inBoxes]) {
    hash.update(`${path}\n`).update(readFileSync(join(import.meta.dirname, path)));
  }
  return hash.digest('hex').slice(0, KEY_LENGTH);
}

/** Builds beside the final place and renames, so that half of the programs is never found. */
function build(dir: string): string {
  const fresh = `${dir}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  process.stderr.write(`Building the Kubernetes control plane into ${dir}, once per machine (about 11 minutes) ...\n`);
  const { status, error } = spawnSync(join(import.meta.dirname, 'build.sh'), [fresh], { stdio: ['ignore', 2, 2] });
  if (status !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    const reason = error?.message ?? `exit code ${status}`;
    throw new Error(`scripts/kube/build.sh failed (${reason}); it needs Go 1.26, or ${VARIABLE} with the programs`);
  }
  rmSync(dir, { recursive: true, force: true });
  renameSync(fresh, dir);
  return dir;
}
