import { isDeepStrictEqual } from 'node:util';
import type { Evidence, Instance } from './evidence.ts';

/** Looks at what happened and says what must not have, one line for each fault. */
export type Check = (evidence: Evidence) => readonly string[];

export interface Judgement {
  /** What must not have happened, one line for each fault. */
  readonly faults: readonly string[];
  /** What could neither be found good nor be ruled out, one line each: of that nothing is proven. */
  readonly undecided: readonly string[];
}

export function forInstances(evidence: Evidence, look: (instance: Instance) => readonly string[]): readonly string[] {
  return [...evidence.instances.values()].flatMap((instance) =>
    look(instance).map((fault) => `${instance.final?.name ?? 'deleted'} ${instance.databaseId}: ${fault}`),
  );
}

export function isSame(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(left, right);
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
