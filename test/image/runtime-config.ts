// The configuration of a container for runc (config.json of the OCI runtime specification), restricted like the Pod
// Security standard "restricted": no capabilities, no new privileges.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface RestrictedContainer {
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly process: {
    readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids?: readonly number[] };
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly cwd: string;
  };
  readonly hostname?: string;
  /** Mounts in addition to those of the system. */
  readonly mounts: readonly object[];
  readonly cgroupsPath: string;
  readonly resources: object;
  /** Path of its network namespace; the default is the network of the machine. */
  readonly network?: string;
}

const SEALED = ['nosuid', 'noexec', 'nodev', 'ro'];
const SYSTEM_MOUNTS = [
  { destination: '/proc', type: 'proc', source: 'proc' },
  { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: SEALED },
  // Node reads its memory limit here.
  { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: SEALED },
];
const MASKED = ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware'];

/** Writes the configuration into the folder of a bundle. */
export function writeRuntimeConfig(bundle: string, container: RestrictedContainer): void {
  const { process, mounts, cgroupsPath, resources, network, ...rest } = container;
  const namespaces = ['pid', 'ipc', 'uts', 'mount'].map((type): object => ({ type }));
  if (network !== undefined) namespaces.push({ type: 'network', path: network });
  const config = {
    ociVersion: '1.0.2',
    ...rest,
    process: { ...process, capabilities: {}, noNewPrivileges: true },
    mounts: [...SYSTEM_MOUNTS, ...mounts],
    linux: { namespaces, resources, cgroupsPath, maskedPaths: MASKED },
  };
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
}
