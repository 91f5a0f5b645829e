/**
 * A world for a control plane and its pods: namespaces of networks, mounts and processes. Nothing in it listens on the
 * machine, and all of it ends with its first process. What the kernel keeps beyond that, folders of control groups, and
 * the files are removed by a process that outlives the one outside, however that ends.
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
/**
 * Removes empty control groups that a world has left whose clean-up was killed; runc makes those of a living one again.
 * Then it waits for the end of its input. $1: the name of the control groups, $2: the folder of the files.
 */
const CLEAN_UP = `
find /sys/fs/cgroup -depth -type d -path '*/cairn-kube-*' -mmin +60 -exec rmdir {} + 2>/dev/null
cat
for try in $(seq 100); do
  groups=$(find /sys/fs/cgroup -depth -type d \\( -name "$1" -o -path "*/$1/*" \\))
  [ -z "$groups" ] || rmdir $groups
  rm -rf "$2" && [ -z "$groups" ] && exit
  sleep 0.1
done 2>/dev/null
echo "$1 leaves $2 $groups" >&2`;

/** Begins a world that ends with the process outside, and whose processes know who made it. */
const ENTER = 'KUBE_PARENT=$$ exec setpriv --pdeathsig=KILL unshare "$@"';

/** The folder of the files of this world, in its first process; undefined outside. */
export function dirInside(): string | undefined {
  return process.env[INSIDE];
}

/** A command that runs a program in this world, from outside. */
export function commandInside(program: string): string {
  const parent = process.env['KUBE_PARENT'];
  return `nsenter --all --target=$(cat /proc/${parent}/task/${parent}/children) ${program}`;
}

/** The control group in which all containers of this world are. */
export function worldCgroup(): string {
  return basename(dirInside() ?? '');
}

/** Runs this program in a world of its own; its exit code. */
export async function enterWorld(args: readonly string[], { isKept }: { readonly isKept: boolean }): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-kube-'));
  const cleaning = ['-c', CLEAN_UP, 'sh', basename(dir), isKept ? '' : dir];
  const cleaner = spawn('sh', cleaning, { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
  const command = [...NAMESPACES, process.execPath, ...process.execArgv, ...args];
  const env = { ...process.env, [INSIDE]: dir };
  const child = spawn('sh', ['-c', ENTER, 'sh', ...command], { stdio: 'inherit', env });
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill('SIGKILL'));
  // A terminal sends it to the world, too: whatever runs there decides.
  process.on('SIGINT', () => undefined);
  const [code]: (number | null)[] = await once(child, 'exit');
  cleaner.stdin.end();
  await once(cleaner, 'exit');
  if (isKept) process.stderr.write(`logs are in ${dir}\n`);
  return code ?? 1;
}

/** Prepares the network and the mounts of a world that has just begun; its files are in `dir`. */
export async function furnish(dir: string): Promise<void> {
  // Network namespaces of pods and the state of runc; the machine's own stay as they are.
  await run('mount', '-t', 'tmpfs', 'world', '/run');
  await run('ip', 'link', 'set', 'lo', 'up');
  await run('ip', 'address', 'add', `${HOST}/32`, 'dev', 'lo');
  await run('ip', 'route', 'add', SERVICES, 'dev', 'lo', 'src', HOST);
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  // Commands here find Services by their names, as a pod of the namespace default does.
  writeFileSync(join(dir, 'resolv.conf'), resolvConf('default'));
  await run('mount', '--bind', join(dir, 'resolv.conf'), '/etc/resolv.conf');
}

/** Where a process of a namespace asks for names. */
export function resolvConf(namespace: string): string {
  const search = `${namespace}.svc.cluster.local svc.cluster.local cluster.local`;
  return `nameserver ${HOST}\nsearch ${search}\noptions ndots:5\n`;
}
