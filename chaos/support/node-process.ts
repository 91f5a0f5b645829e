/** Starts a real node in a separate process, which tests can kill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { spending } from '../../test/support/costs.ts';
import { foundingUnlessJoining } from '../../test/support/founding.ts';
import { productArgs } from './product.ts';

export interface NodeProcess {
  readonly pid: number;
  /** host:port of the gRPC server. */
  readonly grpc: string;
  readonly http: string;
  /** URL of the MCP endpoint; empty when it is off. */
  readonly mcp: string;
  /** URL of the metrics. */
  readonly metrics: string;
  /** host:port for other nodes; empty when they cannot connect. */
  readonly peer: string;
  /** Output of the process to stdout. */
  output(): string;
  /** Output of the process to stderr. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code or the name of the signal. */
  readonly ended: Promise<number | string>;
}

export interface NodeOptions {
  readonly dataDir: string;
  readonly settings?: readonly string[];
  /** Settings of the ports; absent: free ports, and no port for other nodes. */
  readonly ports?: readonly string[];
  readonly nodeOptions?: readonly string[];
  /** Entry of a bundle to run in place of the default one of tests. */
  readonly product?: string | undefined;
  /** Command prefix that runs the node, such as strace with its arguments. */
  readonly under?: readonly string[];
  /** Called with the process before it is ready, so that the caller can end it when it never becomes ready. */
  readonly onSpawn?: ((child: ChildProcess) => void) | undefined;
}

interface ReadyLine {
  readonly event: string;
  readonly grpc: string;
  readonly http: string;
  readonly metrics: string;
  readonly mcp?: string;
  readonly peer?: string;
}

const ROOT = resolve(import.meta.dirname, '../..');
const LOG_BYTES_MAX = 1 << 20;
const FREE_PORTS = ['--grpc-port=0', '--http-port=0', '--mcp-port=off', '--metrics-port=0'];

/** Nodes that must not outlive this process, for example when a signal ends it. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a node, on free loopback ports unless `ports` names others, and waits for its ready line. */
export function startNode(options: NodeOptions): Promise<NodeProcess> {
  const [program = '', ...args] = [
    ...(options.under ?? []),
    process.execPath,
    ...(options.nodeOptions ?? []),
    ...productArgs(options.product),
    `--data-dir=${options.dataDir}`,
    ...(options.ports ?? FREE_PORTS),
    // An earlier release does not know this setting, and founds a cluster without it.
    ...(options.product === undefined ? foundingUnlessJoining(options.settings ?? []) : []),
    ...(options.settings ?? []),
  ];
  return startedNode(spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] }), options.onSpawn);
}

/**
 * Waits until the process of a node is ready.
 * @throws Error with the log when the process ends before.
 */
export async function startedNode(child: ChildProcess, onSpawn?: NodeOptions['onSpawn']): Promise<NodeProcess> {
  running.add(child);
  child.once('exit', () => running.delete(child));
  onSpawn?.(child);
  let output = '';
  let log = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-LOG_BYTES_MAX);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_BYTES_MAX);
  });
  const ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? 'unknown');
  const ready = await spending('starting nodes', () => Promise.race([readyLine(child), ended]));
  if (typeof ready !== 'object') throw new Error(`the node ended with ${ready} before it was ready:\n${log}`);
  return {
    pid: child.pid ?? 0,
    grpc: ready.grpc,
    http: ready.http,
    mcp: ready.mcp ?? '',
    metrics: ready.metrics,
    peer: ready.peer ?? '',
    output: () => output,
    log: () => log,
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

async function readyLine(child: ChildProcess): Promise<ReadyLine> {
  if (child.stdout === null) throw new TypeError('the node was started without a pipe for stdout');
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const parsed: ReadyLine = JSON.parse(line);
    if (parsed.event === 'ready') return parsed;
  }
  return new Promise(() => undefined);
}
