/**
 * The prober measures how long no write succeeds: it sends small transactions to one database through every node, ten
 * times a second, without waiting for earlier ones. Its calls go into a history, which is checked like all others.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Rng } from '../../test/simulation/engine/random.ts';
import { History } from '../../test/simulation/history.ts';
import { Connection } from './connection.ts';
import type { Fleet, Members } from './fleet.ts';
import type { Member } from './member.ts';

export const PROBED = 'probed';
const EVERY_MS = 100;
const DEADLINE_MS = 2000;
const OUTSTANDING_MAX = 10;

export class Prober {
  readonly history: History = new History();
  readonly #connections: readonly (readonly [Member, Connection])[];
  readonly #fleet: Fleet;
  readonly #random: Rng;
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(fleet: Fleet, seed: number) {
    this.#fleet = fleet;
    this.#random = new Rng(seed, 'prober');
    this.#connections = fleet.all.map((member) => [member, this.#connect(member)]);
  }

  /** Name of the database's leader at the last reply. */
  get leader(): string | undefined {
    return this.#connections
      .flatMap(([, { leader }]) => leader ?? [])
      .toSorted((a, b) => b.atUs - a.atUs)
      .at(0)?.name;
  }

  /** Returns a connection whose calls go into the history of the prober. */
  connect(client: string): Connection {
    const random = this.#random.split(client);
    const members = (): Members => this.#fleet.active;
    return new Connection({ client, members, random, roamShare: 0.25, deadlineMs: 5000, ...this.#habits });
  }

  start(): void {
    this.#running = Promise.all(this.#connections.map(([member, connection]) => this.#probe(member, connection)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  get #habits(): { readonly history: History; readonly isRelayed: boolean } {
    return { history: this.history, isRelayed: true };
  }

  #connect(member: Member): Connection {
    const client = `prober at ${member.name}`;
    const random = this.#random.split(client);
    const members = (): Members => [member];
    return new Connection({ client, members, random, roamShare: 0, deadlineMs: DEADLINE_MS, ...this.#habits });
  }

  async #probe(member: Member, connection: Connection): Promise<void> {
    const outstanding = new Set<Promise<unknown>>();
    for (let count = 0; !this.#isOver; count += 1) {
      await delay(EVERY_MS);
      if (outstanding.size >= OUTSTANDING_MAX || !this.#fleet.isActive(member)) continue;
      const text = `${connection.client} ${count}`;
      const event = { id: text, stream: 'probes', type: 'probed', subject: undefined, text, zeros: 0 };
      const request = { name: PROBED, transactionId: randomUUID(), constraints: [], events: [event] };
      const call = connection.call('transact', request);
      outstanding.add(call);
      void call.finally(() => outstanding.delete(call));
    }
    await Promise.all(outstanding);
    connection[Symbol.dispose]();
  }
}
