/**
 * PostgreSQL as a peer: an events table with the indexes that an event store needs, driven by pgbench with prepared
 * statements. The unique index on (stream, subject) is the append condition: the cheapest form that PostgreSQL has.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Latencies } from '../support/latencies.ts';
import { cpuSeconds, processTree } from '../support/process-cpu.ts';
import type { Sample } from '../support/sample.ts';
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
  /** The same by script, in their order. */
  readonly byScript: readonly Latencies[];
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
  run(join(bin, 'psql'), [...at(port), '-q', '-v', 'ON_ERROR_STOP=1', '-f', schema, 'postgres']);
  return { pid: child.pid ?? 0, port, dir, stop: () => stopProcess(child) };
}

/** One transaction that inserts `events` rows, each with a subject of its own and a payload of `eventBytes`. */
export function appendScript(events: number, eventBytes: number): string {
  const select = `SELECT 'id-' || n, 'orders', 'com.example.order.placed', 'subject-' || n, decode(repeat('78', ${eventBytes}), 'hex')`;
  return `INSERT INTO events (id, stream, type, subject, data) ${select} FROM (SELECT nextval('subjects') AS n FROM generate_series(1, ${events})) AS numbers;\n`;
}

/** A script that pgbench runs as one transaction of a client, and its share of them among others. */
export interface PgbenchScript {
  readonly text: string;
  /** Default 1. */
  readonly weight?: number;
}

export interface PgbenchLoad {
  readonly scripts: readonly PgbenchScript[];
  readonly clients: number;
  readonly seconds: number;
  /** So many of each client; then `seconds` does not count. */
  readonly transactions?: number;
  /** So many a second, whatever they take (an open loop); latencies then count from when each was due. */
  readonly rate?: number;
  /** Variables of the scripts: each client has its own copy of them. */
  readonly variables?: Readonly<Record<string, number>>;
}

/** Runs scripts closed-loop with `clients` sessions, or open-loop at a rate. */
function pgbench(bin: string, server: Postgres, load: PgbenchLoad): PgbenchResult {
  const prefix = join(server.dir, 'pgbench-log');
  const files = load.scripts.map(({ text, weight = 1 }, i) => {
    const file = join(server.dir, `script-${i}.sql`);
    writeFileSync(file, text);
    return `--file=${file}@${weight}`;
  });
  // It counts whole seconds.
  const lasting = Math.max(1, Math.round(load.seconds));
  run(join(bin, 'pgbench'), [
    ...at(server.port),
    '--no-vacuum',
    '--protocol=prepared',
    `--client=${load.clients}`,
    `--jobs=${Math.min(2, load.clients)}`,
    load.transactions === undefined ? `--time=${lasting}` : `--transactions=${load.transactions}`,
    ...(load.rate === undefined ? [] : [`--rate=${load.rate.toFixed(1)}`]),
    ...Object.entries(load.variables ?? {}).map(([name, value]) => `--define=${name}=${value}`),
    ...files,
    '--log',
    `--log-prefix=${prefix}`,
    'postgres',
  ]);
  const [latencies, byScript] = [new Latencies(), load.scripts.map(() => new Latencies())];
  for (const name of readdirSync(server.dir).filter((file) => file.startsWith('pgbench-log'))) {
    const file = join(server.dir, name);
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      // Columns: client, transaction, microseconds, script, time.
      const [, , micros, script] = line.split(' ').map(Number);
      if (micros === undefined) continue;
      latencies.add(micros / 1000);
      byScript[script ?? 0]?.add(micros / 1000);
    }
    rmSync(file);
  }
  const seconds = load.transactions === undefined ? lasting : latencies.largest / 1000;
  return { calls: latencies.count, seconds, latencies, byScript };
}

/** pgbench with the processor time of the server; `eventsPerCall` counts what each transaction is worth. */
export function measuredPgbench(
  bin: string,
  server: Postgres,
  { eventsPerCall, ...load }: PgbenchLoad & { readonly eventsPerCall: number },
): Sample & PgbenchResult {
  const before = cpuSeconds(processTree(server.pid));
  const result = pgbench(bin, server, load);
  return {
    ...result,
    operations: result.calls * eventsPerCall,
    failed: 0,
    serverCpuSeconds: cpuSeconds(processTree(server.pid)) - before,
    clientCpuSeconds: Number.NaN,
  };
}

/** What a statement prints, without headings. */
export function psql(bin: string, { port }: Postgres, statement: string): string {
  return run(join(bin, 'psql'), [...at(port), '-qAt', '-v', 'ON_ERROR_STOP=1', '-c', statement, 'postgres']).trim();
}

/** Sends rows in the text format of COPY to a table. */
export async function copyIn(bin: string, { port }: Postgres, table: string, rows: Iterable<string>): Promise<void> {
  const args = [...at(port), '-q', '-v', 'ON_ERROR_STOP=1', '-c', `COPY ${table} FROM STDIN`, 'postgres'];
  const child = spawn(join(bin, 'psql'), args, { stdio: ['pipe', 'ignore', 'inherit'], cwd: '/' });
  const ended = once(child, 'exit');
  await pipeline(Readable.from(rows), child.stdin);
  const [code]: unknown[] = await ended;
  if (code !== 0) throw new Error(`COPY into ${table} failed with ${String(code)}`);
}

function at(port: number): readonly string[] {
  return ['--host=127.0.0.1', `--port=${port}`, '--username=postgres'];
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
