// Runs a node in a container of runc from an unpacked image, with the restrictions of Kubernetes: read-only root, no
// capabilities, no new privileges, not root. It uses the network of this machine.
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { type NodeProcess, startedNode } from '../../chaos/support/node-process.ts';
import type { UnpackedImage } from './archive.ts';
import { writeRuntimeConfig } from './runtime-config.ts';

const FREE_PORTS = ['--host=127.0.0.1', ...['grpc', 'http', 'metrics', 'mcp'].map((name) => `--${name}-port=0`)];

export interface Container extends NodeProcess {
  /** Runs a command in the container and returns its output. */
  exec(...command: readonly string[]): string;
  /** Number of its processes that the kernel has killed for lack of memory. */
  oomKills(): number;
}

let started = 0;

/** Starts a container that ends with the test. Its data directory is kept. */
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
  const { Entrypoint, Env, WorkingDir } = image.config;
  writeRuntimeConfig(bundle, {
    root: { path: image.rootfs, readonly: true },
    process: { user: { uid, gid }, args: [...Entrypoint, ...FREE_PORTS, ...settings], env: Env, cwd: WorkingDir },
    mounts: [{ destination: WorkingDir, type: 'bind', source: dataDir, options: ['rbind'] }],
    resources: { memory: { limit: memoryBytes } },
    cgroupsPath: `/${id}`,
  });
  const child = spawn('runc', ['run', '--bundle', bundle, id], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void execFileSync('runc', ['delete', '--force', id]));
  const node = await startedNode(child);
  return {
    ...node,
    exec: (...command) => execFileSync('runc', ['exec', id, ...command], { encoding: 'utf8', stdio: 'pipe' }),
    oomKills: () => oomKillsOf(id),
  };
}

function oomKillsOf(cgroup: string): number {
  const [unified, legacy] = [`${cgroup}/memory.events`, `memory/${cgroup}/memory.oom_control`].map(
    (file) => `/sys/fs/cgroup/${file}`,
  ) as [string, string];
  const text = readFileSync(existsSync(unified) ? unified : legacy, 'utf8');
  const found = /^oom_kill (\d+)$/m.exec(text)?.[1];
  if (found === undefined) throw new Error(`no count of killed processes: ${text}`);
  return Number(found);
}
