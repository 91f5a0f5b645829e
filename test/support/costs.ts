// Measures the time that a test file spends on starting nodes, building components and waiting. The profile at the end
// of a run sums it up (profile-reporter.ts). Overlapping spans of one kind count once; a wait for a starting node
// counts as both.
export const COSTS = ['starting nodes', 'building components', 'waiting'] as const;

export type Cost = (typeof COSTS)[number];

/** Milliseconds of each kind. */
export type Costs = Readonly<Record<Cost, number>>;

declare module 'vitest' {
  interface TaskMeta {
    costs?: Costs;
  }
}

interface Spans {
  open: number;
  sinceMs: number;
  spentMs: number;
}

const unspent = (): Spans => ({ open: 0, sinceMs: 0, spentMs: 0 });

const spans: Readonly<Record<Cost, Spans>> = {
  'starting nodes': unspent(),
  'building components': unspent(),
  waiting: unspent(),
};

/** Runs the work and measures the time until it settles. */
export async function spending<T>(cost: Cost, work: () => Promise<T>): Promise<T> {
  const span = spans[cost];
  if (span.open === 0) span.sinceMs = performance.now();
  span.open += 1;
  try {
    return await work();
  } finally {
    span.open -= 1;
    if (span.open === 0) span.spentMs += performance.now() - span.sinceMs;
  }
}

/** Time spent since the previous call. */
export function takeCosts(): Costs {
  return {
    'starting nodes': take('starting nodes'),
    'building components': take('building components'),
    waiting: take('waiting'),
  };
}

function take(cost: Cost): number {
  const span = spans[cost];
  const { spentMs } = span;
  span.spentMs = 0;
  return spentMs;
}
