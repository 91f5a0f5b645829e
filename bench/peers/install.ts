/**
 * The command `npm run bench:peers`: installs the peers of `npm run bench`, as far as they are missing.
 *
 *   etcd         built from its Go module by the installed Go, in the cache of the user
 *   UmaDB        the server in its Python package, in the same cache
 *   Debian       its etcd, PostgreSQL with pgbench, and h2load by apt-get, which needs root
 *
 * It prints a line for each, and exits with 1 when one of them could not be had.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ETCD_FOLDER, ETCD_VERSION, UMADB_FOLDER, UMADB_VERSION } from './installed.ts';

const PACKAGES = ['etcd-server', 'postgresql', 'nghttp2-client'];
const MAIN = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`;
const MODULE = `module etcd

go 1.26.0

require go.etcd.io/etcd/server/v3 v${ETCD_VERSION}
`;

await into(ETCD_FOLDER, `etcd ${ETCD_VERSION}`, buildEtcd);
await into(UMADB_FOLDER, `UmaDB ${UMADB_VERSION}`, installUmadb);
for (const name of PACKAGES) debian(name);

/** A main package of our own, because `go install` refuses modules with replacements, such as that of etcd. */
function buildEtcd(folder: string): void {
  writeFileSync(join(folder, 'main.go'), MAIN);
  writeFileSync(join(folder, 'go.mod'), MODULE);
  const args = ['build', '-mod=mod', '-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', 'etcd', '.'];
  run('go', args, { cwd: folder, env: { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' } });
}

function installUmadb(folder: string): void {
  const quiet = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
  const args = ['--no-deps', '--only-binary=:all:', '--target', folder, `umadb==${UMADB_VERSION}`];
  run('python3', ['-m', 'pip', 'install', ...quiet, ...args]);
}

function debian(name: string): void {
  if (spawnSync('dpkg', ['--status', name], { stdio: 'ignore' }).status === 0) {
    say(`${name}: installed`);
    return;
  }
  attempt(name, () => {
    run('apt-get', ['update', '-qq']);
    run('apt-get', ['install', '-qq', '--yes', '--no-install-recommends', name]);
  });
}

/** Fills a folder beside the final one and renames it, so that half of a peer is never found. */
async function into(folder: string, name: string, fill: (folder: string) => void): Promise<void> {
  if (existsSync(folder)) {
    say(`${name}: in ${folder}`);
    return;
  }
  await mkdir(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}.`);
  try {
    attempt(name, () => {
      fill(fresh);
      renameSync(fresh, folder);
    });
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function attempt(name: string, install: () => void): void {
  try {
    install();
    say(`${name}: installed now`);
  } catch (error) {
    say(`${name}: could not be had. ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

function run(program: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', ...options.env };
  const done = spawnSync(program, args, { encoding: 'utf8', ...options, env });
  if (done.error !== undefined) throw done.error;
  if (done.status !== 0) throw new Error(`${program} ended with ${done.status}: ${done.stderr.trim()}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
