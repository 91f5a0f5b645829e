// The network between clients and nodes, which it identifies by name: messages are delayed, lost, duplicated and
// reordered, and directions can be blocked.
import type { Rng } from './engine/random.ts';
import type { Simulator } from './engine/simulator.ts';

export interface NetworkConditions {
  readonly latencyUsMean: number;
  readonly lossShare: number;
  readonly duplicateShare: number;
}

export const CALM: NetworkConditions = { latencyUsMean: 200, lossShare: 0, duplicateShare: 0 };

export class Network {
  conditions: NetworkConditions = CALM;
  readonly #simulator: Simulator;
  readonly #random: Rng;
  readonly #closed = new Set<string>();

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
    this.#random = simulator.random('network');
  }

  /** Blocks the direction from one to the other. */
  close(from: string, to: string): void {
    this.#closed.add(way(from, to));
  }

  /** Unblocks all directions and ends all disturbances. */
  heal(): void {
    this.#closed.clear();
    this.conditions = CALM;
  }

  /** Sends an independent message; returns the number of copies that will arrive. */
  send(from: string, to: string, deliver: () => void): number {
    const { lossShare, duplicateShare } = this.conditions;
    const copies = this.#isLost(from, to, lossShare) ? 0 : 1 + Number(this.#random.chance(duplicateShare));
    for (let copy = 0; copy < copies; copy += 1) this.#deliver(from, to, deliver, this.#latencyUs());
    return copies;
  }

  /** Returns a connection: messages arrive in order, and none arrives after a lost one. */
  connect(from: string, to: string): (deliver: () => void) => void {
    let lastUs = 0;
    let isBroken = false;
    return (deliver) => {
      isBroken ||= this.#isLost(from, to, this.conditions.lossShare);
      if (isBroken) return;
      lastUs = Math.max(lastUs, this.#simulator.nowUs + this.#latencyUs());
      this.#deliver(from, to, deliver, lastUs - this.#simulator.nowUs);
    };
  }

  #isLost(from: string, to: string, lossShare: number): boolean {
    return this.#closed.has(way(from, to)) || this.#random.chance(lossShare);
  }

  #latencyUs(): number {
    return 20 + this.#random.exponential(this.conditions.latencyUsMean);
  }

  #deliver(from: string, to: string, deliver: () => void, delayUs: number): void {
    this.#simulator.after(delayUs, way(from, to), deliver);
  }
}

function way(from: string, to: string): string {
  return `${from} to ${to}`;
}
