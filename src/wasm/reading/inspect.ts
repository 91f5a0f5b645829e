/**
 * The inspector: reads a component first, before it is known to be harmless to read. A pure function over bytes.
 *
 *   preamble -> digest -> every section, name and function (component-reader.ts) -> imports -> exports
 */
import { createHash } from 'node:crypto';
import { failure, type Result } from '#base';
import { type ComponentLimits, PAGE_BYTES } from '../limits.ts';
import { type ComponentKind, expectAllowedImports } from './allowed-imports.ts';
import { readComponent } from './component-reader.ts';
import type { Counts } from './component-types.ts';
import { type Refusal, type RefusalCode, refusable } from './refusal.ts';
import { type Binding, expectExports } from './required-exports.ts';
import { preambleOf } from './sections.ts';

export interface InspectOptions {
  readonly kind: ComponentKind;
  readonly limits: ComponentLimits;
  /** The function to bind in place of `evolve`, `decide` or `present`. */
  readonly functionName?: string;
}

export interface Inspected {
  /** SHA-256 of the original bytes, in hex: the identity of the component. */
  readonly digest: string;
  readonly binding: Binding;
  readonly growth: Growth;
}

/** Maximum growth of each memory and each table, so that all instances together keep the limits (G4). */
export interface Growth {
  readonly memoryPages: number;
  readonly tableElements: number;
}

export function inspect(bytes: Uint8Array, options: InspectOptions): Result<Inspected, Refusal> {
  const { kind, limits, functionName } = options;
  if (bytes.length > limits.componentBytesMax) {
    return refuse('TooLarge', `The component has ${bytes.length} bytes; the limit is ${limits.componentBytesMax}`);
  }
  const notOne = notAComponent(bytes);
  if (notOne !== undefined) return refuse('InvalidComponent', notOne);
  const digest = createHash('sha256').update(bytes).digest('hex');
  return refusable(() => {
    const component = readComponent(bytes, limits);
    expectAllowedImports(component, kind);
    const binding = expectExports(component, kind, functionName);
    return { digest, binding, growth: growthOf(component.counts, limits) };
  });
}

/** Explains what the bytes are instead of a component, as far as the first ones show. */
function notAComponent(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return 'The component has no bytes; send a WebAssembly component';
  const preamble = preambleOf(bytes);
  if (preamble === 'component') return undefined;
  if (preamble === 'module') return 'This is a core module; make a component of it, as by "wasm-tools component new"';
  const start = Array.from(bytes.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const hint = startsLikeText(bytes) ? '; text has to be parsed first, as by "wasm-tools parse"' : '';
  return `The bytes begin with ${start}; a component begins with 00 61 73 6d 0d 00 01 00${hint}`;
}

function startsLikeText(bytes: Uint8Array): boolean {
  return /^\s*(?:;;|\(;|\()/.test(Buffer.from(bytes.subarray(0, 64)).toString('latin1'));
}

function growthOf(counts: Counts, limits: ComponentLimits): Growth {
  const pages = Math.floor(limits.memoryBytesMax / PAGE_BYTES) - counts.memoryPages;
  const elements = limits.tableElementsMax - counts.tableElements;
  return {
    memoryPages: Math.floor(pages / Math.max(1, counts.memories)),
    tableElements: Math.floor(elements / Math.max(1, counts.tables)),
  };
}

function refuse(code: RefusalCode, message: string): Result<never, Refusal> {
  return failure({ code, message, offset: 0 });
}
