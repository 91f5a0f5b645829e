// Decides whether a history of operations on a small object is linearizable: whether there is an order that respects
// real time and explains every result. It is the search of Wing and Gong, with Lowe's cache of visited configurations.
//
// Operations without a return may take effect at any time after their call, or never. They cause most of the work, so:
//
//   - one without an effect in the current state is skipped, because it can take effect later or never;
//   - among those with the same effect, the earliest is taken first, because it can replace any other;
//   - a configuration is skipped if an earlier one differs only by having more of them left.
//
// A fitting read is taken at once: any order that has it elsewhere is also valid with the read here.

export interface Step<State> {
  /** Name in a fault. */
  readonly name: () => string;
  readonly invokedUs: number;
  /** Infinite when the operation never returned. */
  readonly returnedUs: number;
  /** The state afterwards, or undefined when the operation is impossible in this state. */
  readonly apply: (state: State) => State | undefined;
  /** True when the operation does not change the state, except for deciding what it left open. */
  readonly isRead?: boolean;
  /** Equal for steps with the same `apply`. */
  readonly effect?: string;
}

export type Verdict = 'linearizable' | 'undecided' | { readonly stuckAt: string };

const SITUATIONS_MAX = 200_000;

export function linearize<State extends string>(steps: readonly Step<State>[], initial: State): Verdict {
  return new Search(steps, initial).verdict();
}

/** Steps with the same effect that never returned, in order of their calls. */
interface Lost<State> {
  readonly apply: Step<State>['apply'];
  readonly invokedUs: readonly number[];
}

/** A position between two steps. */
interface Frame<State> {
  readonly state: State;
  /** Index of the first pending returned step; all before it are done. */
  readonly first: number;
  /** Number of taken lost steps of each kind. */
  readonly used: readonly number[];
  /** The returned step that led here. */
  readonly taken: number | undefined;
  /** Position in the returned steps, followed by the kinds of lost steps, at which the search continues. */
  place: number;
}

type Next<State> = Pick<Frame<State>, 'state' | 'used' | 'taken'>;

class Search<State extends string> {
  readonly #returned: readonly Step<State>[];
  readonly #lost: readonly Lost<State>[];
  readonly #isDone: Uint8Array;
  /** Used numbers of lost steps of each visit, by the done steps and the state. */
  readonly #seen = new Map<string, (readonly number[])[]>();
  readonly #stack: Frame<State>[];
  #situations = 0;
  #furthest = 0;

  constructor(steps: readonly Step<State>[], initial: State) {
    const ordered = steps.toSorted((a, b) => a.invokedUs - b.invokedUs);
    this.#returned = ordered.filter(({ returnedUs }) => returnedUs !== Number.POSITIVE_INFINITY);
    this.#lost = lostOf(ordered);
    this.#isDone = new Uint8Array(this.#returned.length);
    this.#stack = [{ state: initial, first: 0, used: this.#lost.map(() => 0), taken: undefined, place: 0 }];
  }

