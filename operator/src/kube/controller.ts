/**
 * A controller makes the world as objects want it: it observes, plans, acts, and reports, one object at a time.
 *
 * ```
 *   change of an object ──> queue ──> observe ──> plan (pure) ──> act ... ──> report the status
 *                             ^                                                    │
 *                             └──── after a failure, an action, or recheckMs ──────┘
 * ```
 *
 * Invariants:
 *   KM20  At most one irreversible action is carried out between two observations. Without `mayAct` nothing is written.
 *   KM21  A pass whose plan is empty does nothing but report. Its object is looked at again after recheckMs.
 */
import { asError } from './api-error.ts';
import type { Informer } from './informer.ts';
import { type KubeObject, keyOf } from './objects.ts';
import { KeyedQueue, type QueueOptions } from './queue.ts';

/** What a pass came to. */
export interface Outcome<Action> {
  readonly plan: readonly Action[];
  /** How many actions of the plan were carried out. */
  readonly done: number;
  readonly failure?: Error;
}

export interface Controller<Observed, Action> {
  readonly name: string;
  /** Everything that the plan depends on; undefined when there is nothing to do any more. */
  observe(key: string, signal: AbortSignal): Promise<Observed | undefined>;
  /** Pure. What is still to be done, in this order; empty when the world is as it should be. */
  plan(observed: Observed): readonly Action[];
  /** Carries out one action: it may be repeated, or names what it presupposes, such as a uid. */
  act(action: Action, signal: AbortSignal): Promise<void>;
  /** What may only be done when everything before it was seen to be done. */
  isIrreversible(action: Action): boolean;
  /** Writes the status, when it differs (`applyStatus`), and events. */
  report(observed: Observed, outcome: Outcome<Action>): Promise<void>;
}

/** For metrics. */
export interface Pass {
  readonly controller: string;
  readonly key: string;
  readonly ms: number;
  readonly actions: number;
  readonly failure: Error | undefined;
}

export interface ControllerOptions extends Omit<QueueOptions, 'onError'> {
  /** Whether this process still leads. */
  readonly mayAct: () => boolean;
  readonly onPass: (pass: Pass) => void;
  readonly recheckMs?: number;
}

/** What tells a controller of keys. */
export interface Source {
  readonly synced: Promise<void>;
  /** The result ends it. */
  subscribe(add: (key: string) => void): () => void;
}

/** Between an action and the next look: a message of a watch usually comes first. */
const AGAIN_MS = 1_000;
const RECHECK_MS = 300_000;

/** The keys that an object of an informer matters for; its own, unless `keysOf` says otherwise. */
export function sourceOf<Item extends KubeObject>(
  informer: Informer<Item>,
  keysOf: (object: Item) => readonly string[] = (object) => [keyOf(object)],
): Source {
  return {
    synced: informer.synced,
    subscribe: (add) => {
      const tell = (object: Item | undefined): void => (object === undefined ? [] : keysOf(object)).forEach(add);
      const onSet = (object: Item, before?: Item): void => [before, object].forEach(tell);
      return informer.subscribe({ onSet, onDelete: tell });
    },
  };
}

/** For one term of leading: a loop that has ended does not begin again. */
export class ControllerLoop<Observed, Action> {
  readonly queue: KeyedQueue;
  readonly #controller: Controller<Observed, Action>;
  readonly #options: ControllerOptions;

  constructor(controller: Controller<Observed, Action>, options: ControllerOptions) {
    this.#controller = controller;
    this.#options = options;
    // `#pass` has told of the failure.
    this.queue = new KeyedQueue((key, signal) => this.#pass(key, signal), { ...options, onError: () => undefined });
  }

  /** Works until `signal` is aborted and the last pass has ended. It begins when every source is complete. */
  async run(sources: readonly Source[], signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve());
    if (signal.aborted) return;
    await Promise.race([aborted.promise, Promise.all(sources.map(({ synced }) => synced))]);
    const ends = sources.map((source) => source.subscribe((key) => this.queue.add(key)));
    await aborted.promise;
    for (const end of ends) end();
    await this.queue.close();
  }

  async #pass(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { runtime, onPass, recheckMs = RECHECK_MS } = this.#options;
    const { name: controller } = this.#controller;
    const startedMs = runtime.nowMs();
    let outcome: Outcome<Action> | undefined;
    let failure: Error | undefined;
    try {
      outcome = await this.#reconcile(key, signal);
      failure = outcome?.failure;
    } catch (error) {
      failure = asError(error);
    }
    onPass({ controller, key, ms: runtime.nowMs() - startedMs, actions: outcome?.done ?? 0, failure });
    if (failure !== undefined) throw failure;
    if (outcome === undefined) return undefined;
    return outcome.plan.length === 0 ? recheckMs : AGAIN_MS;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome<Action> | undefined> {
    const observed = await this.#controller.observe(key, signal);
    if (observed === undefined) return undefined;
    const plan = this.#controller.plan(observed);
    const outcome = await this.#carryOut(plan, signal);
    if (this.#options.mayAct()) await this.#controller.report(observed, outcome);
    return outcome;
  }

  async #carryOut(plan: readonly Action[], signal: AbortSignal): Promise<Outcome<Action>> {
    let done = 0;
    try {
      for (const action of plan) {
        if (signal.aborted || !this.#options.mayAct()) break;
        await this.#controller.act(action, signal);
        done += 1;
        if (this.#controller.isIrreversible(action)) break;
      }
    } catch (error) {
      return { plan, done, failure: asError(error) };
    }
    return { plan, done };
  }
}
