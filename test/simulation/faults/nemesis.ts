/** Carries the faults of a plan out, each at its time, and heals what it has done. */
import type { Simulator } from '../engine/simulator.ts';
import { CALM, type Network } from '../network.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { Fault, FaultAction } from './plan.ts';

export interface NemesisParts {
  readonly simulator: Simulator;
  readonly network: Network;
  readonly node: SimNode;
  readonly clients: readonly string[];
  readonly onBug: (failure: unknown) => void;
}

export class Nemesis {
  readonly #parts: NemesisParts;
  #isOver = false;

  constructor(parts: NemesisParts) {
    this.#parts = parts;
  }

  /** How many of the faults took place is in the trace; a node that is down has little to lose. */
  schedule(faults: readonly Fault[]): void {
    const { simulator } = this.#parts;
    for (const fault of faults) {
      simulator.after(fault.atUs - simulator.nowUs, `fault ${fault.number}`, () => {
        if (this.#isOver) return;
        simulator.note(`fault ${fault.number}: ${JSON.stringify(fault.action)}`);
        this.#do(fault.action);
      });
    }
  }

  /** No fault any more, and everything that was broken is whole again. */
  heal(): void {
    const { node, network } = this.#parts;
    this.#isOver = true;
    network.heal();
    node.disk.arm(undefined);
    node.store.failAfter(undefined);
    node.limitDisk(undefined);
    this.#slow(1);
    if (node.disk.isDamaged || node.store.isDamaged) this.#repair();
  }

  #do(action: FaultAction): void {
    const { node, network } = this.#parts;
    switch (action.kind) {
      case 'crash':
        return node.crash(action.ending);
      case 'cut':
        node.endsWith(action.ending);
        return node.disk.arm(action.armed);
      case 'disk-error':
        return node.disk.arm(action.armed);
      case 'store-error':
        return node.store.failAfter(action.afterWrites);
      case 'full':
        node.limitDisk(action.freeBytes);
        return this.#later(action.durationUs, 'room again', () => node.limitDisk(undefined));
      case 'slow':
        this.#slow(action.times);
        return this.#later(action.durationUs, 'fast again', () => this.#slow(1));
      case 'pause':
        return this.#pause(action.thread, action.durationUs);
      case 'clock':
        return node.clock.step(action.byMs);
      case 'network':
        network.conditions = action.conditions;
        return this.#later(action.durationUs, 'calm again', () => {
          network.conditions = CALM;
        });
      case 'one-way':
        for (const client of this.#parts.clients) {
          network.close(action.isAnswers ? node.name : client, action.isAnswers ? client : node.name);
        }
        return this.#later(action.durationUs, 'open again', () => network.heal());
      case 'drain':
        return node.drain();
      case 'rot':
        return this.#rot(action);
    }
  }

  #pause(thread: 'front' | 'core' | 'log' | 'all', durationUs: number): void {
    const process = this.#parts.node.running;
    if (process === undefined) return;
    const threads = thread === 'all' ? [process.front, process.core, process.log] : [process[thread]];
    for (const isolate of threads) isolate.pause(durationUs);
  }

  #slow(times: number): void {
    const { node } = this.#parts;
    node.disk.slowness = times;
    node.store.slowness = times;
  }

  #rot({ where, ending, durationUs }: Extract<FaultAction, { readonly kind: 'rot' }>): void {
    const { node, simulator, onBug } = this.#parts;
    if (where === 'misdirected') node.disk.arm({ mishap: 'misdirect', kinds: ['write'], after: 0 });
    else if (where === 'lost') this.#lose(simulator.nowUs + durationUs);
    else if (where === 'store') node.store.flip().then((place) => simulator.note(`spoiled: ${place}`), onBug);
    else simulator.note(`spoiled: ${node.disk.flip(where === 'log' ? '.wal' : 'guard')}`);
    if (ending !== undefined && where !== 'lost') this.#later(20_000, 'after rot', () => node.crash(ending));
    this.#later(durationUs, 'repair', () => this.#repair());
  }

  /** A write of the log is lost. The power goes soon afterwards: behind a later batch a gap would show by itself. */
  #lose(untilUs: number): void {
    const { node, simulator } = this.#parts;
    node.disk.arm({ mishap: 'lose', kinds: ['write'], path: '.wal', after: 0 });
    const look = (): void => {
      if (node.disk.takeLost()) {
        simulator.note('a write was lost');
        // The store loses what it knew of that write, so that only the log itself can tell.
        node.crash({ kind: 'power', share: 0 });
      } else if (simulator.nowUs < untilUs) this.#later(1000, 'look for lost', look);
    };
    look();
  }

  /** The operator stops the node, restores its files, and starts it. */
  #repair(): void {
    const { node, simulator } = this.#parts;
    simulator.note('the disk is restored from a backup');
    node.hold();
    node.disk.restore();
    node.store.restore();
    node.release();
  }

  #later(delayUs: number, label: string, work: () => void): void {
    this.#parts.simulator.after(delayUs, label, () => {
      if (!this.#isOver) work();
    });
  }
}
