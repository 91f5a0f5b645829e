/**
 * An epoch: some seconds of load by clients and subscribers, on databases that no other epoch uses, with its own
 * history. A long run has many epochs. Each history is short enough to check, and the databases of all epochs stay
 * until the end.
 */
import { Rng } from '../../test/simulation/engine/random.ts';
import { type EventSeen, History, type TransactionSeen } from '../../test/simulation/history.ts';
import { Client, type ClientHabits, type Commons } from '../../test/simulation/workload/client.ts';
import { Sketches } from '../../test/simulation/workload/sketches.ts';
import { Connection } from './connection.ts';
import type { Members } from './fleet.ts';
import { Follower } from './follower.ts';

export interface EpochOptions {
  readonly number: number;
  readonly seed: number;
  readonly members: () => Members;
  readonly onMisbehaviour: (what: string) => void;
}

const KEEPERS = 6;
const CHURNERS = 2;
const FOLLOWERS = 4;
const THINK_US_MEAN = 40_000;
const DEADLINE_MS = 4000;
const ROAM_SHARE = 0.25;
const TRANSACTS: ClientHabits['weights'] = {
  transact: 12,
  repeat: 2,
  describe: 5,
  query: 4,
  again: 2,
  fetch: 2,
  log: 0.5,
  await: 1,
  event: 2,
  names: 1,
  list: 0.3,
  create: 0,
  delete: 0,
};
const CHURNS: ClientHabits['weights'] = {
  ...TRANSACTS,
  transact: 5,
  repeat: 1,
  await: 0.2,
  create: 3,
  delete: 3,
};

export class Epoch {
  readonly number: number;
  readonly history: History = new History();
  readonly followers: readonly Follower[];
  /** Prefix of all database names of this epoch. */
  readonly prefix: string;
  readonly #options: EpochOptions;
  readonly #running: Promise<void>[] = [];
  #isOver = false;
  #isListeningOver = false;
  #listening: readonly Promise<void>[] = [];

  constructor(options: EpochOptions) {
    this.#options = options;
    this.number = options.number;
    this.prefix = `e${options.number}-`;
    this.followers = Array.from({ length: FOLLOWERS }, (_, place) => this.#follower(place + 1));
  }

  start(): void {
    const commons: Commons = { sent: [], asked: [], left: Number.POSITIVE_INFINITY };
    for (let place = 1; place <= KEEPERS + CHURNERS; place += 1) {
      const isKeeper = place <= KEEPERS;
      const habits: ClientHabits = {
        names: isKeeper ? this.#kept : [this.#temporary],
        thinkUsMean: THINK_US_MEAN,
        weights: isKeeper ? TRANSACTS : CHURNS,
        isTimed: true,
      };
      const connection = this.connect(`client-${place}`);
      const client = new Client(connection, habits, this.#random(`client ${place}`), commons);
      this.#running.push(client.run(() => this.#isOver).finally(() => connection[Symbol.dispose]()));
    }
    this.listen();
  }

  /** Ends the clients and resolves when every call has ended; the subscribers continue. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  /** Starts the subscribers; each resumes after its last position. */
  listen(): void {
    this.#isListeningOver = false;
    this.#listening = this.followers.map((follower) => follower.run(() => this.#isListeningOver));
  }

  async stopListening(): Promise<void> {
    this.#isListeningOver = true;
    await Promise.all(this.#listening);
    this.#forgetRepeats();
  }

  /** Returns a connection whose calls go into the history of this epoch. */
  connect(client: string): Connection {
    const { members } = this.#options;
    const random = this.#random(`connection of ${client}`);
    const habits = { roamShare: ROAM_SHARE, deadlineMs: DEADLINE_MS, isRelayed: true };
    return new Connection({ client, members, history: this.history, random, ...habits });
  }

  /** The databases that clients use. The last one is deleted and created again all the time. */
  get names(): readonly string[] {
    return [...this.#kept, this.#temporary];
  }

  get #temporary(): string {
    return `${this.prefix}temporary`;
  }

  get #kept(): ClientHabits['names'] {
    return [`${this.prefix}orders`, `${this.prefix}stock`, `${this.prefix}ledger`];
  }

  #follower(place: number): Follower {
    const random = this.#random(`follower ${place}`);
    const isLasting = place < FOLLOWERS;
    return new Follower({
      client: `follower-${place}`,
      name: isLasting ? random.pick(this.#kept) : this.#temporary,
      selector: new Sketches(random.split('selector')).selector(),
      isLasting,
      members: this.#options.members,
      history: this.history,
      random,
      onMisbehaviour: this.#options.onMisbehaviour,
    });
  }

  #random(what: string): Rng {
    return new Rng(this.#options.seed, `${this.prefix}${what}`);
  }

  /** Shares equal events and transactions between the answers of the history, to save memory. */
  #forgetRepeats(): void {
    const kept = new Map<string, unknown>();
    const once = <Seen extends EventSeen | TransactionSeen>(seen: Seen): Seen => {
      const body = 'body' in seen ? Buffer.from(seen.body).toString('latin1') : undefined;
      const key = JSON.stringify({ ...seen, body });
      const first = kept.get(key);
      if (first === undefined) kept.set(key, seen);
      return (first ?? seen) as Seen;
    };
    for (const operation of this.history.operations) {
      const { kind, outcome } = operation;
      if (outcome.kind !== 'ok') continue;
      if (kind === 'query') Object.assign(outcome.value, { events: outcome.value.events.map(once) });
      if (kind === 'log') Object.assign(outcome.value, { transactions: outcome.value.transactions.map(once) });
    }
  }
}
