/** The bundle of a container as runc takes it: a root file system, and config.json of the OCI runtime specification. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Container, V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import type { ContainerConfig } from '../../../scripts/image/archive.ts';
import type { UnpackedImage } from '../../image/archive.ts';
import { attempt, run } from '../run.ts';
import { worldCgroup } from '../world.ts';
import { environmentOf, expand, type Referrer } from './projected.ts';

/** A pod, as its containers see it. */
export interface Sandbox extends Referrer {
  /** Names its network namespace and its containers. */
  readonly id: string;
  readonly dir: string;
  readonly address: string;
  /** The folder of each volume, by its name. */
  readonly volumes: ReadonlyMap<string, string>;
  /** Unpacked images by the name that pods use. */
  readonly images: ReadonlyMap<string, UnpackedImage>;
  /** Nothing is started any more. */
  readonly isStopping: boolean;
  /** Tells the API server how the containers are. */
  report(): Promise<void>;
  event(reason: string, message: string): void;
}

const CPU_PERIOD_US = 100_000;
const SHARES_OF_A_CPU = 1024;
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const READ_ONLY = ['nosuid', 'noexec', 'nodev', 'ro'];
const SYSTEM_MOUNTS = [
  { destination: '/proc', type: 'proc', source: 'proc' },
  { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
  { destination: '/dev/shm', type: 'tmpfs', source: 'shm', options: ['nosuid', 'nodev', 'mode=1777'] },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: READ_ONLY },
  // Where Node finds the limit of its memory.
  { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: READ_ONLY },
];

/** Writes the bundle of a container. @throws Error with what a kubelet calls CreateContainerConfigError. */
export async function writeBundle(
  bundle: string,
  { id, spec: container, pod }: { readonly id: string; readonly spec: V1Container; readonly pod: Sandbox },
  { rootfs, config: image }: { readonly rootfs: string; readonly config: Partial<ContainerConfig> },
): Promise<void> {
  const { spec, metadata } = pod.pod;
  const security = Object.assign({}, spec.securityContext, container.securityContext);
  const env = await environmentOf(container, pod, [PATH, ...(image.Env ?? [])]);
  const words = [...(container.command ?? image.Entrypoint ?? []), ...(container.args ?? [])];
  const path = `/run/netns/${pod.id}`;
  const config = {
    ociVersion: '1.0.2',
    hostname: spec.hostname ?? metadata.name,
    root: { path: await mountRoot(bundle, rootfs), readonly: security.readOnlyRootFilesystem ?? false },
    process: {
      cwd: container.workingDir ?? image.WorkingDir ?? '/',
      env: [...env].map(([name, value]) => `${name}=${value}`),
      args: words.map((text) => expand(text, env)),
      // Always as Pod Security "restricted" demands, also when the pod does not ask for it.
      noNewPrivileges: true,
      capabilities: {},
      user: userOf(image.User ?? '0:0', security),
    },
    mounts: [...SYSTEM_MOUNTS, ...mountsOf(container, pod)],
    linux: {
      cgroupsPath: `/${worldCgroup()}/${id}`,
      resources: resourcesOf(container),
      namespaces: [{ type: 'network', path }, ...['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type }))],
    },
  };
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
}

/** Removes a bundle, and what its processes have written to their root. */
export async function removeBundle(bundle: string): Promise<void> {
  await attempt('umount', join(bundle, 'root'));
  rmSync(bundle, { recursive: true, force: true });
}

/** Mounts a root whose changes are kept beside the image. */
async function mountRoot(bundle: string, image: string): Promise<string> {
  for (const name of ['root', 'upper', 'work']) mkdirSync(join(bundle, name));
  const options = `lowerdir=${image},upperdir=${join(bundle, 'upper')},workdir=${join(bundle, 'work')}`;
  await run('mount', '-t', 'overlay', 'overlay', '-o', options, join(bundle, 'root'));
  return join(bundle, 'root');
}

function userOf(imageUser: string, security: V1SecurityContext & V1PodSecurityContext): object {
  const [ofImage = 0, groupOfImage = 0] = imageUser.split(':').map(Number);
  const { runAsUser: uid = ofImage, runAsGroup: gid = groupOfImage, fsGroup } = security;
  if (Number.isNaN(uid)) throw new Error(`the image has a user by name (${imageUser}), and runAsUser is not set`);
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

/** Without a limit it is 0, which is none to runc either. */
function resourcesOf({ resources: { limits = {}, requests = {} } = {} }: V1Container): object {
  const shares = Math.max(2, Math.round(amountOf(requests['cpu']) * SHARES_OF_A_CPU));
  const quota = Math.round(amountOf(limits['cpu']) * CPU_PERIOD_US);
  return { cpu: { shares, quota, period: CPU_PERIOD_US }, memory: { limit: amountOf(limits['memory']) } };
}

/** The number that a quantity such as `512Mi` or `250m` stands for. */
function amountOf(quantity = '0'): number {
  const [, digits, unit = '', binary] = /^([\d.]+)([mkKMGT]?)(i?)$/.exec(quantity) ?? [];
  if (digits === undefined) throw new Error(`the quantity ${quantity} is not understood`);
  const exponent = ['m', '', 'k', 'M', 'G', 'T'].indexOf(unit.replace('K', 'k')) - 1;
  return Number(digits) * (binary === 'i' ? 1024 : 1000) ** exponent;
}
