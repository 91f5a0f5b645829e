/**
 * The states of a search as numbers: a place holds the numbers of its parts (keys.ts), and a move looks up what it does
 * to one of them (local-steps.ts). What is settled of a world (search-moves.ts) is settled here of the parts that have
 * changed; a test holds both against one another.
 */
import { assert, BrokenInvariant } from '#base';
import { checkGroup } from './group-invariants.ts';
import { fateOf, floorOf, noticeOf, remembering } from './inert.ts';
import { hashInto, keyInto, Table, type Tables } from './keys.ts';
import type { LocalStep, LocalSteps } from './local-steps.ts';
import { delayOf, type Left } from './search-moves.ts';
import { SEEN_HISTORY, SEEN_REPLICA } from './state-key.ts';
import { KeySet } from './visited.ts';
import type { History, Replica, World } from './world.ts';

export interface Place {
  /** Of replica n the number of its part stands at n - 1. */
  readonly replicas: readonly number[];
  /** No two are the same. */
  readonly network: readonly number[];
  /** Messages that arrive before anything else happens, in this order. */
  readonly due: readonly number[];
  readonly history: number;
  /** One object for what is equal. */
  readonly left: Left;
  /** Of the hashes of replicas and network (keys.ts). */
  readonly sums: Uint32Array;
}

/** What a search makes use of; a test searches without them. */
export interface Reductions {
  readonly symmetry: boolean;
  /** Forgets what inert.ts says. */
  readonly messages: boolean;
}

/** A place that the next move overwrites. */
interface Draft extends Place {
  replicas: number[];
  network: number[];
  due: number[];
  history: number;
  left: Left;
}

interface Limits {
  readonly terms: number;
  readonly late: number | undefined;
}

/** More than a search has. */
const TERMS_MAX = 16;
/** Of the moves of a message that is due: the first is that it arrives. */
const DELAY = 1;

interface Route {
  readonly from: number;
  readonly to: number;
  readonly notice: number;
}

/** A place for longer than until the next move. */
export function kept({ replicas, network, due, history, left, sums }: Place): Place {
  return { replicas: [...replicas], network: [...network], due: [...due], history, left, sums: sums.slice() };
}

export class Places {
  readonly #terms: number;
  readonly #isDueAtOnce: boolean;
  readonly #tables: Tables;
  readonly #steps: LocalSteps;
  readonly #forgets: boolean;
  readonly #lefts = new Map<string, Left>();
  readonly #draft: Draft;
  readonly #all: Uint32Array;
  /** By the number of a message: who sent it, who gets it, and the notice that may be left of it. */
  readonly #routes: Route[] = [];
  readonly #remembered = new Map<number, number>();

  constructor({ terms, late }: Limits, tables: Tables, steps: LocalSteps, { messages }: Reductions) {
    this.#terms = terms;
    this.#isDueAtOnce = late !== undefined;
    this.#tables = tables;
    this.#steps = steps;
    this.#forgets = messages;
    const left = { proposals: 0, crashes: 0, changes: 0, late: 0 };
    this.#draft = { replicas: [], network: [], due: [], history: 0, left, sums: tables.noSums() };
    this.#all = tables.noSums();
  }

