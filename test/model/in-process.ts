/**
 * Starts real nodes in this process: a single node, and a cluster of three nodes with two replicas of each database.
 */
import type { Logger } from '#observability';
import { startServers } from '../../src/main/node/servers.ts';
import { readInvocation } from '../../src/main/settings/config.ts';
import { spending } from '../support/costs.ts';
import { foundingUnlessJoining } from '../support/founding.ts';
import { tempDir } from '../support/temp-dir.ts';
import { RECORDED_HOST, Target } from './bytes.ts';
import { type Addresses, Clients, type Deployment, type Nodes, untilServing } from './nodes.ts';

const PORTS = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0', '--shutdown-grace-ms=1000'];
const DISK = ['--wal-segment-bytes=4MiB', '--disk-soft-bytes=0', '--disk-hard-bytes=0'];
export const SMALL: readonly string[] = [...DISK, '--read-wait-ms=50'];

interface Started extends Addresses {
  readonly peer: string;
  readonly metrics: string;
}

class Starting {
  readonly stack = new AsyncDisposableStack();
  readonly errors: string[] = [];

  async node(...settings: readonly string[]): Promise<Started> {
    const dir = this.stack.adopt(tempDir(), (each) => each[Symbol.dispose]());
    const read = readInvocation(
      [`--data-dir=${dir.path}`, ...foundingUnlessJoining(settings), ...PORTS, ...SMALL, ...settings],
      {},
    );
    if (read.kind === 'failure' || read.value.kind !== 'run') throw new Error('the settings of these nodes start none');
    const { config } = read.value;
    const node = await spending('starting nodes', () => startServers(config, errorLog(this.errors)));
    this.stack.defer(() => node.drain());
    return { mcp: '', metrics: '', peer: '', ...node.addresses };
  }

  /** Adds two nodes to the first one. */
  async cluster(founder: Started, seed: string): Promise<readonly Started[]> {
    const others = ['two', 'three'].map((name) => this.node(`--node-name=${name}`, ...MEMBER, `--join=${seed}`));
    const nodes = [founder, ...(await Promise.all(others))];
    await untilServing(nodes);
    return nodes;
  }

  clients(nodes: readonly Addresses[]): Deployment {
    return nodes.map((each) => this.stack.use(new Clients(each)));
  }
}

const MEMBER = ['--peer-port=0', '--copies=2'];

export async function startNodes(): Promise<Nodes> {
  const starting = new Starting();
  await using stack = starting.stack;
  const founder = await starting.node('--node-name=one', ...MEMBER);
  const cluster = starting.clients(await starting.cluster(founder, founder.peer));
  const alone = starting.clients([await starting.node()]);
  const running = stack.move();
  const { errors } = starting;
  return { deployments: [alone, cluster], errors, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

export interface RecordedNodes extends Nodes {
  /** The same cluster, accessed through recorders for the ports of its first node. */
  readonly recorded: Deployment;
  readonly targets: readonly Target[];
}

export async function startRecordedNodes(): Promise<RecordedNodes> {
  const starting = new Starting();
  await using stack = starting.stack;
  const founder = await starting.node('--node-name=one', ...MEMBER, `--advertise-host=${RECORDED_HOST}`);
  const targets = (['grpc', 'http', 'mcp', 'peer'] as const).map((name) => stack.use(new Target(name, founder[name])));
  for (const target of targets) await target.record();
  const cluster = await starting.cluster(founder, recordedBy(founder.peer));
  const [grpc, http, mcp] = [founder.grpc, founder.http, founder.mcp].map(recordedBy);
  const deployments = [starting.clients(cluster)];
  const recorded = starting.clients([{ grpc, http, mcp } as Addresses, ...cluster.slice(1)]);
  const running = stack.move();
  const { errors } = starting;
  return { deployments, recorded, targets, errors, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function recordedBy(address: string): string {
  return address.replace('127.0.0.1', RECORDED_HOST);
}

/** A logger that keeps errors, including the reason why a node ends. */
function errorLog(errors: string[]): Logger {
  const keep = (event: string, fields: object = {}): void => {
    const { error } = fields as { readonly error?: unknown };
    errors.push(`${event} ${error instanceof Error ? error.stack : JSON.stringify(fields)}`);
  };
  const nothing = (): void => undefined;
  const quiet = { debug: nothing, info: nothing, warn: nothing, flush: nothing };
  const logger: Logger = { ...quiet, error: keep, fatal: keep, with: () => logger };
  return logger;
}
