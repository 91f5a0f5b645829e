/**
 * WebAssembly features that are refused although engines have them, each with its reason. Guests of the toolchains that
 * were measured (Rust, AssemblyScript, StarlingMonkey, QuickJS) use none of them.
 *
 *   G2  An operator, type, section or flag that is not in our tables is refused, never skipped.
 */
import { Refused } from './refusal.ts';

const REASONS = {
  threads: 'instances share nothing, and what threads do is not the same twice',
  memory64: 'memories are bounded far below 4 GiB',
  'multi-memory': 'the bound of a memory holds for a module only while it has one',
  'custom page sizes': 'memories are bounded in pages of 64 KiB',
  'relaxed SIMD': 'its results differ from processor to processor',
  'garbage collection and typed references': 'an engine that runs out of collected memory ends the whole process',
  'exception handling': 'a guest could catch what the host throws to end it',
  'tables with an initializer': 'they come with typed references, which are refused',
  'asynchronous components': 'a guest runs until it has answered, without waiting',
  'values at the level of components': 'no toolchain writes them',
  'core types outside of core modules': 'a component carries its core modules and takes none',
  'core modules from elsewhere': 'a component carries its core modules, so that what they need can be counted',
  'components from elsewhere': 'a component carries its components, so that what they need can be counted',
  'names with a version beside them': 'a name says its version itself',
} as const;

export type RefusedFeature = keyof typeof REASONS;

export function unsupported(feature: RefusedFeature, offset: number): Refused {
  const message = `The component uses ${feature}, which is not supported: ${REASONS[feature]}; build it without`;
  return new Refused('UnsupportedFeature', offset, message);
}

/** Refuses a value that is in no table: it may be newer than this release, or invalid. */
export function unknown(what: string, value: number, offset: number): Refused {
  const shown = `0x${value.toString(16).padStart(2, '0')}`;
  const message = `The component has the ${what} ${shown}, which this release does not know; build it for WebAssembly 2.0`;
  return new Refused('UnsupportedFeature', offset, message);
}
