/**
 * Builds against one another, each from the checkout that it is built in, and each time on a node of its own: what one
 * measurement has left behind does not count in the next one.
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

/** Those that a command line names as old=../old; it is refused unless there is one. */
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
  /** Each has a node of its own in each round. */
  readonly variants: readonly Variant[];
  /** The name of the database that each node has. */
  readonly database: string;
}

export interface Turn<Variant extends string> {
  readonly round: number;
  readonly variant: Variant;
  /** Of the build. */
  readonly name: string;
  readonly node: CairnNode;
}

/** Measures round by round, variant by variant, and of each the builds in turn. */
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

/** What a process takes while something is done. */
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
