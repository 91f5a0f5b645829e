/**
 * A running component: compiled once, instantiated at its first call, and again after a fault.
 *
 *   G16 An instance is not used again after a call that ended in a fault.
 */
import type { Callable } from '../abi/abi-types.ts';
import type { Budget } from '../abi/canon.ts';
import { fitted } from '../abi/fitting.ts';
import type { Value, ValueList } from '../abi/values.ts';
import {
  type CoreCode,
  type CoreExports,
  type CoreGlobal,
  type CoreMemory,
  compile,
  isCoreGlobal,
  isCoreMemory,
  isLinkError,
  isTrap,
} from '../engine.ts';
import { type Fault, Faulted } from '../faults.ts';
import { FUEL_EXPORT, INITIAL_FUEL } from '../limiting/meter.ts';
import { type ComponentLimits, PAGE_BYTES } from '../limits.ts';
import type { Span } from '../reading/binary-reader.ts';
import { readKnownComponent } from '../reading/component-reader.ts';
import type { Component, FunctionType } from '../reading/component-types.ts';
import { Refused } from '../reading/refusal.ts';
import type { ExportedFunction } from '../reading/required-exports.ts';
import type { Artifact } from './artifact.ts';
import { type CallLimits, type Limited, NOTHING_SPENT, type Spent } from './calls.ts';
import { type Linked, link } from './linker.ts';
import { NullWasi, WASI_PREFIX } from './null-wasi.ts';

/** Answers a call of one of our imports. Synchronous, because the guest waits. */
export type AskHost = (interfaceName: string, functionName: string, values: ValueList) => Value;

export type Outcome =
  | { readonly kind: 'value'; readonly spent: Spent; readonly value: Value }
  | { readonly kind: 'fault'; readonly spent: Spent; readonly fault: Fault };

/** Calls a function of the guest, once. */
export type Invoke = (exported: ExportedFunction, values: ValueList) => Value;

/** Publishing has checked the component under its limits, which are not known here. */
const UNLIMITED: ComponentLimits = {
  componentBytesMax: Infinity,
  memoryBytesMax: Infinity,
  tableElementsMax: Infinity,
};

export class Program {
  readonly artifact: Artifact;
  readonly component: Component;
  readonly #codes: Map<number, CoreCode> = new Map();
  readonly #ask: AskHost;
  readonly #keptBytesMax: number;
  #guest: Guest | undefined;

  /** An instance with more memory than `keptBytesMax` is not kept for the next call. */
  constructor(artifact: Artifact, ask: AskHost, keptBytesMax: number) {
    this.artifact = artifact;
    this.component = readKnownComponent(artifact.component, UNLIMITED);
    this.#ask = ask;
    this.#keptBytesMax = keptBytesMax;
  }

  /** Compiles every core module that is not compiled yet. */
  compile(): void {
    const compileAll = ({ steps }: Component): void => {
      for (const step of steps) {
        if (step.kind === 'core module') this.#code(step.span);
        else if (step.kind === 'component') compileAll(step.component);
      }
    };
    compileAll(this.component);
  }

  /** Type of the function that the host calls for each event, command or request. */
  get mainType(): FunctionType | undefined {
    return typeOf(this.component, this.artifact.binding.main);
  }

  run(limited: Limited, work: (invoke: Invoke) => Value, isFresh: boolean = false): Outcome {
    if (isFresh) this.#guest = undefined;
    let outcome: Outcome;
    try {
      this.#guest ??= this.#instantiate();
      outcome = this.#guest.run(limited, work);
    } catch (error) {
      outcome = { kind: 'fault', spent: NOTHING_SPENT, fault: faultOf(error, false) };
    }
    if (outcome.kind === 'fault' || outcome.spent.memoryBytes > this.#keptBytesMax) this.#guest = undefined;
    return outcome;
  }

  #instantiate(): Guest {
    this.compile();
    const isFitted = this.artifact.binding.shape === 'sdk';
    return new Guest(this.component, { code: (span) => this.#code(span), ask: this.#ask, isFitted });
  }

  #code({ from, to }: Span): CoreCode {
    const found = this.#codes.get(from);
    if (found !== undefined) return found;
    const made = compile(this.artifact.component.subarray(from, to));
    this.#codes.set(from, made);
    return made;
  }
}

interface GuestOptions {
  readonly code: (span: Span) => CoreCode;
  readonly ask: AskHost;
  /** True: host values are fitted to the guest's types first. */
  readonly isFitted: boolean;
}

/** One instance. */
class Guest {
  readonly #wasi: NullWasi = new NullWasi();
  readonly #component: Component;
  readonly #isFitted: boolean;
  readonly #ask: AskHost;
  readonly #budget: Budget = { left: 0 };
  readonly #linked: Linked;
  readonly #counters: readonly CoreGlobal[];
  readonly #memories: readonly CoreMemory[];
  #limits: CallLimits = { fuel: 0, outputBytesMax: 0, hostCallsMax: 0 };
  #hostCalls = 0;

