/**
 * Registers the address of this node in the catalog, where clients and other nodes look it up. Asks the own core, then
 * the leader of the catalog, then the other known nodes, until it is registered.
 *
 * A request of an earlier process of this node may be applied later than the one of this process. So the node registers
 * again whenever the local catalog differs.
 *
 * A node that was down while it was removed does not learn of it: the others ignore it, and its own catalog is old. So
 * a node that sees no leader of the catalog asks the others.
 *
 *   C39  A removed node ends when any node that knows of the removal can be reached, also if it was down at the time.
 *        No other node ends: only a catalog that has the store as removed, which is final, says so (D17).
 */
import type { Address, NodeId } from '#base';
import { isSame } from '#database';
import type { NodeRegistration } from '../outcome.ts';
import { nodeRemoved } from '../refusals.ts';
import { type AskToJoin, askThrough, type JoinReply, type JoinRequest, joinRefused } from './join.ts';

export interface AnnouncerPorts {
  readonly clusterId: string;
  readonly node: NodeId;
  readonly release: string;
  readonly run: number;
  /** The core of this node. */
  readonly register: (request: JoinRequest) => Promise<JoinReply>;
  readonly ask: AskToJoin;
  /** Registration of this node in the local catalog; undefined while there is none. */
  readonly shown: () => NodeRegistration | undefined;
  /** Tells whether the catalog has a leader, as far as this node knows. */
  readonly isLed: () => boolean;
  /** Persists the removal for the next process of the node. */
  readonly noteRemoved: () => Promise<void>;
  /** Addresses of nodes that may know the leader. */
  readonly others: () => readonly Address[];
  readonly sleep: (ms: number) => Promise<void>;
}

const PAUSE_FIRST_MS = 100;
const PAUSE_LAST_MS = 3_000;
/** Interval of the checks whether the catalog has a leader, and the number of failures in a row before asking. */
const LOOK_MS = 5_000;
const SILENT_LOOKS = 2;

export class Announcer {
  readonly #ports: AnnouncerPorts;
  #wanted: NodeRegistration | undefined;
  /** Last registration that the catalog had. */
  #said: NodeRegistration | undefined;
  #isRunning = false;
  #isClosed = false;

  constructor(ports: AnnouncerPorts) {
    this.#ports = ports;
  }

  /**
   * Resolves when the catalog has the registration, or a later one was announced, or this is closed. Rejects when the
   * registration is refused, or the node was removed.
   */
  async announce(registration: NodeRegistration): Promise<void> {
    this.#wanted = registration;
    if (this.#isRunning) return;
    this.#isRunning = true;
    let pauseMs = PAUSE_FIRST_MS;
    while (this.#wanted !== undefined && !this.#isClosed) {
      const said: NodeRegistration = this.#wanted;
      const reply = await this.#say(said);
      if (reply.kind === 'refused') throw joinRefused(`The cluster does not accept this node: ${reply.reason}`);
      if (this.#isRemoval(reply)) await this.#end();
      if (reply.kind === 'joined' && !this.#isContradicted(said)) {
        this.#said = said;
        if (said === this.#wanted) this.#wanted = undefined;
      } else await this.#ports.sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, PAUSE_LAST_MS);
    }
    this.#isRunning = false;
  }

  /** The local catalog has changed. */
  async review(): Promise<void> {
    // Not within the event-loop turn of the change.
    await Promise.resolve();
    const said = this.#said;
    if (said === undefined || this.#isRunning || this.#isClosed || !this.#isContradicted(said)) return;
    // The catalog itself ends a node that is refused now: it was removed, or its release is too old.
    await this.announce(said).catch(() => undefined);
  }

  /** Checks until closed whether the catalog is led, and asks when it is not. Rejects when the node was removed. */
  async watch(): Promise<void> {
    const { sleep, isLed } = this.#ports;
    for (let silent = 0; !this.#isClosed; ) {
      await sleep(LOOK_MS);
      silent = isLed() ? 0 : silent + 1;
      // A running announcement asks the same.
      if (silent >= SILENT_LOOKS && !this.#isRunning && (await this.#hearsOfRemoval())) await this.#end();
    }
  }

  /** Asks all of them, because some may not know of the removal themselves. */
  async #hearsOfRemoval(): Promise<boolean> {
    const { clusterId, release, run, ask, others } = this.#ports;
    const registration = this.#said;
    if (registration === undefined) return false;
    for (const address of others()) {
      if (this.#isClosed) return false;
      if (this.#isRemoval(await askThrough(ask, address, { clusterId, registration, release, run }))) return true;
    }
    return false;
  }

  #isRemoval(reply: JoinReply): boolean {
    return reply.kind === 'removed' && reply.node === this.#ports.node;
  }

  async #end(): Promise<never> {
    // If this fails, the next process asks again.
    await this.#ports.noteRemoved().catch(() => undefined);
    throw nodeRemoved(this.#ports.node);
  }

  #isContradicted(said: NodeRegistration): boolean {
    const shown = this.#ports.shown();
    return shown !== undefined && !isSame(shown, said);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #say(registration: NodeRegistration): Promise<JoinReply> {
    const { clusterId, release, run, register, ask, others } = this.#ports;
    const request = { clusterId, registration, release, run };
    const own = await register(request);
    if (own.kind === 'elsewhere') return askThrough(ask, own.leader, request);
    if (own.kind !== 'later') return own;
    for (const address of others()) {
      if (this.#isClosed) break;
      const reply = await askThrough(ask, address, request);
      if (reply.kind !== 'later') return reply;
    }
    return own;
  }
}
