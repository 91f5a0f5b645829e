// The network between nodes: the processes at each host, blocked directions, and frames that are lost, delayed,
// duplicated, reordered or corrupted. It transports bytes without interpreting them.
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
  /** Share of the frames that may be duplicated. */
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

/** The network endpoint of one process. */
export interface Station {
  readonly host: string;
  readonly thread: Isolate;
  /** Receives a letter from another host, possibly with a flipped bit. */
  take(from: string, letter: Letter, isFlipped: boolean): void;
  /** Called when the process at the host has ended or does not answer. */
  lost(host: string): void;
  /** Called when a process has ended silently; connected processes must detect it themselves. */
  outlives?(station: Station): void;
  /** Answers a join request; undefined when the node does not answer. */
  answer(request: JoinRequest): Promise<JoinReply> | undefined;
  /** Accepts a connection, if lanes are connections. */
  accept?(): Wire;
}

export interface Letter {
  readonly frame: Uint8Array;
  readonly lane: Lane;
  /** True when the frame may be duplicated and reordered, which forwarded requests may not. */
  readonly mayStray: boolean;
}

export class PeerExchange {
  conditions: PeerConditions = CALM_PEERS;
  /** Additional faults of lanes. */
  harm: LaneHarm = NO_HARM;
  /** Additional mean latency. */
  delayUs = 0;
  readonly #random: Rng;
  readonly #stations = new Map<string, Station>();
  readonly #closed = new Set<string>();
  /** For each host, the time before which messages to it do not arrive. */
  readonly #held = new Map<string, number>();
  /** Number of callers that have cut a direction. */
  readonly #cuts = new Map<string, number>();
  /** Sent and delivered frames of the lanes. */
  readonly ledger: FrameLedger = new FrameLedger();

  readonly #trace: Simulator['trace'];

  constructor(simulator: Simulator) {
    this.#random = simulator.random('peer network');
    this.#trace = simulator.trace;
  }

  /** Records a sent frame in the trace, regardless of its delivery. */
  saw(frame: Uint8Array): void {
    this.#trace.bytes(frame);
  }

  get random(): Rng {
    return this.#random;
  }

  /** Registers a process that starts to listen. */
  enter(station: Station): void {
    this.#stations.set(station.host, station);
  }

  /** Unregisters an ended process. Unless it is silent, its machine notifies all connected processes. */
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

  /** Blocks the direction from one to the other. */
  close(from: string, to: string): void {
    this.#closed.add(`${from} ${to}`);
  }

  /** Unblocks all directions. */
  open(): void {
    this.#closed.clear();
  }

  /** Cuts the direction until the returned function is called, even if it is unblocked otherwise. */
  cut(from: string, to: string): () => void {
    const way = `${from} ${to}`;
    this.#cuts.set(way, (this.#cuts.get(way) ?? 0) + 1);
    return () => {
      const left = (this.#cuts.get(way) ?? 0) - 1;
      if (left > 0) this.#cuts.set(way, left);
      else this.#cuts.delete(way);
    };
  }

  /** Delays messages to the host until this time; the returned function ends that. */
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

  /** Arrival time of a message that is sent to the host now. */
  arrivesUs(to: string, nowUs: number): number {
    return Math.max(nowUs + this.latencyUs(), this.#held.get(to) ?? 0);
  }

  latencyUs(): number {
    const usualUs = 20 + this.#random.exponential(this.conditions.latencyUsMean);
    return this.delayUs === 0 ? usualUs : usualUs + this.#random.exponential(this.delayUs);
  }

  /** Transports a letter of a connection, not before `notBeforeUs`; returns the arrival time of its last copy. */
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
      // Without a listening process it is lost; a later process of the host has other connections.
      station?.thread.after(atUs - nowUs, `frame of ${from.host}`, () => {
        station.take(from.host, { ...letter, frame }, isFlipped);
      });
    }
    return lastUs;
  }
}
