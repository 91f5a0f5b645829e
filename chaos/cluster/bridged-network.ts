/**
 * The network between the nodes of a run in namespaces: a bridge with a link for each of them, and every node in a
 * network namespace of its own. Ways are closed by routes into a black hole, which drop what goes out and let in what
 * comes; a link that is taken down loses both, without a word to either end.
 */
import { run } from './namespaces.ts';
import type { Host, Network } from './network.ts';

const BRIDGE = 'cairn';
const NETWORK = '10.77.0';
const PORTS = { grpc: 50_051, http: 3000, metrics: 9464, peer: 50_052 } as const;
/** The machine outside of the nodes, where clients are. */
const CLIENTS = `${NETWORK}.254`;

export class BridgedNetwork implements Network {
  /** What netem would do is missing in many kernels. */
  readonly delays = undefined;
  readonly #closed = new Set<string>();

  /** Makes the bridge, in a world that has no network yet. */
  static async make(): Promise<BridgedNetwork> {
    await run('mount', '-t', 'tmpfs', 'cairn-run', '/run');
    await run('ip', 'link', 'set', 'lo', 'up');
    await run('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
    await run('ip', 'addr', 'add', `${CLIENTS}/24`, 'dev', BRIDGE);
    await run('ip', 'link', 'set', BRIDGE, 'up');
    return new BridgedNetwork();
  }

  /** Adds the host of the node with this number, from 1 on. */
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

  /** What the one sends to the other does not arrive any more. */
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

  /** The node hears nobody, and nobody hears it, clients neither. */
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
