/**
 * Compares builds from several checkouts. Each measurement gets a new node, so that it does not depend on earlier ones.
 */
import { resolve } from 'node:path';
import { refuse } from '../../scripts/support/command-line.ts';
import type { Arena } from '../arena.ts';
import { type CairnNode, createDatabase } from '../peers/cairn.ts';
import { cpuSeconds, residentMemory } from './process-cpu.ts';

export interface Checkout {
  readonly name: string;
  readonly root: string;
}

const LOOK_MS = 50;

/** Parses contenders of a command line such as old=../old; at least one is required. */
export function readCheckouts(texts: readonly string[]): readonly Checkout[] {
  if (texts.length === 0) refuse('there is nothing to compare; name builds, such as old=../old new=.');
  return texts.map((text) => {
    const [name = '', root] = text.split('=');
    if (root === undefined) return refuse(`${text} is no contender; name one as old=../old`);
    return { name, root: resolve(root) };
  });
}

export interface Turns<Variant extends string> {
  readonly checkouts: readonly Checkout[];
  readonly rounds: number;
  /** Variants of the measurement; each gets a new node per build and round. */
  readonly variants: readonly Variant[];
  /** Name of the database to create on each node. */
  readonly database: string;
}

export interface Turn<Variant extends string> {
  readonly round: number;
  readonly variant: Variant;
  /** Name of the build. */
  readonly name: string;
  readonly node: CairnNode;
}

/** Measures round by round and variant by variant, alternating between the builds. */
export async function inTurn<Variant extends string>(
  arena: Arena,
  { checkouts, rounds, variants, database }: Turns<Variant>,
  measure: (turn: Turn<Variant>) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round++) {
    for (const variant of variants) {
      for (const { name, root } of checkouts) {
        const node = await arena.cairn(`${name}-${variant}-${round}`, { root, nodeOptions: [], env: {} });
        await createDatabase(node, database);
        await measure({ round, variant, name, node });
        await node.stop();
      }
    }
  }
}

export interface Cost<Result> {
  readonly result: Result;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

/** Measures the CPU time and peak memory of a process during the work. */
export async function costing<Result>(pid: number, work: () => Promise<Result>): Promise<Cost<Result>> {
  const before = cpuSeconds([pid]);
  let peakBytes = 0;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentMemory(pid).total);
  }, LOOK_MS);
  try {
    const result = await work();
    return { result, cpuSeconds: cpuSeconds([pid]) - before, peakBytes };
  } finally {
    clearInterval(looking);
  }
}
