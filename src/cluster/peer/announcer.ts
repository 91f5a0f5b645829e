/**
 * Sees to it that the catalog says of this node where it is: asks its own core, then the node that leads the catalog,
 * then the other known nodes, until it is so. Clients and other nodes find it by what the catalog says.
 *
 * It may not stay so: what an earlier process of this node has asked for may become an entry later than what this one
 * asks for, and was perhaps what the catalog said when this one asked. So whenever the catalog here says something
 * else, it is said again.
 *
 * A node that was away while it was removed receives no word of that: the others do not listen to it any more, and its
 * own catalog is as it was. So a node that learns of no leader of the catalog asks the others.
 *
 *   C39  Who was removed ends when anybody who knows it can be asked, also if it was away when it happened; and nobody
 *        else does: only a catalog in which the store is removed says so, which it is for good (D17).
 */
import type { Address, NodeId } from '#base';
import { isSame, sayableAt } from '#database';
import type { NodeRegistration } from '../outcome.ts';
import { nodeRemoved } from '../refusals.ts';
import { type AskToJoin, askThrough, type JoinReply, type JoinRequest } from './join.ts';

export interface AnnouncerPorts {
  readonly clusterId: string;
  readonly node: NodeId;
  readonly release: string;
  readonly run: number;
  /** The core of this node. */
  readonly register: (request: JoinRequest) => Promise<JoinReply>;
  readonly ask: AskToJoin;
  /** What the catalog here says of this node; undefined while it says nothing. */
  readonly shown: () => NodeRegistration | undefined;
  /** Whether anybody leads the catalog, as far as this node has heard lately. */
  readonly isLed: () => boolean;
  /** Has the next process of the node know that it was removed. */
  readonly noteRemoved: () => Promise<void>;
  /** Feature level of the cluster, as the catalog here has it: what it can say of a node. */
  readonly level: () => number;
  /** Addresses of nodes that may know who leads. */
  readonly others: () => readonly Address[];
  readonly sleep: (ms: number) => Promise<void>;
}

const PAUSE_FIRST_MS = 100;
const PAUSE_LAST_MS = 3_000;
/** From one look whether the catalog is led to the next, and how many in a row must find that it is not. */
const LOOK_MS = 5_000;
const SILENT_LOOKS = 2;

export class Announcer {
  readonly #ports: AnnouncerPorts;
  #wanted: NodeRegistration | undefined;
  /** The last that the catalog had. */
  #said: NodeRegistration | undefined;
  #isRunning = false;
  #isClosed = false;

  constructor(ports: AnnouncerPorts) {
    this.#ports = ports;
  }

  /**
   * Resolves when the catalog says so, or something later was announced, or it is closed. Rejects when it is refused,
   * or the node was removed.
   */
  async announce(registration: NodeRegistration): Promise<void> {
    this.#wanted = registration;
    if (this.#isRunning) return;
    this.#isRunning = true;
    let pauseMs = PAUSE_FIRST_MS;
    while (this.#wanted !== undefined && !this.#isClosed) {
      const said: NodeRegistration = this.#wanted;
      const reply = await this.#say(said);
      if (reply.kind === 'refused') throw new Error(`The cluster does not know this node: ${reply.reason}`);
      if (this.#isRemoval(reply)) await this.#end();
      if (reply.kind === 'joined' && !this.#isContradicted(said)) {
        this.#said = said;
        if (said === this.#wanted) this.#wanted = undefined;
      } else await this.#ports.sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, PAUSE_LAST_MS);
    }
    this.#isRunning = false;
  }

  /** The catalog here has changed. */
  async review(): Promise<void> {
    // Not within the turn that has changed it.
    await Promise.resolve();
    const said = this.#said;
    if (said === undefined || this.#isRunning || this.#isClosed || !this.#isContradicted(said)) return;
    // A node that is refused now is ended by the catalog itself: it was removed, or its release is too old.
    await this.announce(said).catch(() => undefined);
  }

  /** Looks whether the catalog is led, until it is closed, and asks when it is not. Rejects when it was removed. */
  async watch(): Promise<void> {
    const { sleep, isLed } = this.#ports;
    for (let silent = 0; !this.#isClosed; ) {
      await sleep(LOOK_MS);
      silent = isLed() ? 0 : silent + 1;
      // An announcement asks the same.
      if (silent >= SILENT_LOOKS && !this.#isRunning && (await this.#hearsOfRemoval())) await this.#end();
    }
  }

  /** Asks all of them, for some may not have learned of it themselves. */
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
    // Where that fails the next process asks again.
    await this.#ports.noteRemoved().catch(() => undefined);
    throw nodeRemoved(this.#ports.node);
  }

  #isContradicted(said: NodeRegistration): boolean {
    const shown = this.#ports.shown();
    return shown !== undefined && !isSame(shown, sayableAt(this.#ports.level(), said));
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
