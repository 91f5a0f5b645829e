/**
 * A subscriber of one database. It switches between nodes, and resumes after each end of a stream at its last event or
 * heartbeat, as long as the instance of the database is the same.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Metadata } from '@grpc/grpc-js';
import type { Position, Selector } from '#model';
import type { SubscribeEventsReply } from '../../proto/gen/cairn/v1/database.ts';
import type { Rng } from '../../test/simulation/engine/random.ts';
import type { FollowItem, History, Scope, Subscription } from '../../test/simulation/history.ts';
import { GrpcFailure, iterate } from '../../test/support/grpc-client.ts';
import { eventSeen, scopeOf } from './calls.ts';
import { nowUs } from './connection.ts';
import { selectionMessage } from './encode.ts';
import type { Members } from './fleet.ts';
import { Line } from './line.ts';

export interface FollowerOptions {
  readonly client: string;
  readonly name: string;
  readonly selector: Selector;
  /** True when the database is never deleted, so that a position in it stays valid. */
  readonly isLasting: boolean;
  readonly members: () => Members;
  readonly history: History;
  readonly random: Rng;
  readonly onMisbehaviour: (what: string) => void;
}

const HEARTBEAT_MS = 500;
/** Silence after which the subscriber switches to another node. */
const SILENCE_MS = 2000;
const RETRY_MS_MEAN = 200;
/** Mean time before the subscriber switches to another node without a reason. */
const STAY_MS_MEAN = 6000;
const MOVED_ON: ReadonlySet<string> = new Set(['RevisionNotFound', 'DatabaseNotFound']);

export class Follower {
  readonly options: FollowerOptions;
  #place: { readonly databaseId: string; readonly after: Position } | undefined;

  constructor(options: FollowerOptions) {
    this.options = options;
  }

  /** The instance that the subscriber follows, and the position after which it resumes. */
  get place(): { readonly databaseId: string; readonly after: Position } | undefined {
    return this.#place;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#follow(isOver);
      await delay(this.options.random.exponential(RETRY_MS_MEAN));
    }
  }

  async #follow(isOver: () => boolean): Promise<void> {
    const { members, history, random, name, selector, client } = this.options;
    const after = this.#place?.after;
    const subscription: Subscription = {
      number: history.subscriptions.length,
      client,
      name,
      selector,
      after,
      invokedUs: nowUs(),
      scope: undefined,
      items: [],
    };
    history.subscriptions.push(subscription);
    const member = random.pick(members());
    using line = new Line(member.address);
    const deadlineMs = 500 + random.exponential(STAY_MS_MEAN);
    const eventSelection = selectionMessage(selector);
    const request = { databaseName: name, eventSelection, after, heartbeatMs: HEARTBEAT_MS };
    const stream = line.grpc.open('subscribeEvents', request, { deadlineMs });
    stream.on('metadata', (headers: Metadata) => this.#begin(subscription, scopeOf(headers.getMap())));
    let lastMs = performance.now();
    const watch = setInterval(() => {
      if (isOver() || performance.now() - lastMs > SILENCE_MS) stream.cancel();
    }, 100);
    try {
      for await (const reply of iterate(stream)) {
        lastMs = performance.now();
        this.#take(subscription, reply);
      }
    } catch (failure) {
      if (!(failure instanceof GrpcFailure)) throw failure;
      this.#hasFailed(failure, member.name);
    } finally {
      clearInterval(watch);
    }
  }

  #hasFailed({ info, message }: GrpcFailure, by: string): void {
    const reason = info?.metadata['reason'] ?? '';
    if (!MOVED_ON.has(reason)) return;
    const { isLasting, client, onMisbehaviour } = this.options;
    if (isLasting && this.#place !== undefined) {
      const place = JSON.stringify(this.#place);
      onMisbehaviour(`${client} was told by ${by}, after it had been shown ${place}: ${message} (${reason})`);
    }
    this.#place = undefined;
  }

  #begin(subscription: Subscription, scope: Scope): void {
    subscription.scope = scope;
    if (this.#place?.databaseId === scope.databaseId) return;
    // The requested position may belong to an older instance. Events of this instance are expected after it all the
    // same.
    this.#place = { databaseId: scope.databaseId, after: subscription.after ?? { revision: 0, index: 0 } };
  }

  #take(subscription: Subscription, { message }: SubscribeEventsReply): void {
    if (message === undefined) return;
    const item = itemOf(message);
    subscription.items.push(item);
    const databaseId = subscription.scope?.databaseId;
    if (databaseId === undefined) return;
    const last = item.kind === 'events' ? item.events.at(-1) : item.position;
    if (last !== undefined) this.#place = { databaseId, after: { revision: last.revision, index: last.index } };
  }
}

function itemOf(message: NonNullable<SubscribeEventsReply['message']>): FollowItem {
  if (message.$case === 'event') return { kind: 'events', atUs: nowUs(), events: [eventSeen(message.value)] };
  const { position, revision } = message.value;
  return { kind: 'heartbeat', atUs: nowUs(), position: position ?? { revision: 0, index: 0 }, revision };
}
