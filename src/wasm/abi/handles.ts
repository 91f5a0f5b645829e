/**
 * The handle table of one component instance: maps numbers to resources.
 *
 * Numbers count from 1 and are reused once dropped, as the component model says. A guest holds a bounded number of
 * handles.
 */
import { abiViolation, Faulted } from '../faults.ts';
import type { Handle } from './values.ts';

const HANDLES_MAX = 10_000;

interface Held {
  readonly handle: Handle;
  readonly isOwned: boolean;
}

export class Handles {
  readonly #entries: (Held | undefined)[] = [undefined];
  readonly #free: number[] = [];

  own(handle: Handle): number {
    return this.#add({ handle, isOwned: true });
  }

  lend(handle: Handle): number {
    return this.#add({ handle, isOwned: false });
  }

  get(index: number): Handle {
    return this.#held(index).handle;
  }

  /** Removes a handle to transfer it; it must be owned. */
  take(index: number): Handle {
    const { handle, isOwned } = this.drop(index);
    if (!isOwned) throw abiViolation(`The guest gives away the handle ${index}, which it only borrowed`);
    return handle;
  }

  drop(index: number): Held {
    const held = this.#held(index);
    this.#entries[index >>> 0] = undefined;
    this.#free.push(index >>> 0);
    return held;
  }

  #add(held: Held): number {
    const index = this.#free.pop() ?? this.#entries.length;
    if (index > HANDLES_MAX) throw new Faulted('MemoryLimit', `A guest holds ${HANDLES_MAX} handles, the limit`);
    this.#entries[index] = held;
    return index;
  }

  #held(index: number): Held {
    const held = this.#entries[index >>> 0];
    if (held === undefined) throw abiViolation(`The guest does not have the handle ${index >>> 0}`);
    return held;
  }
}