  /** The beginning, in which nothing was sent. */
  first(world: World, left: Left): Place {
    assert(world.network.length === 0, 'Nothing was sent in the beginning');
    const { replicas, histories } = this.#tables;
    const sums = this.#tables.noSums();
    const numbers = Array.from(world.replicas.values(), (each) => replicas.numberOf(each));
    for (const number of numbers) replicas.addTo(sums, number);
    const history = histories.numberOf(world.history);
    return { replicas: numbers, network: [], due: [], history, left: this.#same(left), sums };
  }

  /** Moves are numbered: those of each replica, then the arrivals; or what may happen to the first that is due. */
  countFrom({ replicas, network, due, left }: Place): number {
    if (due.length > 0) return left.late > 0 ? 2 : 1;
    return replicas.reduce((count, replica) => count + this.#steps.own(replica, left).length, network.length);
  }

  labelOf(place: Place, move: number): string {
    const [first] = place.due;
    if (first !== undefined && move === DELAY) return delayOf(this.#tables.envelopes.partOf(first));
    return this.#stepAt(place, move).step.label();
  }

  /**
   * Where the move leads, until the next one is followed; the invariant that it breaks; or undefined when it changes
   * nothing.
   */
  follow(place: Place, move: number): Place | string | undefined {
    const [first] = place.due;
    if (first !== undefined && move === DELAY) return this.#delayed(place, first);
    const { who, step, isArrival } = this.#stepAt(place, move);
    const before = place.replicas[who] ?? 0;
    const outcome = this.#steps.take(step, before, place.history);
    if (typeof outcome === 'string') return outcome;
    const { replica, sends, history = place.history } = outcome;
    const left = isArrival ? place.left : this.#same(step.left);
    const isSame = replica === before && history === place.history && left === place.left && first === undefined;
    if (isSame && sends.every((each) => !this.#isDueAtOnce && place.network.includes(each))) return undefined;
    const next = this.#draft;
    next.replicas.length = 0;
    next.replicas.push(...place.replicas);
    next.replicas[who] = replica;
    next.left = left;
    next.sums.set(place.sums);
    this.#tables.replicas.takeFrom(next.sums, before);
    this.#tables.replicas.addTo(next.sums, replica);
    this.#settle(place, who, sends);
    next.history = this.#forgets ? this.#remember(history, next) : history;
    return next;
  }

  keyInto(key: Uint32Array, { sums, due, history, left }: Place): void {
    this.#all.set(sums);
    this.#tables.histories.addTo(this.#all, history);
    this.#tables.envelopes.addInOrder(this.#all, due);
    keyInto(key, this.#all, [left.proposals, left.crashes, left.changes, left.late]);
  }

  /** The first message that was due is in the network. */
  #delayed(place: Place, first: number): Place {
    const next = this.#draft;
    next.replicas = [...place.replicas];
    next.network = [...place.network];
    next.due = place.due.slice(1);
    next.history = place.history;
    next.left = this.#same({ ...place.left, late: place.left.late - 1 });
    next.sums.set(place.sums);
    this.#send(first);
    return next;
  }

  #stepAt(
    { replicas, network, due, left }: Place,
    move: number,
  ): { readonly who: number; readonly step: LocalStep; readonly isArrival: boolean } {
    const [first] = due;
    if (first !== undefined) return this.#arrivalOf(first, replicas, left);
    let at = move;
    for (let who = 0; who < replicas.length; who += 1) {
      const own = this.#steps.own(replicas[who] ?? 0, left);
      const step = own[at];
      if (step !== undefined) return { who, step, isArrival: false };
      at -= own.length;
    }
    const envelope = network[at];
    assert(envelope !== undefined, 'There is such a move', move);
    return this.#arrivalOf(envelope, replicas, left);
  }

  #arrivalOf(
    envelope: number,
    replicas: Place['replicas'],
    left: Left,
  ): { readonly who: number; readonly step: LocalStep; readonly isArrival: boolean } {
    const who = this.#routeOf(envelope).to - 1;
    return { who, step: this.#steps.delivery(replicas[who] ?? 0, envelope, left), isArrival: true };
  }

  /** The network of the draft: what was in it, as far as it stays, and what was sent. */
  #settle(place: Place, who: number, sends: readonly number[]): void {
    const next = this.#draft;
    const { envelopes } = this.#tables;
    const isLastCrash = next.left.crashes === 0 && place.left.crashes > 0;
    next.network.length = 0;
    for (const each of place.network) {
      const { from, to } = this.#routeOf(each);
      const isTouched = isLastCrash || from === who + 1 || to === who + 1;
      const left = isTouched ? this.#leftOf(each) : each;
      if (left !== each) envelopes.takeFrom(next.sums, each);
      if (left === each) next.network.push(each);
      else if (left !== undefined && !place.network.includes(left)) this.#send(left);
    }
    next.due.length = 0;
    for (const each of [...place.due.slice(1), ...(this.#isDueAtOnce ? sends : [])]) {
      const left = this.#leftOf(each);
      if (left !== undefined) next.due.push(left);
    }
    if (this.#isDueAtOnce) return;
    for (const each of sends) {
      const left = this.#leftOf(each);
      if (left !== undefined) this.#send(left);
    }
  }

  #send(envelope: number): void {
    const { network, sums } = this.#draft;
    if (network.includes(envelope)) return;
    network.push(envelope);
    this.#tables.envelopes.addTo(sums, envelope);
  }

  /** The message, or the one that stands for it; undefined when it is forgotten (`settled` says where none is). */
  #leftOf(envelope: number): number | undefined {
    if (!this.#forgets || this.#isDueAtOnce) return envelope;
    const { replicas, left } = this.#draft;
    const { from, to, notice } = this.#routeOf(envelope);
    const receiver = replicas[to - 1];
    const sender = replicas[from - 1];
    if (receiver === undefined || sender === undefined) return undefined;
    const table = this.#tables.replicas;
    const horizon = { terms: this.#terms, crashes: left.crashes };
    const part = this.#tables.envelopes.partOf(envelope);
    switch (fateOf(part, table.partOf(receiver), table.partOf(sender), horizon)) {
      case 'kept':
        return envelope;
      case 'notice':
        return notice;
      case 'forgotten':
        return undefined;
    }
  }

  #routeOf(envelope: number): Route {
    const known = this.#routes[envelope];
    if (known !== undefined) return known;
    const part = this.#tables.envelopes.partOf(envelope);
    const route = { from: part.from, to: part.to, notice: this.#tables.envelopes.numberOf(noticeOf(part)) };
    this.#routes[envelope] = route;
    return route;
  }

  #remember(history: number, { replicas, left }: Place): number {
    let key = history;
    for (const each of replicas) key = key * TERMS_MAX + floorOf(this.#tables.replicas.partOf(each), left);
    assert(Number.isSafeInteger(key), 'A history and the terms of all fit into a number', key);
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const { histories } = this.#tables;
    const parts = replicas.map((each) => this.#tables.replicas.partOf(each));
    const horizon = { terms: this.#terms, crashes: left.crashes };
    const number = histories.numberOf(remembering(histories.partOf(history), parts, horizon));
    this.#remembered.set(key, number);
    return number;
  }

  #same(left: Left): Left {
    const key = `${left.proposals} ${left.crashes} ${left.changes} ${left.late}`;
    const known = this.#lefts.get(key);
    if (known === undefined) this.#lefts.set(key, left);
    return known ?? left;
  }
}

/** The invariants of the group, checked once for whatever they read. */
export class Groups {
  readonly #world: World;
  readonly #tables: Tables;
  readonly #views: Table<Replica>;
  readonly #logs: Table<History>;
  readonly #viewOf: number[] = [];
  readonly #logOf: number[] = [];
  readonly #checked = new KeySet();
  readonly #key = new Uint32Array(2);

  /** `world` is any of the search. */
  constructor(world: World, tables: Tables) {
    this.#world = world;
    this.#tables = tables;
    const names = tables.permutations.slice(0, 1);
    this.#views = new Table(SEEN_REPLICA, names);
    this.#logs = new Table(SEEN_HISTORY, names);
  }

  worldOf({ replicas, network, due, history }: Place): World {
    const parts = replicas.map((each) => this.#tables.replicas.partOf(each));
    return {
      ...this.#world,
      replicas: new Map(parts.map((part) => [part.id, part])),
      network: network.map((each) => this.#tables.envelopes.partOf(each)),
      due: due.map((each) => this.#tables.envelopes.partOf(each)),
      history: this.#tables.histories.partOf(history),
    };
  }

  /** What the place breaks. */
  brokenIn(place: Place): string | undefined {
    const { replicas, histories } = this.#tables;
    const views = place.replicas.map((each) => (this.#viewOf[each] ??= this.#views.numberOf(replicas.partOf(each))));
    const log = (this.#logOf[place.history] ??= this.#logs.numberOf(histories.partOf(place.history)));
    hashInto(this.#key, 0, [log, ...views]);
    if (!this.#checked.add(this.#key[0] ?? 0, this.#key[1] ?? 0)) return undefined;
    try {
      checkGroup(this.worldOf(place));
      return undefined;
    } catch (error) {
      if (error instanceof BrokenInvariant) return error.message;
      throw error;
    }
  }
}
