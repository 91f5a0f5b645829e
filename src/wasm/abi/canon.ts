/**
 * A guest's memory as the host reads and writes it: every range that a guest names is checked before use.
 *
 *   G11 No pointer or length of a guest makes the host read or write outside of the guest's memory. Bytes are counted
 *       before they are copied, so a guest that returns one buffer four thousand times still keeps to its limit.
 */
import { NO_BYTES } from '#base';
import type { CoreFunction, CoreMemory, CoreValue } from '../engine.ts';
import { abiViolation, Faulted } from '../faults.ts';
import type { TextEncoding } from '../reading/component-types.ts';
import type { Handles } from './handles.ts';

/** Bytes that the host may still read from the guest for the current call. */
export interface Budget {
  left: number;
}

/** State of one component instance: closed while its allocator or its post-return function runs. */
export interface Gate {
  isOpen: boolean;
}

export interface CanonParts {
  readonly encoding: TextEncoding;
  readonly memory: CoreMemory | undefined;
  readonly realloc: CoreFunction | undefined;
  readonly handles: Handles;
  readonly budget: Budget;
  readonly gate: Gate;
}

const NO_VIEW = new DataView(NO_BYTES.buffer);

export class Canon {
  readonly encoding: TextEncoding;
  readonly handles: Handles;
  /** View of the memory at the last `refresh`. */
  bytes: Uint8Array = NO_BYTES;
  view: DataView = NO_VIEW;
  readonly #memory: CoreMemory | undefined;
  readonly #realloc: CoreFunction | undefined;
  readonly #budget: Budget;
  readonly #gate: Gate;

  constructor({ encoding, memory, realloc, handles, budget, gate }: CanonParts) {
    this.encoding = encoding;
    this.#memory = memory;
    this.#realloc = realloc;
    this.handles = handles;
    this.#budget = budget;
    this.#gate = gate;
  }

  /** Call it after the guest has run: growing memory replaces the buffer. */
  refresh(): void {
    const buffer = this.#memory?.buffer;
    if (buffer === undefined || buffer === this.bytes.buffer) return;
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
  }

  /** @throws Faulted unless `size` bytes are there, at a multiple of `align`. */
  expect(at: number, align: number, size: number): void {
    if (at % align !== 0) throw abiViolation(`The pointer ${at} is not a multiple of ${align}, as its type asks for`);
    if (at + size <= this.bytes.length) return;
    throw abiViolation(`The ${size} bytes at ${at} are not in the memory, which has ${this.bytes.length}`);
  }

  /** Allocates memory through the guest's allocator. */
  allocate(align: number, size: number): number {
    if (this.#realloc === undefined) throw abiViolation('A value needs memory, but the component names no allocator');
    this.#gate.isOpen = false;
    const given = this.#realloc(0, 0, align, size) ?? 0;
    this.#gate.isOpen = true;
    if (typeof given !== 'number') throw abiViolation('The allocator returned a number of 64 bits; a pointer has 32');
    this.refresh();
    const at = given >>> 0;
    this.expect(at, align, size);
    return at;
  }

  /** Calls a function that must not call imports. */
  shut(run: CoreFunction, values: readonly CoreValue[]): CoreValue | undefined {
    this.#gate.isOpen = false;
    const answer = run(...values);
    this.#gate.isOpen = true;
    return answer;
  }

  /** @throws Faulted when a guest calls an import while that is forbidden. */
  expectOpen(): void {
    if (!this.#gate.isOpen) throw abiViolation('The guest calls an import while it allocates or cleans up');
  }

  /** Counts bytes that are about to be copied out. */
  spend(bytes: number): void {
    this.#budget.left -= bytes;
    if (this.#budget.left < 0) throw new Faulted('OutputTooLarge', 'The guest returned more bytes than it may');
  }
}
