/**
 * A world isolates a control plane and its pods in namespaces of networks, mounts and processes. Nothing in it listens
 * on the machine, and all of it ends with its first process. A process outside removes the rest, which are folders of
 * control groups and the files. It outlives the process that started the world, however that ends.
 *
 *   10.244.0.1      the machine, as pods see it: Kubernetes nodes, the API server, DNS
 *   10.244.1.1 ...  pods, a /32 each
 *   10.96.0.0/16    virtual addresses of Services
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { run } from './run.ts';

export const HOST = '10.244.0.1';
export const SERVICES = '10.96.0.0/16';

const INSIDE = 'KUBE_WORLD';
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
/** Waits for the end of its input, and removes the control groups named $1 and the folder $2. */
const CLEAN_UP = `
cat
for try in $(seq 100); do
  groups=$(find /sys/fs/cgroup -depth -type d \\( -name "$1" -o -path "*/$1/*" \\))
  [ -z "$groups" ] || rmdir $groups
  rm -rf "$2" && [ -z "$groups" ] && exit
  sleep 0.1
done 2>/dev/null
echo "$1 leaves $2 $groups" >&2`;

/** The folder of the files of this world, in its first process; undefined outside. */
export const DIR_INSIDE: string | undefined = process.env[INSIDE];

/** The control group of all containers of this world. */
export const WORLD_CGROUP: string = basename(DIR_INSIDE ?? '');

/** Runs this program in its own world and resolves to its exit code. */
export async function enterWorld(args: readonly string[], { isKept }: { readonly isKept: boolean }): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-kube-'));
  const cleaning = ['-c', CLEAN_UP, 'sh', basename(dir), isKept ? '' : dir];
  const cleaner = spawn('sh', cleaning, { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
  // The process outside ends with this one.
  const command = ['--pdeathsig=KILL', 'unshare', ...NAMESPACES, process.execPath, ...process.execArgv, ...args];
  const child = spawn('setpriv', command, { stdio: 'inherit', env: { ...process.env, [INSIDE]: dir } });
  const target = `$(cat /proc/${child.pid}/task/${child.pid}/children)`;
  const shell = `env KUBECONFIG=${dir}/control-plane/kubeconfig PATH=${process.env['KUBE_BIN']}:$PATH bash`;
  process.stderr.write(
    `A cluster begins, with its logs in ${dir}. A shell in it: nsenter --all --target=${target} ${shell}\n`,
  );
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill('SIGKILL'));
  // A terminal sends SIGINT to the world, too, and the command there decides when to end.
  process.on('SIGINT', () => undefined);
  const [code]: (number | null)[] = await once(child, 'exit');
  cleaner.stdin.end();
  await once(cleaner, 'exit');
  if (isKept) process.stderr.write(`logs are in ${dir}\n`);
  return code ?? 1;
}

/** Prepares the network and the mounts of a new world; its files are in `dir`. */
export async function furnish(dir: string): Promise<void> {
  // This file system has the network namespaces of pods and the state of runc, so those of the machine stay unchanged.
  await run('mount', '-t', 'tmpfs', 'world', '/run');
  await run('ip', 'link', 'set', 'lo', 'up');
  await run('ip', 'address', 'add', `${HOST}/32`, 'dev', 'lo');
  await run('ip', 'route', 'add', SERVICES, 'dev', 'lo', 'src', HOST);
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  // Commands in the world find Services by their names, like a pod of the namespace default.
  writeFileSync(join(dir, 'resolv.conf'), resolvConf('default'));
  await run('mount', '--bind', join(dir, 'resolv.conf'), '/etc/resolv.conf');
}

/** The resolver configuration of a process in a namespace. */
export function resolvConf(namespace: string): string {
  const search = `${namespace}.svc.cluster.local svc.cluster.local cluster.local`;
  return `nameserver ${HOST}\nsearch ${search}\noptions ndots:5\n`;
}
