/**
 * The volumes of a pod as folders of the machine. What objects project is written as Kubernetes does it: a new folder,
 * and one rename of the link `..data` to it, so that a reader sees the old files or the new ones and never a mixture.
 */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { V1Volume } from '@kubernetes/client-node';
import type { Api } from '../../../operator/src/kube/index.ts';
import { type Claim, namespaceOf, type Pod, type Volume } from '../objects.ts';
import { run } from '../run.ts';
import type { Files, Projector } from './projected.ts';

const DATA = '..data';
const FILE_MODE = 0o644;
const SHARED_MODE = 0o777;
const SETGID = 0o2770;

export class PodVolumes {
  readonly #api: Api;
  readonly #dir: string;
  readonly #projector: Projector;
  readonly #paths = new Map<string, string>();
  /** What is in the projected ones, to see whether it has changed. */
  readonly #written = new Map<string, string>();
  readonly #mounts: string[] = [];
  #count = 0;

  constructor(api: Api, projector: Projector, dir: string) {
    this.#api = api;
    this.#projector = projector;
    this.#dir = join(dir, 'volumes');
  }

  /** The folder of a volume of the pod. */
  pathOf(name: string): string {
    const path = this.#paths.get(name);
    if (path === undefined) throw new Error(`the pod has no volume ${name}`);
    return path;
  }

  async mount(pod: Pod): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) {
      if (!this.#paths.has(volume.name)) this.#paths.set(volume.name, await this.#mount(volume, pod));
    }
  }

  /** Writes what objects project anew where it has changed. */
  async refresh(pod: Pod): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) if (isProjected(volume)) await this.#project(volume, pod);
  }

  async unmount(): Promise<void> {
    for (const path of this.#mounts) await run('umount', path);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #mount(volume: V1Volume, pod: Pod): Promise<string> {
    const path = join(this.#dir, volume.name);
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    if (volume.persistentVolumeClaim !== undefined) {
      const found = await this.#claimed(volume.persistentVolumeClaim.claimName, pod);
      if (fsGroup !== undefined) shareWith(found, fsGroup, fsGroupChangePolicy === 'OnRootMismatch');
      return found;
    }
    if (volume.hostPath !== undefined) return volume.hostPath.path;
    mkdirSync(path, { recursive: true });
    if (isProjected(volume)) await this.#project(volume, pod);
    else if (volume.emptyDir === undefined)
      throw new Error(`this kubelet does not know the kind of volume ${volume.name}`);
    if (volume.emptyDir?.medium === 'Memory') {
      await run('mount', '-t', 'tmpfs', volume.name, path);
      this.#mounts.push(path);
    }
    if (volume.emptyDir !== undefined) chmodSync(path, SHARED_MODE);
    return path;
  }

  async #claimed(name: string, pod: Pod): Promise<string> {
    const claims = `/api/v1/namespaces/${namespaceOf(pod)}/persistentvolumeclaims`;
    const { spec, status } = await this.#api.get<Claim>(`${claims}/${name}`);
    if (status.phase !== 'Bound') throw new Error(`the claim ${name} is not bound`);
    const volume = await this.#api.get<Volume>(`/api/v1/persistentvolumes/${spec.volumeName}`);
    const { path } = volume.spec.hostPath;
    mkdirSync(path, { recursive: true });
    return path;
  }

  async #project(volume: V1Volume, pod: Pod): Promise<void> {
    const files = await this.#projector.filesOf(volume, pod);
    const text = JSON.stringify([...files].map(([path, content]) => [path, content.toString('base64')]));
    if (this.#written.get(volume.name) === text) return;
    const { configMap, secret, projected, downwardAPI } = volume;
    const mode = (configMap ?? secret ?? projected ?? downwardAPI)?.defaultMode ?? FILE_MODE;
    this.#count += 1;
    const own = { mode, group: pod.spec.securityContext?.fsGroup, folder: `..${this.#count}` };
    swapFiles(join(this.#dir, volume.name), files, own);
    this.#written.set(volume.name, text);
  }
}

function isProjected({ configMap, secret, projected, downwardAPI }: V1Volume): boolean {
  return (configMap ?? secret ?? projected ?? downwardAPI) !== undefined;
}

interface Owned {
  readonly mode: number;
  readonly group: number | undefined;
  /** The name of the new folder. */
  readonly folder: string;
}

/** Replaces all files below `root` at once. */
function swapFiles(root: string, files: Files, { mode, group, folder }: Owned): void {
  for (const [path, content] of files) {
    const file = join(root, folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, group === undefined ? mode : mode | 0o440);
    if (group !== undefined) chownSync(file, 0, group);
  }
  mkdirSync(join(root, folder), { recursive: true });
  const old = linkAt(join(root, DATA));
  symlinkSync(folder, join(root, `${DATA}.new`));
  renameSync(join(root, `${DATA}.new`), join(root, DATA));
  const names = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
  for (const name of names) if (linkAt(join(root, name)) === undefined) symlinkSync(join(DATA, name), join(root, name));
  for (const name of readdirSync(root)) if (!name.startsWith('..') && !names.has(name)) rmSync(join(root, name));
  if (old !== undefined) rmSync(join(root, old), { recursive: true });
}

function linkAt(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? undefined : readlinkSync(path);
}

/** Gives a group all rights to a folder and what is in it. */
function shareWith(root: string, group: number, isLazy: boolean): void {
  if (isLazy && statSync(root).gid === group) return;
  const entries = readdirSync(root, { withFileTypes: true, recursive: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    chownSync(path, statSync(path).uid, group);
    chmodSync(path, statSync(path).mode | (entry.isDirectory() ? SETGID : 0o660));
  }
  chownSync(root, statSync(root).uid, group);
  chmodSync(root, statSync(root).mode | SETGID);
}
