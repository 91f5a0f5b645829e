// A simulated client: waits, sends a request, and remembers answers for later requests. Its actions depend on its
// random stream and the answers, and aim at contention: few databases, constraints near the latest revision, repeated
// transaction ids while the first attempt may be in progress, and deletes during other work.
import type { Rng } from '../engine/random.ts';
import type { At, CallKind, Calls, Operation } from '../history.ts';
import { Sketches } from './sketches.ts';

export interface ClientHabits {
  readonly names: readonly [string, ...string[]];
  readonly thinkUsMean: number;
  /** Relative frequency of each kind of operation. */
  readonly weights: Readonly<Record<Deed, number>>;
  /** True when most reads use `cached`. */
  readonly prefersCached?: boolean;
  /** True when events have effective times, queries use them, and clients read at recorded times. */
  readonly isTimed?: boolean;
}

export type Deed =
  | 'transact'
  | 'repeat'
  | 'describe'
  | 'query'
  | 'again'
  | 'fetch'
  | 'log'
  | 'await'
  | 'event'
  | 'names'
  | 'list'
  | 'create'
  | 'delete';

type TransactRequest = Calls['transact']['request'];
type QueryRequest = Calls['query']['request'];

/** State that all clients of a run share: sent transactions and queries, so that clients repeat those of others. */
export interface Commons {
  readonly sent: TransactRequest[];
  readonly asked: { readonly databaseId: string; readonly request: QueryRequest }[];
  /** Number of operations that may still start. */
  left: number;
}

interface Known {
  databaseId: string | undefined;
  /** The previous instance with this name. */
  formerId: string | undefined;
  revision: number;
  /** Recorded times in the instance that the client knows: the last few. */
  recordedMs: readonly number[];
}

const TIMES_KEPT = 20;
/** Operations that are sometimes replaced by a read at a recorded time. */
const PAST_DEEDS: ReadonlySet<Deed> = new Set(['describe', 'fetch', 'event', 'names', 'list']);
const AS_OF_SHARE = 0.5;

/** Connection of a client to a node, simulated or real, which records each call with its outcome. */
export interface Caller {
  readonly client: string;
  sleep(delayUs: number): Promise<void>;
  call<Kind extends CallKind>(kind: Kind, request: Calls[Kind]['request']): Promise<Operation<Kind>>;
}

export class Client {
  readonly #connection: Caller;
  readonly #habits: ClientHabits;
  readonly #random: Rng;
  readonly #sketches: Sketches;
  readonly #commons: Commons;
  readonly #times: Rng | undefined;
  readonly #known = new Map<string, Known>();

  constructor(connection: Caller, habits: ClientHabits, random: Rng, commons: Commons) {
    this.#connection = connection;
    this.#habits = habits;
    this.#random = random;
    this.#sketches = new Sketches(random.split('sketches'), habits);
    this.#times = habits.isTimed === true ? random.split('times') : undefined;
    this.#commons = commons;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver() && this.#commons.left > 0) {
      await this.#connection.sleep(this.#random.exponential(this.#habits.thinkUsMean));
      if (isOver() || this.#commons.left <= 0) return;
      this.#commons.left -= 1;
      await this.#do(this.#choose());
    }
  }

