/**
 * The peers that are installed on this machine: those in the folder that install.ts fills, and the Debian packages
 * etcd-server and postgresql. The pinned versions are here.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { toolCache } from '../../scripts/support/tool-cache.ts';

export const ETCD_VERSION = '3.7.3';
export const UMADB_VERSION = '0.7.8';

const PEERS: string = join(toolCache(), 'bench-peers');
export const ETCD_FOLDER: string = join(PEERS, `etcd-${ETCD_VERSION}`);
export const UMADB_FOLDER: string = join(PEERS, `umadb-${UMADB_VERSION}`);
const POSTGRES_VERSIONS = '/usr/lib/postgresql';

export interface EtcdProgram {
  /** Such as `etcd 3.7.3`. */
  readonly name: string;
  readonly path: string;
}

/** The pinned release, and the one of Debian. */
export function etcdPrograms(): readonly EtcdProgram[] {
  return [join(ETCD_FOLDER, 'etcd'), 'etcd'].flatMap((path) => {
    const asked = spawnSync(path, ['--version'], { encoding: 'utf8' });
    const version = asked.error === undefined ? /etcd Version: (\S+)/.exec(asked.stdout)?.[1] : undefined;
    return version === undefined ? [] : [{ name: `etcd ${version}`, path }];
  });
}

/** Folder of the Python package, which contains the server; undefined when it is not installed. */
export function umadbPackage(): string | undefined {
  return existsSync(join(UMADB_FOLDER, 'umadb')) ? UMADB_FOLDER : undefined;
}

/** Directory of the programs of the newest installed PostgreSQL; undefined when it is not installed. */
export function postgresBin(): string | undefined {
  if (!existsSync(POSTGRES_VERSIONS)) return undefined;
  const newest = readdirSync(POSTGRES_VERSIONS).toSorted((a, b) => Number(b) - Number(a))[0];
  const bin = newest === undefined ? undefined : join(POSTGRES_VERSIONS, newest, 'bin');
  return bin !== undefined && existsSync(join(bin, 'initdb')) ? bin : undefined;
}

export function postgresVersion(bin: string): string {
  const asked = spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' });
  return /\d+(\.\d+)*/.exec(asked.stdout)?.[0] ?? 'unknown';
}

export function hasH2load(): boolean {
  return spawnSync('h2load', ['--version']).error === undefined;
}

/** One line with the peers that are installed and those that are not. */
export function peersLine(): string {
  const bin = postgresBin();
  const all = [
    ...etcdPrograms().map(({ name }) => name),
    ...(umadbPackage() === undefined ? [] : [`UmaDB ${UMADB_VERSION}`]),
    ...(bin === undefined ? [] : [`PostgreSQL ${postgresVersion(bin)}`]),
  ];
  const missing = [
    ...(etcdPrograms().length === 0 ? ['etcd'] : []),
    ...(umadbPackage() === undefined ? ['UmaDB'] : []),
    ...(bin === undefined ? ['PostgreSQL'] : []),
    ...(hasH2load() ? [] : ['h2load']),
  ];
  return `${all.join(', ') || 'no peer'}${missing.length === 0 ? '' : `; not installed: ${missing.join(', ')}`}`;
}
