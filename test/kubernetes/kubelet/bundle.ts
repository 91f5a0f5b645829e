/** The bundle from which runc starts a container: a root file system and its configuration. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Container, V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import { bytesOf } from '../../../operator/src/cluster/kinds.ts';
import type { ContainerConfig } from '../../../scripts/image/archive.ts';
import type { UnpackedImage } from '../../image/archive.ts';
import { writeRuntimeConfig } from '../../image/runtime-config.ts';
import { attempt, run } from '../run.ts';
import { WORLD_CGROUP } from '../world.ts';
import { environmentOf, expand, type Referrer } from './projected.ts';

/** A container of a pod, with its id in runc. */
export interface PodContainer {
  readonly id: string;
  readonly spec: V1Container;
  readonly pod: Sandbox;
}

/** The parts of a pod that its containers use. */
export interface Sandbox extends Referrer {
  /** The id of the pod, also the name of its network namespace and the prefix of its container ids. */
  readonly id: string;
  readonly dir: string;
  readonly address: string;
  /** Folders of the volumes by name. */
  readonly volumes: ReadonlyMap<string, string>;
  /** Unpacked images by the name that pods use. */
  readonly images: ReadonlyMap<string, UnpackedImage>;
  /** True when no container may start any more. */
  readonly isStopping: boolean;
  /** Reports the status of the containers to the API server. */
  report(): Promise<void>;
  event(reason: string, message: string): void;
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Writes the bundle of a container. @throws Error for faults that a kubelet calls CreateContainerConfigError. */
export async function writeBundle(
  bundle: string,
  { id, spec: container, pod }: PodContainer,
  { rootfs, config: image }: { readonly rootfs: string; readonly config: Partial<ContainerConfig> },
): Promise<void> {
  const { spec, metadata } = pod.pod;
  const security = Object.assign({}, spec.securityContext, container.securityContext);
  const env = await environmentOf(container, pod, [PATH, ...(image.Env ?? [])]);
  const words = [...(container.command ?? image.Entrypoint ?? []), ...(container.args ?? [])];
  writeRuntimeConfig(bundle, {
    hostname: spec.hostname ?? metadata.name,
    root: { path: await mountRoot(bundle, rootfs), readonly: security.readOnlyRootFilesystem ?? false },
    process: {
      cwd: container.workingDir ?? image.WorkingDir ?? '/',
      env: [...env].map(([name, value]) => `${name}=${value}`),
      args: words.map((text) => expand(text, env)),
      user: userOf(image.User ?? '0:0', security),
    },
    mounts: mountsOf(container, pod),
    cgroupsPath: `/${WORLD_CGROUP}/${id}`,
    // runc, too, takes 0 as no limit.
    resources: { memory: { limit: bytesOf(container.resources?.limits?.['memory']) } },
    network: `/run/netns/${pod.id}`,
  });
}

/** Removes a bundle and the changes that its processes have made to the root file system. */
export async function removeBundle(bundle: string): Promise<void> {
  await attempt('umount', join(bundle, 'root'));
  rmSync(bundle, { recursive: true, force: true });
}

/** Mounts a root file system whose changes are kept outside the image. */
async function mountRoot(bundle: string, image: string): Promise<string> {
  for (const name of ['root', 'upper', 'work']) mkdirSync(join(bundle, name));
  const options = `lowerdir=${image},upperdir=${join(bundle, 'upper')},workdir=${join(bundle, 'work')}`;
  await run('mount', '-t', 'overlay', 'overlay', '-o', options, join(bundle, 'root'));
  return join(bundle, 'root');
}

function userOf(imageUser: string, security: V1SecurityContext & V1PodSecurityContext) {
  const [ofImage = 0, groupOfImage = 0] = imageUser.split(':').map(Number);
  const { runAsUser: uid = ofImage, runAsGroup: gid = groupOfImage, fsGroup } = security;
  if (security.runAsNonRoot === true && uid === 0) throw new Error('container has runAsNonRoot and would run as root');
  return { uid, gid, additionalGids: fsGroup === undefined ? [] : [fsGroup] };
}

function mountsOf({ volumeMounts = [] }: V1Container, { dir, volumes }: Sandbox): readonly object[] {
  const bind = (source: string, destination: string, isReadOnly = false): object => {
    return { source, destination, type: 'bind', options: ['rbind', isReadOnly ? 'ro' : 'rw'] };
  };
  return [
    ...['hosts', 'resolv.conf'].map((name) => bind(join(dir, name), `/etc/${name}`)),
    ...volumeMounts.map(({ name, subPath = '', mountPath, readOnly }) =>
      bind(join(volumes.get(name) ?? '', subPath), mountPath, readOnly),
    ),
  ];
}