  #choose(): Deed {
    const entries = Object.entries(this.#habits.weights) as readonly [Deed, number][];
    let place = this.#random.share() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [deed, weight] of entries) {
      place -= weight;
      if (place < 0) return deed;
    }
    return 'transact';
  }

  async #do(deed: Deed): Promise<void> {
    const name = this.#random.pick(this.#habits.names);
    const known = this.#known.get(name) ?? newcomer();
    this.#known.set(name, known);
    if (PAST_DEEDS.has(deed) && this.#times?.chance(AS_OF_SHARE) === true) return this.#asOf(name, known, this.#times);
    switch (deed) {
      case 'transact':
        return this.#transact(name, known);
      case 'repeat':
        return this.#repeat();
      case 'describe':
        return this.#learn(known, await this.#connection.call('describe', { name, ...this.#at(known) }));
      case 'query':
        return this.#query(name, known);
      case 'again':
        return this.#again();
      case 'fetch':
        return this.#fetch();
      case 'log':
        return this.#log(name, known);
      case 'await':
        await this.#connection.call('await', { name, revision: known.revision + this.#random.between(0, 1) });
        return undefined;
      case 'event':
        await this.#connection.call('event', { name, ...this.#at(known), ...this.#sketches.place() });
        return undefined;
      case 'names':
        await this.#connection.call('names', { name, ...this.#at(known), of: this.#listing() });
        return undefined;
      case 'list':
        await this.#connection.call('list', {});
        return undefined;
      case 'create':
        return this.#learn(known, await this.#connection.call('create', { name }));
      case 'delete':
        return this.#delete(name, known);
    }
  }

  async #transact(name: string, known: Known): Promise<void> {
    const random = this.#random;
    const request: TransactRequest = {
      name,
      transactionId: this.#sketches.transactionId(),
      constraints: this.#sketches.constraints(known.revision),
      events: random.chance(0.01) ? [] : this.#sketches.events(this.#connection.client, known.recordedMs.at(-1)),
      minRevision: random.chance(0.1) ? known.revision : undefined,
    };
    this.#commons.sent.push(request);
    await this.#send(request, known);
  }

  async #send(request: TransactRequest, known: Known): Promise<void> {
    const operation = await this.#connection.call('transact', request);
    this.#learn(known, operation);
    if (operation.outcome.kind === 'error' && operation.outcome.reason === 'DatabaseNotFound') {
      if (this.#random.chance(0.7)) this.#learn(known, await this.#connection.call('create', { name: request.name }));
    }
    // After an unknown outcome the transaction is repeated with the same id, possibly by another client.
    const isUnsure =
      operation.outcome.kind === 'unknown' ||
      (operation.outcome.kind === 'error' && operation.outcome.reason === 'OutcomeUnknown');
    if (isUnsure && this.#random.chance(0.6)) await this.#send(request, known);
  }

  /** Repeats a transaction of any client, possibly with another body or while the first attempt is in progress. */
  async #repeat(): Promise<void> {
    const { sent } = this.#commons;
    const isRecent = this.#random.chance(0.7);
    const request = this.#random.pickFrom(isRecent ? sent.slice(-4) : sent);
    if (request === undefined) return;
    const events = this.#random.chance(0.2) ? this.#sketches.events(this.#connection.client) : request.events;
    await this.#connection.call('transact', { ...request, events });
  }

  /** Uses a time near one that the client knows, or before all of them. */
  async #asOf(name: string, known: Known, random: Rng): Promise<void> {
    const recordedMs = random.pickFrom(known.recordedMs) ?? 0;
    const timeMs = Math.max(0, recordedMs + random.pick([-60_000, -1, 0, 0, 0, 0, 0, 1, 60_000]));
    await this.#connection.call('asOf', { name, timeMs });
  }

  async #query(name: string, known: Known): Promise<void> {
    const request = { name, ...this.#at(known), query: this.#sketches.query(known.revision, known.recordedMs.at(-1)) };
    const operation = await this.#connection.call('query', request);
    this.#learn(known, operation);
    if (operation.outcome.kind !== 'ok') return;
    const { databaseId, revision } = operation.outcome.value;
    this.#commons.asked.push({ databaseId, request: { name, at: revision, query: request.query } });
  }

  /** Repeats an answered query at the same revision: the answer must be equal. */
  async #again(): Promise<void> {
    const asked = this.#random.pickFrom(this.#commons.asked);
    if (asked !== undefined) await this.#connection.call('query', asked.request);
  }

  async #fetch(): Promise<void> {
    const { sent } = this.#commons;
    const request = this.#random.pickFrom(this.#random.chance(0.5) ? sent.slice(-6) : sent);
    if (request === undefined) return;
    const { name, transactionId } = request;
    await this.#connection.call('fetch', { name, transactionId });
  }

  async #log(name: string, known: Known): Promise<void> {
    const start = this.#random.chance(0.5) ? 0 : this.#random.between(0, known.revision);
    const direction = this.#random.chance(0.7) ? 'forward' : 'reverse';
    const limit = this.#random.chance(0.5) ? 0 : this.#random.between(1, 20);
    this.#learn(known, await this.#connection.call('log', { name, start, direction, limit }));
  }

  async #delete(name: string, known: Known): Promise<void> {
    const draw = this.#random.share();
    const databaseId = draw < 0.3 ? known.databaseId : draw < 0.6 ? known.formerId : undefined;
    const operation = await this.#connection.call('delete', { name, databaseId });
    if (operation.outcome.kind !== 'ok' || this.#random.chance(0.2)) return;
    this.#learn(known, await this.#connection.call('create', { name }));
  }

  #at(known: Known): { readonly at: At; readonly minRevision?: number } {
    const random = this.#random;
    const draw = random.between(0, 9);
    const number = draw < 9 ? random.between(0, known.revision) : known.revision + random.between(1, 2);
    const [latest, cached] = this.#habits.prefersCached === true ? [1, 8] : [3, 5];
    const at = draw < latest ? 'latest' : draw < cached ? 'cached' : number;
    return random.chance(0.15) ? { at, minRevision: known.revision } : { at };
  }

  #listing(): 'streams' | 'subjects' | 'types' {
    return this.#random.pick(['streams', 'subjects', 'types']);
  }

  #learn(known: Known, operation: Operation<'transact' | 'describe' | 'query' | 'log' | 'create'>): void {
    if (operation.outcome.kind !== 'ok') return;
    const { value } = operation.outcome;
    const { databaseId, revision } = value;
    const isSame = known.databaseId === databaseId;
    if (!isSame) known.formerId = known.databaseId;
    const recordedMs = recordedMsOf(value);
    const before = isSame ? known.recordedMs : [];
    known.recordedMs = recordedMs === undefined ? before : [...before, recordedMs].slice(-TIMES_KEPT);
    known.revision = isSame ? Math.max(known.revision, revision) : revision;
    known.databaseId = databaseId;
  }
}

function newcomer(): Known {
  return { databaseId: undefined, formerId: undefined, revision: 0, recordedMs: [] };
}

/** Recorded time in an answer, if it has one. */
function recordedMsOf(value: object): number | undefined {
  if ('recordedTimeMs' in value && typeof value.recordedTimeMs === 'number') return value.recordedTimeMs;
  return 'revisionTimeMs' in value && typeof value.revisionTimeMs === 'number' ? value.revisionTimeMs : undefined;
}
