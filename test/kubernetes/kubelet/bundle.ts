/** The bundle of a container as runc takes it: a root file system, and config.json of the OCI runtime specification. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Container } from '@kubernetes/client-node';
import { attempt, run } from '../run.ts';
import { HOST, worldCgroup } from '../world.ts';
import { environmentOf, expand } from './environment.ts';
import type { Image } from './images.ts';
import type { PodPlace } from './pod-place.ts';
import { amountOf } from './quantity.ts';

/** What a container has that names no capabilities. */
const CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID', 'NET_BIND_SERVICE'];
const CPU_PERIOD_US = 100_000;
const SHARES_OF_A_CPU = 1024;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const READ_ONLY = ['nosuid', 'noexec', 'nodev', 'ro'];
const SYSTEM_MOUNTS = [
  { destination: '/proc', type: 'proc', source: 'proc' },
  { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
  { destination: '/dev/shm', type: 'tmpfs', source: 'shm', options: ['nosuid', 'nodev', 'mode=1777'] },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: READ_ONLY },
  // Where Node finds the limit of its memory.
  { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: READ_ONLY },
];

/** Writes the bundle of a container to `dir`. @throws Error with what a kubelet calls CreateContainerConfigError. */
export async function writeBundle(
  dir: string,
  { id, container, image, place }: { id: string; container: V1Container; image: Image; place: PodPlace },
): Promise<void> {
  const { pod, projector, address, network } = place;
  const { spec, metadata } = pod();
  const security: Security = Object.assign({}, spec.securityContext, container.securityContext);
  const imageEnv = [`PATH=${PATH}`, ...(image.config.Env ?? [])];
  const env = await environmentOf(container, { pod: pod(), projector, imageEnv, podIP: address, hostIP: HOST });
  const command = container.command ?? image.config.Entrypoint ?? [];
  // A command of the pod takes the place of both.
  const args = container.args ?? (container.command === undefined ? image.config.Cmd : undefined) ?? [];
  const root = await mountRoot(dir, image);
  const capabilities = capabilitiesOf(security.capabilities);
  const config = {
    ociVersion: '1.0.2',
    hostname: spec.hostname ?? metadata.name,
    root: { path: root, readonly: security.readOnlyRootFilesystem ?? false },
    process: {
      terminal: false,
      cwd: container.workingDir ?? image.config.WorkingDir ?? '/',
      env: [...env].map(([name, value]) => `${name}=${value}`),
      args: [...command, ...args].map((text) => expand(text, env)),
      noNewPrivileges: security.allowPrivilegeEscalation === false,
      user: userOf(image, security),
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    },
    mounts: [...SYSTEM_MOUNTS, ...mountsOf(container, place)],
    linux: {
      cgroupsPath: `/${worldCgroup()}/${id}`,
      resources: resourcesOf(container),
      namespaces: [...['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })), { type: 'network', path: network }],
    },
  };
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
}

/** Removes a bundle, and what its processes have written to their root. */
export async function removeBundle(dir: string): Promise<void> {
  await attempt('umount', join(dir, 'rootfs'));
  rmSync(dir, { recursive: true, force: true });
}

async function mountRoot(dir: string, { layers }: Image): Promise<string> {
  for (const name of ['rootfs', 'upper', 'work']) mkdirSync(join(dir, name), { recursive: true });
  const options = `lowerdir=${layers.join(':')},upperdir=${join(dir, 'upper')},workdir=${join(dir, 'work')}`;
  await run('mount', '-t', 'overlay', 'overlay', '-o', options, join(dir, 'rootfs'));
  return join(dir, 'rootfs');
}

interface Security {
  readonly capabilities?: { readonly add?: string[]; readonly drop?: string[] };
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly fsGroup?: number;
  readonly supplementalGroups?: readonly number[];
}

function userOf({ config }: Image, security: Security): object {
  const [imageUser = 0, imageGroup = 0] = (config.User ?? '0:0').split(':').map(Number);
  const { runAsUser: uid = imageUser, runAsGroup: gid = imageGroup, fsGroup, supplementalGroups = [] } = security;
  if (Number.isNaN(uid)) throw new Error(`the image has a user by name (${config.User}), and runAsUser is not set`);
  if (security.runAsNonRoot === true && uid === 0) throw new Error('container has runAsNonRoot and would run as root');
  return { uid, gid, additionalGids: [...supplementalGroups, ...(fsGroup === undefined ? [] : [fsGroup])] };
}

function capabilitiesOf(changed: { add?: string[]; drop?: string[] } = {}): readonly string[] {
  const { add = [], drop = [] } = changed;
  const kept = drop.includes('ALL') ? [] : CAPABILITIES.filter((name) => !drop.includes(name));
  return [...kept, ...add].map((name) => `CAP_${name}`);
}

function mountsOf(container: V1Container, { dir, volumes }: PodPlace): readonly object[] {
  const bind = (source: string, destination: string, isReadOnly: boolean): object => {
    return { source, destination, type: 'bind', options: ['rbind', isReadOnly ? 'ro' : 'rw'] };
  };
  const files = ['hosts', 'resolv.conf'].map((name) => bind(join(dir, name), `/etc/${name}`, false));
  const mounts = (container.volumeMounts ?? []).map(({ name, subPath = '', mountPath, readOnly }) =>
    bind(join(volumes.pathOf(name), subPath), mountPath, readOnly === true),
  );
  return [...files, ...mounts];
}

function resourcesOf({ resources: { limits = {}, requests = {} } = {} }: V1Container): object {
  const memory = amountOf(limits['memory']);
  const cpu = amountOf(limits['cpu']);
  const shares = Math.max(2, Math.round(amountOf(requests['cpu'] ?? limits['cpu']) * SHARES_OF_A_CPU));
  const quota = cpu === 0 ? {} : { quota: Math.round(cpu * CPU_PERIOD_US), period: CPU_PERIOD_US };
  return { cpu: { shares, ...quota }, ...(memory === 0 ? {} : { memory: { limit: memory } }) };
}
