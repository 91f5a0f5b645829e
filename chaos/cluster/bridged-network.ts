/**
 * The network of a run in namespaces. Each node has its own network namespace with a link to a common bridge. A
 * direction between two nodes is blocked by a black-hole route, which drops outgoing packets and lets incoming ones
 * through. Taking a link down drops both directions, and neither end gets an error.
 */
import { run } from './namespaces.ts';
import type { Host, Network } from './network.ts';

const BRIDGE = 'cairn';
const NETWORK = '10.77.0';
const PORTS = { grpc: 50_051, http: 3000, metrics: 9464, peer: 50_052 } as const;
/** Address outside the hosts of the nodes, from which the clients connect. */
const CLIENTS = `${NETWORK}.254`;

export class BridgedNetwork implements Network {
  /** Delays need netem, which many kernels lack. */
  readonly delays = undefined;
  readonly #closed = new Set<string>();

  /** Creates the bridge. The surrounding network namespace must be new. */
  static async make(): Promise<BridgedNetwork> {
    await run('mount', '-t', 'tmpfs', 'cairn-run', '/run');
    await run('ip', 'link', 'set', 'lo', 'up');
    await run('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
    await run('ip', 'addr', 'add', `${CLIENTS}/24`, 'dev', BRIDGE);
    await run('ip', 'link', 'set', BRIDGE, 'up');
    return new BridgedNetwork();
  }

  /** Adds the host of the node with this number; numbers start at 1. */
  async add(number: number): Promise<Host> {
    const name = hostName(number);
    const ip = ipOf(number);
    await run('ip', 'netns', 'add', name);
    await run('ip', 'link', 'add', linkName(number), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    await run('ip', 'link', 'set', linkName(number), 'master', BRIDGE, 'up');
    await run('ip', '-n', name, 'addr', 'add', `${ip}/24`, 'dev', 'eth0');
    await run('ip', '-n', name, 'link', 'set', 'eth0', 'up');
    await run('ip', '-n', name, 'link', 'set', 'lo', 'up');
    const under = ['nsenter', `--net=/run/netns/${name}`];
    return { ip, ports: PORTS, under, settings: [`--host=${ip}`], nodeOptions: [] };
  }

  /** Drops everything that `from` sends to `to`. */
  async close(from: number, to: number): Promise<void> {
    const way = `${from} ${to}`;
    if (this.#closed.has(way)) return;
    this.#closed.add(way);
    await run('ip', '-n', hostName(from), 'route', 'add', 'blackhole', `${ipOf(to)}/32`);
  }

  async open(from: number, to: number): Promise<void> {
    if (!this.#closed.delete(`${from} ${to}`)) return;
    await run('ip', '-n', hostName(from), 'route', 'del', 'blackhole', `${ipOf(to)}/32`);
  }

  /** Takes the link of the node down: it is cut off from all other nodes and from clients. */
  async unplug(number: number): Promise<void> {
    await run('ip', 'link', 'set', linkName(number), 'down');
  }

  async plug(number: number): Promise<void> {
    await run('ip', 'link', 'set', linkName(number), 'up');
  }
}

function hostName(number: number): string {
  return `node-${number}`;
}

function linkName(number: number): string {
  return `${BRIDGE}-${number}`;
}

function ipOf(number: number): string {
  return `${NETWORK}.${number}`;
}
