/**
 * Makes the volumes of a pod as folders of the machine. Projected files are written as Kubernetes does it: into a new
 * folder, and by one rename of the link `..data` to it, so that a reader never sees a mixture of old and new files.
 */
import { hash } from 'node:crypto';
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { V1Volume } from '@kubernetes/client-node';
import type { Claim, Volume } from '../objects.ts';
import { run } from '../run.ts';
import { type Files, filesOf, type Referrer } from './projected.ts';

const DATA = '..data';
const SHARED_MODE = 0o777;
/** Gives the group $1 all rights to the folder $2 and its contents. */
const SHARE = 'chgrp -R "$1" "$2" && chmod -R g+rwX "$2" && find "$2" -type d -exec chmod g+s {} +';

/**
 * Makes the volumes of a pod, in `dir` except for claims, and resolves to the folder of each by its name. A later call
 * writes again only what has changed.
 */
export async function mountVolumes(referrer: Referrer, dir: string): Promise<ReadonlyMap<string, string>> {
  const mounted = (referrer.pod.spec.volumes ?? []).map(async (volume) => {
    const path = join(dir, volume.name);
    const { persistentVolumeClaim: claim, emptyDir } = volume;
    if (claim !== undefined) return [volume.name, await claimed(claim.claimName, referrer)] as const;
    fs.mkdirSync(path, { recursive: true });
    if (emptyDir === undefined) await project(volume, referrer, path);
    else fs.chmodSync(path, SHARED_MODE);
    return [volume.name, path] as const;
  });
  return new Map(await Promise.all(mounted));
}

async function claimed(name: string, { api, pod: { metadata, spec: podSpec } }: Referrer): Promise<string> {
  const claim = await api.get<Claim>(`/api/v1/namespaces/${metadata.namespace}/persistentvolumeclaims/${name}`);
  if (claim.status.phase !== 'Bound') throw new Error(`the claim ${name} is ${claim.status.phase}, not Bound`);
  const { spec } = await api.get<Volume>(`/api/v1/persistentvolumes/${claim.spec.volumeName}`);
  const { path } = spec.hostPath;
  const { fsGroup: group, fsGroupChangePolicy: policy } = podSpec.securityContext ?? {};
  const isShared = group === undefined || (policy === 'OnRootMismatch' && fs.statSync(path).gid === group);
  if (!isShared) await run('sh', '-c', SHARE, 'sh', String(group), path);
  return path;
}

async function project(volume: V1Volume, referrer: Referrer, root: string): Promise<void> {
  const { configMap, secret, projected, downwardAPI } = volume;
  const { defaultMode = 0o644 } = configMap ?? secret ?? projected ?? downwardAPI ?? {};
  const { fsGroup: group } = referrer.pod.spec.securityContext ?? {};
  const files = await filesOf(volume, referrer, join(root, DATA));
  swapFiles(root, files, group === undefined ? { mode: defaultMode } : { mode: defaultMode | 0o440, group });
}

/** Replaces all files below `root` at once, unless they are unchanged. */
function swapFiles(root: string, files: Files, { mode, group = 0 }: { mode: number; group?: number }): void {
  const folder = `..${hash('sha256', JSON.stringify([...files])).slice(0, 16)}`;
  const old = linkAt(join(root, DATA));
  if (old === folder) return;
  fs.mkdirSync(join(root, folder), { recursive: true });
  for (const [path, content] of files) {
    const file = join(root, folder, path);
    fs.mkdirSync(dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
    fs.chmodSync(file, mode);
    fs.chownSync(file, 0, group);
  }
  fs.symlinkSync(folder, join(root, `${DATA}.new`));
  fs.renameSync(join(root, `${DATA}.new`), join(root, DATA));
  const names = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
  for (const name of names)
    if (linkAt(join(root, name)) === undefined) fs.symlinkSync(join(DATA, name), join(root, name));
  for (const name of fs.readdirSync(root)) if (!name.startsWith('..') && !names.has(name)) fs.rmSync(join(root, name));
  if (old !== undefined) fs.rmSync(join(root, old), { recursive: true });
}

function linkAt(path: string): string | undefined {
  return fs.lstatSync(path, { throwIfNoEntry: false }) === undefined ? undefined : fs.readlinkSync(path);
}
