/**
 * npm run dev: a cluster of three nodes on this machine, with their logs in this terminal; Ctrl-C stops all of them.
 *
 *   npm run dev -- [--data ./data] [--nodes 3] [--free-ports]
 *     [--peer-tls-cert-file FILE --peer-tls-key-file FILE --peer-tls-ca-file FILE]
 *
 * Node 1 founds the cluster, the others join it one by one, so that number n is node-n; their directories are
 * <data>/dev-1 and so on, and the next run continues with them. The ids of their processes are in <data>/node-1.pid and
 * so on. Node n has the ports of `npm start` plus 10 · (n - 1), or any free ones with --free-ports. With the files,
 * which all of them share, they use TLS for their links (docs/security.md); the certificate is for 127.0.0.1, servers
 * and clients. The nodes run from the sources. A node that ends stays down until the next run; the others continue as
 * far as they can.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { readNumber, readOptions } from './support/command-line.ts';

interface ReadyLine {
  readonly grpc: string;
  readonly http: string;
  readonly peer: string;
}

const MAIN = resolve(import.meta.dirname, '../src/main/main.ts');
const NODE_ARGS = ['--conditions=source', '--disable-warning=ExperimentalWarning', MAIN];
const PORTS = {
  'grpc-port': 50_051,
  'http-port': 3_000,
  'mcp-port': 3_001,
  'metrics-port': 9_464,
  'peer-port': 50_052,
};
const PORTS_APART = 10;
/** Number of voters of the catalog, and of replicas of a database, where there are as many nodes. */
const VOTERS = 3;
const run = promisify(execFile);

const TLS_FILES = { 'peer-tls-cert-file': undefined, 'peer-tls-key-file': undefined, 'peer-tls-ca-file': undefined };
const values = readOptions({ data: './data', nodes: '3', 'free-ports': undefined, ...TLS_FILES }, ['free-ports']);
const count = readNumber('nodes', values.nodes, { min: 1, isWhole: true });
const data = values.data ?? './data';
const hasFreePorts = values['free-ports'] !== undefined;
const peerTls = Object.entries(values).flatMap(([name, file]) =>
  name in TLS_FILES && file ? [`--${name}=${file}`] : [],
);
const running = new Set<ChildProcess>();
let isStopping = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

const seed = await start(1);
// Nodes are numbered in order of joining. If they joined concurrently, number 3 might be node-2.
for (let number = 2; number <= count; number += 1) await start(number, seed.peer);
await untilVoting(seed.peer);
if (!isStopping) say('dev', `all ${count} nodes are ready; Ctrl-C stops them`);

/** Resolves when the node is ready. Without a seed it founds a cluster. A node that cannot start ends them all. */
async function start(number: number, peer?: string): Promise<ReadyLine> {
  const name = `node-${number}`;
  const ports = Object.entries(PORTS).map(
    ([flag, port]) => `--${flag}=${hasFreePorts ? 0 : port + PORTS_APART * (number - 1)}`,
  );
  const place = [`--data-dir=${join(data, `dev-${number}`)}`, `--node-name=${name}`];
  const settings = [
    ...place,
    ...ports,
    ...peerTls,
    ...(peer === undefined ? ['--bootstrap=alone'] : [`--join=${peer}`]),
  ];
  const child = spawn(process.execPath, [...NODE_ARGS, ...settings], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  createInterface({ input: child.stderr }).on('line', (line) => say(name, readable(line)));
  const ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => {
    running.delete(child);
    say(name, `ended with ${code ?? signal}`);
    return undefined;
  });
  const ready = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  if (ready === undefined) {
    if (!isStopping) process.exitCode = 1;
    stop();
    return new Promise(() => undefined);
  }
  const line: ReadyLine = JSON.parse(String(ready[0]));
  writeFileSync(join(data, `${name}.pid`), `${child.pid}\n`);
  say(name, `process ${child.pid}: gRPC ${line.grpc}, peers ${line.peer}, HTTP ${line.http}`);
  return line;
}

/** Waits until the cluster survives the end of any node: all nodes are voters, up to the maximum. */
async function untilVoting(peer: string): Promise<void> {
  // Two voters tolerate fewer failures than one, and soon become three.
  const votersMin = count < VOTERS ? 1 : VOTERS;
  for (;;) {
    const status = await run(process.execPath, [
      ...NODE_ARGS,
      'cluster',
      'status',
      '--json',
      `--at=${peer}`,
      ...peerTls,
    ]).catch(() => undefined);
    const { nodes }: { nodes: { catalogRole: string }[] } = JSON.parse(status?.stdout ?? '{"nodes":[]}');
    if (isStopping || nodes.filter(({ catalogRole }) => catalogRole === 'voter').length >= votersMin) return;
  }
}

/** Nodes that share a terminal have received its Ctrl-C too; they count both as one. */
function stop(): void {
  isStopping = true;
  for (const child of running) child.kill('SIGTERM');
}

/** Formats a log line for people: time, level, event, and its fields. */
function readable(line: string): string {
  try {
    const { level, time, event, node: _node, ...rest }: Record<string, unknown> = JSON.parse(line);
    const said = Object.entries(rest).map(
      ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    return [String(time).slice(11, 19), String(level).padEnd(5), event, ...said].join(' ');
  } catch {
    return line;
  }
}

function say(who: string, text: string): void {
  process.stdout.write(`${who.padEnd(7)}| ${text}\n`);
}
