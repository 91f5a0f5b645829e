// A node in a container that runc runs from an unpacked image, as restricted as Kubernetes would have it: read-only
// root, no capabilities, no new privileges, not root. It is on the network of this machine.
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type NodeProcess, startedNode } from '../../chaos/support/node-process.ts';
import type { UnpackedImage } from './archive.ts';

const FREE_PORTS = ['--host=127.0.0.1', ...['grpc', 'http', 'metrics', 'mcp'].map((name) => `--${name}-port=0`)];
const SEALED = ['nosuid', 'noexec', 'nodev', 'ro'];
const NAMESPACES = ['pid', 'ipc', 'uts', 'mount'];
const MASKED = ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware'];

export interface Container extends NodeProcess {
  /** Runs a command in it; what it prints. */
  exec(...command: readonly string[]): string;
}

let started = 0;

/** Starts a container; when the test is over it has ended. The data directory outlives it. */
export async function startContainer(
  image: UnpackedImage,
  {
    dataDir,
    memoryBytes,
    settings = [],
  }: { readonly dataDir: string; readonly memoryBytes: number; readonly settings?: readonly string[] },
): Promise<Container> {
  started += 1;
  const id = `cairn-test-${process.pid}-${started}`;
  const bundle = `${image.rootfs}-${started}`;
  const [uid = 0, gid = 0] = image.config.User.split(':').map(Number);
  mkdirSync(bundle);
  mkdirSync(dataDir, { recursive: true });
  chownSync(dataDir, uid, gid);
  const config = {
    ociVersion: '1.0.2',
    root: { path: image.rootfs, readonly: true },
    process: {
      user: { uid, gid },
      args: [...image.config.Entrypoint, ...FREE_PORTS, ...settings],
      env: image.config.Env,
      cwd: image.config.WorkingDir,
      capabilities: {},
      noNewPrivileges: true,
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: SEALED },
      { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: SEALED },
      { destination: image.config.WorkingDir, type: 'bind', source: dataDir, options: ['rbind'] },
    ],
    linux: {
      namespaces: NAMESPACES.map((type) => ({ type })),
      resources: { memory: { limit: memoryBytes } },
      cgroupsPath: `/${id}`,
      maskedPaths: MASKED,
    },
  };
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
  const child = spawn('runc', ['run', '--bundle', bundle, id], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void execFileSync('runc', ['delete', '--force', id]));
  const node = await startedNode(child);
  return {
    ...node,
    exec: (...command) => execFileSync('runc', ['exec', id, ...command], { encoding: 'utf8', stdio: 'pipe' }),
  };
}
