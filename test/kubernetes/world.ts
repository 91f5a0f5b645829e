/**
 * A world for a control plane and its pods: namespaces of networks, mounts and processes. Nothing in it listens on the
 * machine, and all of it ends with its first process. What the kernel keeps beyond that, folders of control groups, is
 * removed by the process outside.
 *
 *   10.244.0.1      the machine, as pods see it: Kubernetes nodes, the API server, DNS
 *   10.244.1.1 ...  pods, a /32 each
 *   10.96.0.0/16    virtual addresses of Services
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from './run.ts';

export const HOST = '10.244.0.1';
export const SERVICES = '10.96.0.0/16';

const INSIDE = 'KUBE_WORLD';
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
const CGROUPS = '/sys/fs/cgroup';
const CGROUP_PREFIX = 'cairn-kube-';

/** The folder of the files of this world, in its first process; undefined outside. */
export function dirInside(): string | undefined {
  return process.env[INSIDE];
}

/** The control group in which all containers of this world are. */
export function worldCgroup(): string {
  return `${CGROUP_PREFIX}${process.env[`${INSIDE}_CGROUP`] ?? ''}`;
}

/** Runs this program with these arguments in a world of its own; answers its exit code. */
export async function enterWorld(program: string, args: readonly string[], dir: string): Promise<number> {
  removeCgroups();
  const node = [process.execPath, ...process.execArgv, program, ...args];
  // The world ends with this process, however that ends.
  const child = spawn('setpriv', ['--pdeathsig=KILL', 'unshare', ...NAMESPACES, ...node], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: dir, [`${INSIDE}_CGROUP`]: String(process.pid) },
  });
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => endFirst(child.pid));
  // A terminal sends it to the world, too: whatever runs there decides.
  process.on('SIGINT', () => undefined);
  const [code]: (number | null)[] = await once(child, 'exit');
  removeCgroups();
  return code ?? 1;
}

/** Ends the first process of a world: when its parent has ended then, nothing of the world runs any more. */
function endFirst(parent: number | undefined): void {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim();
  for (const pid of children === '' ? [] : children.split(' ')) process.kill(Number(pid), 'SIGKILL');
}

/** Prepares the network and the mounts of a world that has just begun; its files are in `dir`. */
export async function furnish(dir: string): Promise<void> {
  // Network namespaces of pods and the state of runc; the machine's own stay as they are.
  await run('mount', '-t', 'tmpfs', 'world', '/run');
  await run('ip', 'link', 'set', 'lo', 'up');
  await run('ip', 'address', 'add', `${HOST}/32`, 'dev', 'lo');
  await run('ip', 'route', 'add', SERVICES, 'dev', 'lo', 'src', HOST);
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  // Whoever runs here finds Services by their names, as a pod of the namespace default does.
  writeFileSync(join(dir, 'resolv.conf'), resolvConf('default'));
  await run('mount', '--bind', join(dir, 'resolv.conf'), '/etc/resolv.conf');
}

/** Where a process of a namespace asks for names. */
export function resolvConf(namespace: string): string {
  const search = `${namespace}.svc.cluster.local svc.cluster.local cluster.local`;
  return `nameserver ${HOST}\nsearch ${search}\noptions ndots:5\n`;
}

/** Removes the folders of control groups of this world and of worlds whose process is gone. */
function removeCgroups(): void {
  const folders = [CGROUPS, ...foldersIn(CGROUPS)].flatMap(foldersIn);
  for (const folder of folders) {
    const pid = basename(folder).startsWith(CGROUP_PREFIX) ? basename(folder).slice(CGROUP_PREFIX.length) : undefined;
    if (pid === String(process.pid) || (pid !== undefined && !existsSync(`/proc/${pid}`))) removeTree(folder);
  }
}

function removeTree(folder: string): void {
  for (const inner of foldersIn(folder)) removeTree(inner);
  try {
    rmdirSync(folder);
  } catch {
    // In use.
  }
}

function foldersIn(path: string): readonly string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  } catch {
    return [];
  }
}