  verdict(): Verdict {
    for (let frame = this.#stack.at(-1); frame !== undefined; frame = this.#stack.at(-1)) {
      if (frame.first === this.#returned.length) return 'linearizable';
      if (this.#situations > SITUATIONS_MAX) return 'undecided';
      const next = this.#next(frame);
      if (next === undefined) this.#goBack();
      else this.#goOn(frame, next);
    }
    return { stuckAt: this.#returned[this.#furthest]?.name() ?? 'the beginning' };
  }

  #goBack(): void {
    const taken = this.#stack.pop()?.taken;
    if (taken !== undefined) this.#isDone[taken] = 0;
  }

  #goOn({ first: before }: Frame<State>, { state, used, taken }: Next<State>): void {
    if (taken !== undefined) this.#isDone[taken] = 1;
    let first = before;
    while (this.#isDone[first] === 1) first += 1;
    if (this.#isNew(first, state, used)) {
      this.#furthest = Math.max(this.#furthest, first);
      this.#stack.push({ state, first, used, taken, place: first });
    } else if (taken !== undefined) this.#isDone[taken] = 0;
  }

  #isNew(first: number, state: State, used: readonly number[]): boolean {
    let last = this.#isDone.length - 1;
    while (last >= first && this.#isDone[last] === 0) last -= 1;
    const situation = `${first} ${this.#isDone.subarray(first, last + 1).join('')} ${state}`;
    const known = this.#seen.get(situation);
    if (known?.some((each) => each.every((count, kind) => count <= (used[kind] ?? 0))) === true) return false;
    if (known === undefined) this.#seen.set(situation, [used]);
    else known.push(used);
    this.#situations += 1;
    return true;
  }

  /** The next possible step that fits the state, starting at the frame's position. */
  #next(frame: Frame<State>): Next<State> | undefined {
    const limitUs = this.#earliestReturn(frame.first);
    const count = this.#returned.length;
    if (frame.place === frame.first) {
      const read = this.#readThatFits(frame, limitUs);
      if (read !== undefined) {
        frame.place = Number.POSITIVE_INFINITY;
        return { state: frame.state, used: frame.used, taken: read };
      }
    }
    for (; frame.place < count; frame.place++) {
      const step = this.#returned[frame.place];
      if (step === undefined || step.invokedUs > limitUs) break;
      const state = this.#isDone[frame.place] === 1 ? undefined : step.apply(frame.state);
      if (state === undefined) continue;
      const taken = frame.place;
      frame.place += 1;
      return { state, used: frame.used, taken };
    }
    if (frame.place < count) frame.place = count;
    while (frame.place < count + this.#lost.length) {
      const next = this.#nextLost(frame, frame.place - count, limitUs);
      frame.place += 1;
      if (next !== undefined) return next;
    }
    return undefined;
  }

  #readThatFits({ state, first }: Frame<State>, limitUs: number): number | undefined {
    for (let place = first; place < this.#returned.length; place++) {
      const step = this.#returned[place];
      if (step === undefined || step.invokedUs > limitUs) return undefined;
      if (step.isRead === true && this.#isDone[place] === 0 && step.apply(state) === state) return place;
    }
    return undefined;
  }

  #nextLost({ state, used }: Frame<State>, kind: number, limitUs: number): Next<State> | undefined {
    const lost = this.#lost[kind];
    const invokedUs = lost?.invokedUs[used[kind] ?? 0];
    if (lost === undefined || invokedUs === undefined || invokedUs > limitUs) return undefined;
    const after = lost.apply(state);
    if (after === undefined || after === state) return undefined;
    return { state: after, used: used.with(kind, (used[kind] ?? 0) + 1), taken: undefined };
  }

  /** Operations that were invoked after this time cannot precede the pending ones. */
  #earliestReturn(first: number): number {
    let limitUs = Number.POSITIVE_INFINITY;
    for (let place = first; place < this.#returned.length; place += 1) {
      const step = this.#returned[place];
      if (step === undefined || step.invokedUs > limitUs) break;
      if (this.#isDone[place] === 0) limitUs = Math.min(limitUs, step.returnedUs);
    }
    return limitUs;
  }
}

function lostOf<State>(ordered: readonly Step<State>[]): readonly Lost<State>[] {
  const kinds = new Map<string, { readonly apply: Step<State>['apply']; readonly invokedUs: number[] }>();
  for (const [place, { effect, apply, invokedUs, returnedUs }] of ordered.entries()) {
    if (returnedUs !== Number.POSITIVE_INFINITY) continue;
    // A step without an `effect` is a kind of its own.
    const key = effect ?? `step ${place}`;
    const kind = kinds.get(key) ?? { apply, invokedUs: [] };
    kind.invokedUs.push(invokedUs);
    kinds.set(key, kind);
  }
  return [...kinds.values()];
}
