/**
 * The network of a run on loopback. Clients and nodes connect to each node through a proxy: a node advertises the
 * address of its proxy, listens at another address, and sends from that one (own-address.ts). The proxy therefore knows
 * the link of each connection, and can block it in one or both directions, delay it, and reset it.
 */
import { randomInt } from 'node:crypto';
import type { Delays, Host, Network } from './network.ts';
import { ADDRESS_VARIABLE, PRELOADED } from './own-address.ts';
import { Proxy, type Way } from './proxy.ts';

/** Ports below the range of ephemeral ports. */
const PORTS = { grpc: 15_051, http: 13_000, metrics: 19_464, peer: 15_052 } as const;
const PROXIED = [PORTS.grpc, PORTS.http, PORTS.peer];
/** Offset from the address of a node to that of its proxy. */
const SHOWN_FROM = 128;
/** Number for connections from clients. */
const CLIENTS = 0;

export class ProxiedNetwork implements Network, Delays {
  /** Random, so that these 256 addresses are unlikely to be in use. */
  readonly #prefix = `127.${randomInt(1, 255)}.${randomInt(0, 255)}`;
  readonly #hosts: number[] = [];
  readonly #proxies: Proxy[] = [];
  readonly #ways = new Map<string, Way & { isOpen: boolean; delayMs: number }>();
  readonly #closed = new Set<string>();
  readonly #unplugged = new Set<number>();

  get delays(): Delays {
    return this;
  }

  async add(number: number): Promise<Host> {
    const own = `${this.#prefix}.${number}`;
    const ip = `${this.#prefix}.${SHOWN_FROM + number}`;
    this.#hosts.push(number);
    for (const port of PROXIED) {
      const target = { host: own, port };
      const proxy = new Proxy({ target, number, linkOf: (address) => this.#linkOf(address, number) });
      this.#proxies.push(proxy);
      await proxy.listen(ip);
    }
    return {
      ip,
      ports: PORTS,
      under: ['env', `${ADDRESS_VARIABLE}=${own}`],
      settings: [`--host=${own}`, `--advertise-host=${ip}`],
      nodeOptions: [`--import=${PRELOADED}`],
    };
  }

  async close(from: number, to: number): Promise<void> {
    this.#closed.add(nameOf(from, to));
    this.#haveChanged();
  }

  async open(from: number, to: number): Promise<void> {
    this.#closed.delete(nameOf(from, to));
    this.#haveChanged();
  }

  async unplug(number: number): Promise<void> {
    this.#unplugged.add(number);
    this.#haveChanged();
  }

  async plug(number: number): Promise<void> {
    this.#unplugged.delete(number);
    this.#haveChanged();
  }

  delay(from: number, to: number, delayMs: number): void {
    this.#way(from, to).delayMs = delayMs;
  }

  reset(number: number): void {
    for (const proxy of this.#proxies) {
      proxy.reset((from) => from !== CLIENTS && (from === number || proxy.number === number));
    }
  }

  #linkOf(address: string, to: number): { readonly from: number; readonly there: Way; readonly back: Way } {
    const from = this.#hosts.find((number) => address === `${this.#prefix}.${number}`) ?? CLIENTS;
    return { from, there: this.#way(from, to), back: this.#way(to, from) };
  }

  #way(from: number, to: number): Way & { isOpen: boolean; delayMs: number } {
    const name = nameOf(from, to);
    const way = this.#ways.get(name) ?? { isOpen: this.#isOpen(from, to), delayMs: 0 };
    this.#ways.set(name, way);
    return way;
  }

  #isOpen(from: number, to: number): boolean {
    return !this.#closed.has(nameOf(from, to)) && !this.#unplugged.has(from) && !this.#unplugged.has(to);
  }

  #haveChanged(): void {
    for (const [name, way] of this.#ways) {
      const [from = CLIENTS, to = CLIENTS] = name.split(' ').map(Number);
      way.isOpen = this.#isOpen(from, to);
    }
    for (const proxy of this.#proxies) proxy.goOn();
  }
}

function nameOf(from: number, to: number): string {
  return `${from} ${to}`;
}
