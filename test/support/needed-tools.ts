// Checks for tools that a few tests need besides git, Node.js and npm. Tests whose tool is missing or not allowed are
// skipped with a message; with TEST_REQUIRES=all, as in .ci/run, they fail.
//
// The name has no prefix CAIRN_, because a node reads such variables as settings and refuses unknown ones.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { PYTHONPATH } from './archive/s3-server.ts';
import { DUCKDB, DUCKDB_VERSION } from './duckdb.ts';

interface Tool {
  /** A small use of the tool: an installed tool may still not be allowed to work. */
  readonly trial: readonly [command: string, ...args: string[]];
  readonly advice: string;
}

type ToolName =
  | 'strace'
  | 'script'
  | 'unshare'
  | 'nsenter'
  | 'chromium'
  | 'kube'
  | 'nft'
  | 'runc'
  | 'apt-get'
  | 'moto'
  | 'duckdb';

const KUBE = resolve(import.meta.dirname, '../../scripts/kube/prepare.ts');

/** A container with this system's own program `true`. */
const CONTAINER = JSON.stringify({
  ociVersion: '1.0.2',
  root: { path: 'rootfs', readonly: true },
  process: { args: ['/bin/true'], cwd: '/', user: { uid: 65_532, gid: 65_532 } },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    ...['/bin', '/lib', '/lib64']
      .filter((path) => existsSync(path))
      .map((source) => ({ destination: source, source, type: 'bind', options: ['rbind'] })),
  ],
  linux: {
    namespaces: [{ type: 'mount' }, { type: 'pid' }],
    resources: { memory: { limit: 64 * 2 ** 20 } },
  },
});

const TOOLS: Readonly<Record<ToolName, Tool>> = {
  strace: {
    trial: ['strace', '--follow-forks', '--quiet=all', '--output=/dev/null', 'true'],
    advice: 'the package strace has it, and it needs the right to trace its own children',
  },
  script: {
    trial: ['script', '--quiet', '--return', '--command', 'true', '/dev/null'],
    advice: 'the package bsdutils has it',
  },
  unshare: {
    trial: ['unshare', '--mount', '--user', '--map-root-user', 'mount', '-t', 'tmpfs', 'cairn', tmpdir()],
    advice: 'the package util-linux has it, mount is in the package mount, and the kernel has to allow user namespaces',
  },
  chromium: {
    trial: ['chromium', '--version'],
    advice: 'the package chromium has it',
  },
  runc: {
    trial: [
      'sh',
      '-c',
      `cd "$(mktemp -d)" && mkdir rootfs && echo '${CONTAINER}' > config.json && runc run "cairn-trial-$$" && rm -r "$PWD"`,
    ],
    advice: 'the package runc has it, and it needs root and the right to make namespaces and groups of processes',
  },
  'apt-get': {
    trial: ['apt-get', 'download', '--print-uris', 'libc6', 'libstdc++6'],
    advice: 'Debian has it, and it knows packages after apt-get update',
  },
  nsenter: {
    trial: ['nsenter', '--version'],
    advice: 'the package util-linux has it',
  },
  kube: {
    trial: [process.execPath, KUBE, '--no-build'],
    advice: 'scripts/kube/prepare.ts builds the programs of a control plane once, with Go 1.26 in about 11 minutes',
  },
  moto: {
    trial: ['env', `PYTHONPATH=${PYTHONPATH}`, 'python3', '-c', 'import moto.server'],
    advice: `python3 -m pip install --target ${PYTHONPATH} 'moto[s3]==5.2.5' flask flask-cors installs it`,
  },
  duckdb: {
    trial: ['env', `PYTHONPATH=${DUCKDB}`, 'python3', '-c', 'import duckdb'],
    advice: `python3 -m pip install --target ${DUCKDB} duckdb==${DUCKDB_VERSION} installs it`,
  },
  nft: {
    trial: ['unshare', '--net', '--mount', 'nft', 'add', 'table', 'ip', 'cairn'],
    advice: 'the package nftables has it, and it needs to be root',
  },
};

/**
 * Returns true when one of the tools does not work here, after printing the reason to standard error.
 *
 * @throws Error when it does not work and TEST_REQUIRES is `all`.
 */
export function lacksTool(...names: readonly ToolName[]): boolean {
  const complaints = names.map(complaintOf).filter((complaint) => complaint !== undefined);
  if (complaints.length === 0) return false;
  if (process.env['TEST_REQUIRES'] === 'all') {
    throw new Error(`TEST_REQUIRES=all asks for every test, but ${complaints.join('; ')}.`);
  }
  process.stderr.write(`Tests are skipped: ${complaints.join('; ')}.\n`);
  return true;
}

/** Undefined when the tool works. */
function complaintOf(name: ToolName): string | undefined {
  const { trial, advice } = TOOLS[name];
  const [command, ...args] = trial;
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error === undefined && status === 0) return undefined;
  const reason = error?.message ?? stderr.trim();
  return `${name} does not work here (${reason}): ${advice}`;
}
