// The network between nodes: who can be reached where, ways that are closed in one direction, and frames that get lost,
// come late, twice, in another order, or with a bit flipped. It carries bytes; what they mean is for the ends of it.
import type { JoinReply, JoinRequest, Lane } from '#cluster';
import type { Wire } from '../../../src/transport/peer/wire.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import { FrameLedger } from './frame-ledger.ts';
import { type LaneHarm, NO_HARM, withTurnedBit } from './lane-harm.ts';

export interface PeerConditions {
  readonly latencyUsMean: number;
  readonly lossShare: number;
  /** Of frames for which it is allowed. */
  readonly duplicateShare: number;
  readonly reorderShare: number;
  readonly flipShare: number;
}

export const CALM_PEERS: PeerConditions = {
  latencyUsMean: 200,
  lossShare: 0,
  duplicateShare: 0,
  reorderShare: 0,
  flipShare: 0,
};

/** The end of the network that one process has. */
export interface Station {
  readonly host: string;
  readonly thread: Isolate;
  /** A letter from another host, its bytes flipped or not. */
  take(from: string, letter: Letter, isFlipped: boolean): void;
  /** The process at that host has ended, or does not answer. */
  lost(host: string): void;
  /** That one has ended, and nobody is told: whoever has a connection to it finds out by itself. */
  outlives?(station: Station): void;
  /** What this node answers to whoever asks to join; undefined when it answers nobody. */
  answer(request: JoinRequest): Promise<JoinReply> | undefined;
  /** The end of a connection that somebody has dialled, where lanes are connections. */
  accept?(): Wire;
}

export interface Letter {
  readonly frame: Uint8Array;
  readonly lane: Lane;
  /** Whether it may come twice and overtake others: what clients have asked may not. */
  readonly mayStray: boolean;
}

export class PeerExchange {
  conditions: PeerConditions = CALM_PEERS;
  /** What happens to lanes besides. */
  harm: LaneHarm = NO_HARM;
  /** How much longer than that everything takes, on average. */
  delayUs = 0;
  readonly #random: Rng;
  readonly #stations = new Map<string, Station>();
  readonly #closed = new Set<string>();
  /** Hosts that hear nothing before a time of what is sent to them now. */
  readonly #held = new Map<string, number>();
  /** Ways that somebody has cut, and how often. */
  readonly #cuts = new Map<string, number>();
  /** What lanes were given, and what they have handed on. */
  readonly ledger: FrameLedger = new FrameLedger();

  readonly #trace: Simulator['trace'];

  constructor(simulator: Simulator) {
    this.#random = simulator.random('peer network');
    this.#trace = simulator.trace;
  }

  /** A frame was sent, whatever becomes of it. */
  saw(frame: Uint8Array): void {
    this.#trace.bytes(frame);
  }

  get random(): Rng {
    return this.#random;
  }

  /** A process begins to listen. */
  enter(station: Station): void {
    this.#stations.set(station.host, station);
  }

  /** It has ended: whoever had a connection to it is told by the system of its machine, if anybody is. */
  leave(station: Station, isSilent: boolean): void {
    if (this.#stations.get(station.host) !== station) return;
    this.#stations.delete(station.host);
    if (isSilent) {
      for (const other of this.#stations.values()) other.outlives?.(station);
      return;
    }
    for (const other of this.#stations.values()) {
      if (!this.isOpen(station.host, other.host)) continue;
      other.thread.after(this.latencyUs(), 'reset', () => other.lost(station.host));
    }
  }

  at(host: string): Station | undefined {
    return this.#stations.get(host);
  }

  isOpen(from: string, to: string): boolean {
    if (this.#closed.size + this.#cuts.size === 0) return true;
    const way = `${from} ${to}`;
    return !this.#closed.has(way) && !this.#cuts.has(way);
  }

  /** Closes the way from one to the other, and not the way back. */
  close(from: string, to: string): void {
    this.#closed.add(`${from} ${to}`);
  }

  /** Opens every way that was closed. */
  open(): void {
    this.#closed.clear();
  }

  /** Cuts the way from one to the other until the returned function is called, whoever else opens it. */
  cut(from: string, to: string): () => void {
    const way = `${from} ${to}`;
    this.#cuts.set(way, (this.#cuts.get(way) ?? 0) + 1);
    return () => {
      const left = (this.#cuts.get(way) ?? 0) - 1;
      if (left > 0) this.#cuts.set(way, left);
      else this.#cuts.delete(way);
    };
  }

  /** What is sent to the host until the function that is returned is called arrives at that time, or later. */
  hold(to: string, untilUs: number): () => void {
    this.#held.set(to, untilUs);
    return () => this.#held.delete(to);
  }

  heal(): void {
    this.open();
    this.#held.clear();
    this.#cuts.clear();
    this.conditions = CALM_PEERS;
    this.harm = NO_HARM;
    this.delayUs = 0;
  }

  /** When what is sent to the host now is there. */
  arrivesUs(to: string, nowUs: number): number {
    return Math.max(nowUs + this.latencyUs(), this.#held.get(to) ?? 0);
  }

  latencyUs(): number {
    const usualUs = 20 + this.#random.exponential(this.conditions.latencyUsMean);
    return this.delayUs === 0 ? usualUs : usualUs + this.#random.exponential(this.delayUs);
  }

  /** Carries a letter of a connection, not before `notBeforeUs`; says when it arrives, at the latest copy of it. */
  carry(from: Station, to: string, letter: Letter, notBeforeUs: number): number {
    const { lossShare, duplicateShare, reorderShare, flipShare } = this.conditions;
    const random = this.#random;
    const { nowUs } = from.thread;
    this.saw(letter.frame);
    if (!this.isOpen(from.host, to) || random.chance(lossShare)) return notBeforeUs;
    const copies = letter.mayStray && random.chance(duplicateShare) ? 2 : 1;
    let lastUs = notBeforeUs;
    for (let copy = 0; copy < copies; copy += 1) {
      const isStray = letter.mayStray && random.chance(reorderShare);
      const drawnUs = this.arrivesUs(to, nowUs);
      const atUs = isStray ? drawnUs : Math.max(lastUs, drawnUs);
      if (!isStray) lastUs = atUs;
      const isFlipped = random.chance(flipShare);
      const frame = isFlipped ? withTurnedBit(letter.frame, random) : letter.frame.slice();
      const station = this.#stations.get(to);
      // Where nobody listens it is lost; a later process of the same host has other connections.
      station?.thread.after(atUs - nowUs, `frame of ${from.host}`, () => {
        station.take(from.host, { ...letter, frame }, isFlipped);
      });
    }
    return lastUs;
  }
}
