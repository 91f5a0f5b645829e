/**
 * PostgreSQL as a peer: an events table with the indexes that an event store needs, driven by pgbench with prepared
 * statements. The unique index on (stream, subject) is the append condition: the cheapest form that PostgreSQL has.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Latencies } from '../support/latencies.ts';
import { freePort, stopProcess, untilListening } from '../support/server-process.ts';

export interface Postgres {
  readonly pid: number;
  readonly port: number;
  readonly dir: string;
  stop(): Promise<void>;
}

export interface PgbenchResult {
  readonly calls: number;
  readonly seconds: number;
  readonly latencies: Latencies;
}

const VERSIONS = '/usr/lib/postgresql';
const SCHEMA = `
CREATE TABLE events (
  position bigserial PRIMARY KEY,
  id text NOT NULL,
  stream text NOT NULL,
  type text NOT NULL,
  subject text,
  time timestamptz NOT NULL DEFAULT now(),
  recorded timestamptz NOT NULL DEFAULT now(),
  data bytea NOT NULL
);
CREATE UNIQUE INDEX events_id ON events (stream, id);
CREATE UNIQUE INDEX events_subject ON events (stream, subject);
CREATE INDEX events_type ON events (type, position);
CREATE SEQUENCE subjects;
`;

/** The directory of the newest installed server's programs, or nothing where PostgreSQL is not installed. */
export function postgresBin(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const newest = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a))[0];
  const bin = newest === undefined ? undefined : join(VERSIONS, newest, 'bin');
  return bin !== undefined && existsSync(join(bin, 'initdb')) ? bin : undefined;
}

export function postgresVersion(bin: string): string {
  return /\d+(\.\d+)*/.exec(run(join(bin, 'postgres'), ['--version']))?.[0] ?? 'unknown';
}

/**
 * A fresh cluster on loopback, fsync and synchronous_commit on. PostgreSQL does not run as root: `postgres` owns it.
 */
export async function startPostgres(bin: string, dir: string): Promise<Postgres> {
  const home = join(dir, 'postgres');
  mkdirSync(home, { recursive: true });
  const owner = ownerIds();
  if (owner !== undefined) chownSync(home, owner.uid, owner.gid);
  const data = join(home, 'data');
  run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync'], owner);
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child: ChildProcess = spawn(join(bin, 'postgres'), ['-D', data, ...args], { stdio: 'ignore', ...owner });
  await untilListening(port, child);
  await untilReady(bin, port);
  const schema = join(dir, 'schema.sql');
  writeFileSync(schema, SCHEMA);
  run(join(bin, 'psql'), [
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-U',
    'postgres',
    '-q',
    '-v',
    'ON_ERROR_STOP=1',
    '-f',
    schema,
  ]);
  return { pid: child.pid ?? 0, port, dir, stop: () => stopProcess(child) };
}

/** One transaction that inserts `events` rows, each with a subject of its own and a payload of `eventBytes`. */
export function appendScript(events: number, eventBytes: number): string {
  const select = `SELECT 'id-' || n, 'orders', 'com.example.order.placed', 'subject-' || n, decode(repeat('78', ${eventBytes}), 'hex')`;
  return `INSERT INTO events (id, stream, type, subject, data) ${select} FROM (SELECT nextval('subjects') AS n FROM generate_series(1, ${events})) AS numbers;\n`;
}

/** Runs a script closed-loop with `clients` sessions. */
export function pgbench(
  bin: string,
  server: Postgres,
  load: { readonly script: string; readonly clients: number; readonly seconds: number },
): PgbenchResult {
  const script = join(server.dir, 'script.sql');
  const prefix = join(server.dir, 'pgbench-log');
  writeFileSync(script, load.script);
  const threads = Math.min(2, load.clients);
  run(join(bin, 'pgbench'), [
    '--host=127.0.0.1',
    `--port=${server.port}`,
    '--username=postgres',
    '--no-vacuum',
    '--protocol=prepared',
    `--client=${load.clients}`,
    `--jobs=${threads}`,
    `--time=${load.seconds}`,
    `--file=${script}`,
    '--log',
    `--log-prefix=${prefix}`,
    'postgres',
  ]);
  const latencies = new Latencies();
  for (const name of readdirSync(server.dir).filter((file) => file.startsWith('pgbench-log'))) {
    const file = join(server.dir, name);
    // Columns: client, transaction, microseconds, script, time.
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (line !== '') latencies.add(Number(line.split(' ')[2]) / 1000);
    }
    rmSync(file);
  }
  return { calls: latencies.count, seconds: load.seconds, latencies };
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function ownerIds(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(run('id', [flag, 'postgres']).trim());
  return { uid: id('-u'), gid: id('-g') };
}

async function untilReady(bin: string, port: number): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const asked = spawnSync(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port), '-q']);
    if (asked.status === 0) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
  throw new Error('PostgreSQL did not become ready');
}

function run(program: string, args: readonly string[], owner?: Owner): string {
  const done = spawnSync(program, args, { encoding: 'utf8', cwd: '/', maxBuffer: 2 ** 26, ...owner });
  if (done.error !== undefined) throw done.error;
  if (done.status !== 0) throw new Error(`${program} failed with ${done.status}: ${done.stderr}`);
  return done.stdout;
}
