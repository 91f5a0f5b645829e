/** The type of a check of a history, and helpers that checks share. */
import { isDeepStrictEqual } from 'node:util';
import type { Evidence, Instance } from './evidence.ts';

/** Checks a history, and returns a line for each fault. */
export type Check = (evidence: Evidence) => readonly string[];

export interface Judgement {
  /** Faults, one line each. */
  readonly faults: readonly string[];
  /** Facts that were neither confirmed nor refuted, one line each. */
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
