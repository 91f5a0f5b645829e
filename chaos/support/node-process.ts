/** A real node in a process of its own, to be killed. */
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
  /** The URL of MCP; empty where it is off. */
  readonly mcp: string;
  /** The URL of its metrics. */
  readonly metrics: string;
  /** host:port where other nodes find it; empty when they do not. */
  readonly peer: string;
  /** What the process has written to stdout. */
  output(): string;
  /** What the process has written to stderr. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
}

export interface NodeOptions {
  readonly dataDir: string;
  readonly settings?: readonly string[];
  /** The settings of the ports; absent: free ones, and none for other nodes. */
  readonly ports?: readonly string[];
  readonly nodeOptions?: readonly string[];
  /** The entry of another bundle than the one that tests run. */
  readonly product?: string | undefined;
  /** A program that runs the node, such as strace, with its arguments. */
  readonly under?: readonly string[];
  /** Is given the process before it is ready: who ends it if it never gets so far. */
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

/**
 * Starts a node, on free loopback ports unless others are named, and waits for its ready line.
 */
export function startNode(options: NodeOptions): Promise<NodeProcess> {
  const [program = '', ...args] = [
    ...(options.under ?? []),
    process.execPath,
    ...(options.nodeOptions ?? []),
    ...productArgs(options.product),
    `--data-dir=${options.dataDir}`,
    ...(options.ports ?? FREE_PORTS),
    // A release before does not know the setting, and founds without.
    ...(options.product === undefined ? foundingUnlessJoining(options.settings ?? []) : []),
    ...(options.settings ?? []),
  ];
  return startedNode(spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] }), options.onSpawn);
}

/**
 * A node that this process starts, when it is ready.
 * @throws Error with the log when the process ends before.
 */
export async function startedNode(child: ChildProcess, onSpawn?: NodeOptions['onSpawn']): Promise<NodeProcess> {
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
