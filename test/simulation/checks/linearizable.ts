/**
 * Whether a history of operations on one small object can be put into an order that real time allows and in which each
 * of them did what it says: the search of Wing and Gong, with Lowe's memory of the situations that led nowhere.
 *
 * An operation that never returned may come anywhere after its call, or never.
 */

export interface Step<State> {
  /** For whoever reads a fault. */
  readonly name: () => string;
  readonly invokedUs: number;
  /** Infinite when it never returned. */
  readonly returnedUs: number;
  /** The state after it, or undefined when it cannot have happened in this state. */
  readonly apply: (state: State) => State | undefined;
}

export type Verdict = 'linearizable' | 'undecided' | { readonly stuckAt: string };

const SITUATIONS_MAX = 200_000;

export function linearize<State extends string>(steps: readonly Step<State>[], initial: State): Verdict {
  const ordered = steps.toSorted((a, b) => a.invokedUs - b.invokedUs);
  const seen = new Set<string>();
  const isDone = new Uint8Array(ordered.length);
  let furthest = 0;
  /** The first operation that is not done: all before it are. */
  const stack: { readonly state: State; readonly first: number; place: number; readonly taken: number }[] = [
    { state: initial, first: 0, place: 0, taken: -1 },
  ];
  for (;;) {
    const frame = stack.at(-1);
    if (frame === undefined) return { stuckAt: ordered[furthest]?.name() ?? 'the beginning' };
    if (restIsOptional(ordered, isDone, frame.first)) return 'linearizable';
    const next = nextStep(ordered, isDone, frame);
    if (next === undefined) {
      stack.pop();
      if (frame.taken >= 0) isDone[frame.taken] = 0;
      continue;
    }
    isDone[next.place] = 1;
    let { first } = frame;
    while (isDone[first] === 1) first += 1;
    const situation = situationOf(isDone, first, next.state);
    if (seen.has(situation)) isDone[next.place] = 0;
    else {
      seen.add(situation);
      if (seen.size > SITUATIONS_MAX) return 'undecided';
      furthest = Math.max(furthest, first);
      stack.push({ state: next.state, first, place: first, taken: next.place });
    }
  }
}

/** The next operation that may come first now and fits the state; goes on where the frame has stopped. */
function nextStep<State>(
  ordered: readonly Step<State>[],
  isDone: Uint8Array,
  frame: { readonly state: State; readonly first: number; place: number },
): { readonly place: number; readonly state: State } | undefined {
  const limitUs = earliestReturn(ordered, isDone, frame.first);
  while (frame.place < ordered.length) {
    const { place } = frame;
    const step = ordered[place];
    if (step === undefined || step.invokedUs > limitUs) return undefined;
    frame.place += 1;
    const state = isDone[place] === 1 ? undefined : step.apply(frame.state);
    if (state !== undefined) return { place, state };
  }
  return undefined;
}

/** Whatever is invoked after this cannot come before the operation that returned then. */
function earliestReturn<State>(ordered: readonly Step<State>[], isDone: Uint8Array, first: number): number {
  let limitUs = Number.POSITIVE_INFINITY;
  for (let place = first; place < ordered.length; place += 1) {
    const step = ordered[place];
    if (step === undefined || step.invokedUs > limitUs) break;
    if (isDone[place] === 0) limitUs = Math.min(limitUs, step.returnedUs);
  }
  return limitUs;
}

function restIsOptional<State>(ordered: readonly Step<State>[], isDone: Uint8Array, first: number): boolean {
  for (let place = first; place < ordered.length; place += 1) {
    if (isDone[place] === 0 && ordered[place]?.returnedUs !== Number.POSITIVE_INFINITY) return false;
  }
  return true;
}

function situationOf(isDone: Uint8Array, first: number, state: string): string {
  let last = isDone.length - 1;
  while (last >= first && isDone[last] === 0) last -= 1;
  return `${first} ${isDone.subarray(first, last + 1).join('')} ${state}`;
}
