// A simulated subscriber of one database: after each end of a stream it resumes at its last event or heartbeat, as long
// as the instance is the same.
import { DatabaseError, toRevision } from '#base';
import type { Position, Selector } from '#model';
import { isFatal, type SubscribeRequest, type SubscriptionItem } from '#service';
import type { Rng } from '../engine/random.ts';
import type { FollowItem, Scope, Subscription } from '../history.ts';
import type { NodeProcess } from '../node/process.ts';
import type { Work } from '../node/sim-relay.ts';
import type { World } from './connection.ts';
import { eventSeen } from './decode.ts';

const HEARTBEAT_MS = 500;
/** Silence after which a subscriber connects again. */
const SILENCE_US = 2_000_000;
const RETRY_US = 300_000;

/** The followed instance, and the position after which to resume. */
export interface FollowedPlace {
  readonly databaseId: string;
  readonly after: Position;
}

export interface Wanted {
  readonly client: string;
  readonly name: string;
  readonly selector: Selector;
  readonly place?: FollowedPlace;
}

export class Follower {
  readonly client: string;
  readonly name: string;
  readonly selector: Selector;
  readonly #world: World;
  readonly #random: Rng;
  readonly #route: Rng;
  #place: FollowedPlace | undefined;
  #current: Subscription | undefined;

  /** Subscribes at the given position, or at the beginning of the database. */
  constructor(world: World, random: Rng, wanted: Wanted) {
    this.client = wanted.client;
    this.name = wanted.name;
    this.selector = wanted.selector;
    this.#place = wanted.place;
    this.#world = world;
    this.#random = random;
    this.#route = world.simulator.random(`${wanted.client} route`);
  }

  get place(): FollowedPlace | undefined {
    return this.#place;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#follow(isOver);
      await this.#world.simulator.sleep(this.#random.exponential(RETRY_US), `${this.client} waits`);
    }
  }

  async #follow(isOver: () => boolean): Promise<void> {
    const { simulator, history } = this.#world;
    const subscription: Subscription = {
      number: history.subscriptions.length,
      client: this.client,
      name: this.name,
      selector: this.selector,
      after: this.#place?.after,
      invokedUs: simulator.nowUs,
      scope: undefined,
      items: [],
    };
    history.subscriptions.push(subscription);
    this.#current = subscription;
    const line = { lastUs: simulator.nowUs, isEnded: false };
    this.#subscribe(subscription, {
      got: () => void (line.lastUs = simulator.nowUs),
      ended: (reason) => {
        if (reason === 'RevisionNotFound' || reason === 'DatabaseNotFound') this.#place = undefined;
        line.isEnded = true;
      },
    });
    while (!line.isEnded && !isOver() && simulator.nowUs - line.lastUs < SILENCE_US) {
      await simulator.sleep(100_000, `${this.client} listens`);
      // Occasionally the subscriber disconnects.
      if (this.#random.chance(0.01)) break;
    }
    this.#current = undefined;
  }

  #subscribe(subscription: Subscription, told: Told): void {
    const { network, nodes } = this.#world;
    const node = this.#route.pick(nodes);
    let hasArrived = false;
    network.send(this.client, node.name, () => {
      const { process } = node;
      // A connection carries one subscription, even if its first packet is duplicated.
      if (process?.service === undefined || this.#current !== subscription || hasArrived) return;
      hasArrived = true;
      const back = network.connect(node.name, this.client);
      const say = (work: () => void): void =>
        back(() => {
          if (this.#current === subscription) work();
        });
      process.front.after(0, 'subscribe', () => this.#serve(process, { subscription, told, say }));
    });
  }

  #serve(process: NodeProcess, line: Line): void {
    const { service } = process;
    if (service === undefined) return;
    const ending = new AbortController();
    const { signal } = ending;
    const leave = (): void => ending.abort(new DatabaseError('unavailable', 'The subscriber went away'));
    const fail = (failure: unknown): void => {
      if (!(failure instanceof DatabaseError) || isFatal(failure)) return process.fail(failure);
      line.say(() => line.told.ended(failure.details.reason));
    };
    let hasBegun = false;
    const say: Work['say'] = (piece) => {
      hasBegun = true;
      line.say(piece);
    };
    const work = { service, thread: process.front, signal, shown: undefined, say };
    this.#pump(work, { ...line, leave }).catch((failure: unknown) => {
      const run = (there: Work): Promise<void> => {
        const passOn: Work['say'] = (piece) => there.say(() => line.say(piece));
        return this.#pump({ ...there, say: passOn }, { ...line, leave });
      };
      const request = { isWrite: false, name: this.name, signal, untilUs: undefined, run };
      const elsewhere = hasBegun
        ? undefined
        : process.relay?.elsewhere(failure, { ...request, onValue: () => undefined, onFailure: fail });
      if (elsewhere === undefined) fail(failure);
      else elsewhere.catch(fail);
    });
  }

  async #pump(work: Omit<Work, 'fail'>, { subscription, told, leave }: Serving): Promise<void> {
    const { service, thread, signal, shown, say } = work;
    const request: SubscribeRequest = {
      databaseName: this.name,
      selector: this.selector,
      heartbeatMs: HEARTBEAT_MS,
      signal,
      ...(shown !== undefined && { shown }),
    };
    const { after } = subscription;
    const { databaseId, revision, items } = await service.subscribe(
      after === undefined ? request : { ...request, after },
    );
    say(() => this.#begin(subscription, { databaseId, revision }));
    for await (const item of items) {
      const seen = this.#seen(item);
      say(() => {
        told.got();
        this.#take(subscription, seen);
      });
      if (this.#current !== subscription) leave();
      // A temporarily slow reader.
      if (this.#random.chance(0.02)) await thread.sleep(this.#random.between(0, 400_000), 'slow reader');
    }
  }

  #begin(subscription: Subscription, scope: Scope): void {
    subscription.scope = scope;
    if (this.#place?.databaseId === scope.databaseId) return;
    // The requested position may belong to an older instance. Events of this instance are expected after it all the
    // same.
    this.#place = { databaseId: scope.databaseId, after: subscription.after ?? { revision: 0, index: 0 } };
  }

  #take(subscription: Subscription, item: FollowItem): void {
    subscription.items.push({ ...item, atUs: this.#world.simulator.nowUs });
    const databaseId = subscription.scope?.databaseId;
    if (databaseId === undefined) return;
    const last = item.kind === 'events' ? item.events.at(-1) : item.position;
    if (last !== undefined) this.#place = { databaseId, after: { revision: last.revision, index: last.index } };
  }

  #seen(item: SubscriptionItem): FollowItem {
    if (item.kind === 'events') return { kind: 'events', atUs: 0, events: item.events.map(eventSeen) };
    return { kind: 'heartbeat', atUs: 0, position: item.position, revision: toRevision(item.revision) };
  }
}

interface Told {
  /** Called when data has arrived. */
  readonly got: () => void;
  readonly ended: (reason: string | undefined) => void;
}

interface Line {
  readonly subscription: Subscription;
  readonly told: Told;
  readonly say: (work: () => void) => void;
}

interface Serving extends Line {
  /** Called when no subscriber listens any more. */
  readonly leave: () => void;
}