  constructor(component: Component, { code, ask, isFitted }: GuestOptions) {
    this.#component = component;
    this.#isFitted = isFitted;
    this.#ask = ask;
    try {
      this.#linked = link(component, {
        code,
        host: (interfaceName, functionName, type) => this.#host(interfaceName, functionName, type),
        budget: this.#budget,
      });
    } catch (error) {
      throw notInstantiable(error);
    }
    const items = this.#linked.cores.flatMap((exports) => Object.values(exports));
    this.#counters = this.#linked.cores.flatMap((exports) => counterOf(exports));
    this.#memories = [...new Set(items.filter((item) => isCoreMemory(item)))];
  }

  run({ limits, wasi }: Limited, work: (invoke: Invoke) => Value): Outcome {
    this.#limits = limits;
    this.#hostCalls = 0;
    this.#wasi.begin(wasi);
    for (const counter of this.#counters) counter.value = BigInt(limits.fuel);
    try {
      const value = work((exported, values) => this.#invoke(exported, values));
      return { kind: 'value', spent: this.#spent(), value };
    } catch (error) {
      const isEmpty = this.#counters.some(({ value }) => value < 0n);
      const [spent, fault] = [this.#spent(), faultOf(error, isEmpty)];
      return { kind: 'fault', spent, fault: fault.code === 'Trap' ? this.#trapped(fault) : fault };
    }
  }

  #invoke(exported: ExportedFunction, values: ValueList): Value {
    this.#budget.left = this.#limits.outputBytesMax;
    const call = this.#exported(exported);
    const type = this.#isFitted ? typeOf(this.#component, exported) : undefined;
    return call(type?.parameters.map((parameter, index) => fitted(parameter.type, values[index])) ?? values);
  }

  #exported({ name, interface: interfaceName }: ExportedFunction): Callable {
    const { exports } = this.#linked;
    const holder = interfaceName === undefined ? undefined : exports.get(interfaceName);
    const found = holder?.sort === 'instance' ? holder.exports.get(name) : exports.get(name);
    if (found?.sort === 'function') return found.call;
    throw new Faulted('NotInstantiable', `The component does not export the function ${name}`);
  }

  #host(interfaceName: string, functionName: string, { result }: FunctionType): Callable {
    if (interfaceName.startsWith(WASI_PREFIX)) return this.#wasi.functionOf(interfaceName, functionName);
    return (values) => {
      this.#hostCalls++;
      if (this.#hostCalls > this.#limits.hostCallsMax) {
        throw new Faulted('HostCallLimit', `The guest calls the host more than ${this.#limits.hostCallsMax} times`);
      }
      const answer = this.#ask(interfaceName, functionName, values);
      return this.#isFitted && result !== undefined ? fitted(result, answer) : answer;
    };
  }

  /** Adds the memory size to a trap: an allocator that runs out of memory traps without a message. */
  #trapped({ code, message }: Fault): Fault {
    const full = this.#memories.find((memory) => isNearlyFull(memory));
    if (full === undefined) return { code, message };
    const { byteLength } = full.buffer;
    const rest = `which may not have ${NEARLY_BYTES} more (--guest-memory-bytes)`;
    return { code, message: `${message}; its memory has ${byteLength} bytes, ${rest}` };
  }

  #spent(): Spent {
    const fuel = this.#counters.reduce((sum, { value }) => sum + this.#limits.fuel - Number(value), 0);
    const memoryBytes = this.#memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    return { fuel, memoryBytes, hostCalls: this.#hostCalls };
  }
}

/** An allocation size that counts as running out of memory when it fails; smaller memories are never full. */
const NEARLY_BYTES = 8 * 2 ** 20;

function isNearlyFull(memory: CoreMemory): boolean {
  if (memory.buffer.byteLength < NEARLY_BYTES) return false;
  try {
    memory.grow(NEARLY_BYTES / PAGE_BYTES);
    return false;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

function typeOf(
  { exports }: Component,
  { name, interface: interfaceName }: ExportedFunction,
): FunctionType | undefined {
  const holder = interfaceName === undefined ? undefined : exports.get(interfaceName);
  const found = holder?.sort === 'instance' ? holder.offers.get(name) : exports.get(name);
  return found?.sort === 'function' ? found.type : undefined;
}

function counterOf(exports: CoreExports): readonly CoreGlobal[] {
  const counter = Object.hasOwn(exports, FUEL_EXPORT) ? exports[FUEL_EXPORT] : undefined;
  return isCoreGlobal(counter) ? [counter] : [];
}

/** A start function also traps when it needs more fuel than there is before the host sets the counter. */
function notInstantiable(error: unknown): Faulted {
  const { message } = faultOf(error, false);
  const hint = isTrap(error) ? `, or takes more than ${INITIAL_FUEL} units of fuel to start` : '';
  return new Faulted('NotInstantiable', `The component does not start: ${message}${hint}`);
}

/** Maps an exception that left a guest to a fault. @throws when it is a bug of the host. */
function faultOf(error: unknown, isFuelSpent: boolean): Fault {
  if (error instanceof Faulted) return error.fault;
  if (isFuelSpent && (isTrap(error) || error instanceof RangeError)) {
    return { code: 'FuelExhausted', message: 'The guest has spent the fuel of the call' };
  }
  if (isTrap(error)) return { code: 'Trap', message: `The guest ends by a trap: ${error.message}` };
  if (isLinkError(error)) return { code: 'NotInstantiable', message: `The core modules do not fit: ${error.message}` };
  if (error instanceof Refused) return { code: 'NotInstantiable', message: error.message };
  if (error instanceof RangeError) {
    if (/call stack/.test(error.message)) {
      return { code: 'StackOverflow', message: 'The calls inside the guest are deeper than its stack allows' };
    }
    return { code: 'MemoryLimit', message: `The guest could not get memory: ${error.message}` };
  }
  if (error instanceof TypeError) {
    return {
      code: 'AbiViolation',
      message: `A core function has another type than the component says: ${error.message}`,
    };
  }
  throw error;
}
