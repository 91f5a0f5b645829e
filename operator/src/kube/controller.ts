/**
 * A controller reconciles objects one at a time: it observes, plans, acts and reports the status.
 *
 * ```
 *   change of an object ──> queue ──> observe ──> plan (pure) ──> act ... ──> report the status
 *                             ^                                                    │
 *                             └──── after a failure, an action, or recheckMs ──────┘
 * ```
 *
 * Invariants:
 *   KM20  At most one irreversible action is executed between two observations. Nothing is written without `mayAct`.
 *   KM21  A pass with an empty plan only reports. Its object is observed again within recheckMs.
 */
import { createHash } from 'node:crypto';
import { asError } from './api-error.ts';
import type { Informer } from './informer.ts';
import { type KubeObject, keyOf } from './objects.ts';
import { KeyedQueue, type QueueOptions } from './queue.ts';

export interface Outcome<Action> {
  readonly plan: readonly Action[];
  readonly done: number;
  readonly failure?: Error;
}

export interface Controller<Observed, Action> {
  readonly name: string;
  /** Returns everything that the plan depends on; undefined when the object is gone. */
  observe(key: string, signal: AbortSignal): Promise<Observed | undefined>;
  /** Pure. Returns the remaining actions in order; none when the world is converged. */
  plan(observed: Observed): readonly Action[];
  /** Executes one action. It is idempotent, or guarded by preconditions such as a uid. */
  act(action: Action, signal: AbortSignal): Promise<void>;
  /** Returns true when an action waits and changes nothing; by default none does. */
  isWait?(action: Action): boolean;
  /** Returns true when the next action needs a new observation first. */
  isIrreversible(action: Action): boolean;
  /**
   * Writes the status if it differs (`applyStatus`), and events. With `again` the object is observed again after a time
   * that the controller knows, also when the pass fails.
   */
  report(observed: Observed, outcome: Outcome<Action>, again: (ms: number) => void): Promise<void>;
  /** Time within which a world with an empty plan is observed again; by default five minutes. */
  recheckMs?(observed: Observed): number;
}

/** Outcome of one reconcile, for metrics. */
export interface Pass {
  readonly controller: string;
  readonly key: string;
  /** Number of actions that were carried out, without waits. */
  readonly actions: number;
  readonly failure: Error | undefined;
}

export interface ControllerOptions extends QueueOptions {
  readonly mayAct: () => boolean;
  readonly onPass: (pass: Pass) => void;
}

/** Where a controller gets its keys from. */
export interface Source {
  readonly synced: Promise<void>;
  subscribe(add: (key: string) => void): () => void;
}

/** Wait after an action before the next pass, unless a message of a watch triggers it earlier. */
const AGAIN_MS = 1_000;
const RECHECK_MS = 300_000;

/** Time until the next check of a key. Each key has its own moment in a period, so keys are not checked together. */
export function untilCheck(key: string, periodMs: number, nowMs: number): number {
  const share = createHash('sha256').update(key).digest().readUInt32BE() / 2 ** 32;
  return periodMs - ((nowMs + share * periodMs) % periodMs);
}

/** The objects of an informer as a source: by default each has its own key, and every change counts. */
export function sourceOf<Item extends KubeObject>(
  informer: Informer<Item>,
  keysOf: (object: Item) => readonly string[] = (object) => [keyOf(object)],
  /** Part of an object whose changes count. */
  traitOf: (object: Item) => string = ({ metadata }) => metadata.resourceVersion,
): Source {
  return {
    synced: informer.synced,
    subscribe: (add) => {
      const tell = (object: Item): void => keysOf(object).forEach(add);
      const onSet = (object: Item, before: Item = object): void => {
        if (before === object || traitOf(before) !== traitOf(object)) [before, object].forEach(tell);
      };
      return informer.subscribe({ onSet, onDelete: tell });
    },
  };
}

/** The loop of a controller for one term of leadership. It cannot be restarted. */
export class ControllerLoop<Observed, Action> {
  readonly queue: KeyedQueue;
  readonly #controller: Controller<Observed, Action>;
  readonly #options: ControllerOptions;

  constructor(controller: Controller<Observed, Action>, options: ControllerOptions) {
    this.#controller = controller;
    this.#options = options;
    this.queue = new KeyedQueue((key, signal) => this.#pass(key, signal), options);
  }

  /** Runs from the sync of all sources until `signal` is aborted and the last pass has ended. */
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

  async #pass(key: string, signal: AbortSignal): Promise<void> {
    const { name: controller } = this.#controller;
    let outcome: Outcome<Action> | undefined;
    let failure: Error | undefined;
    try {
      outcome = await this.#reconcile(key, signal);
      failure = outcome?.failure;
    } catch (error) {
      failure = asError(error);
    }
    const done = outcome?.plan.slice(0, outcome.done) ?? [];
    const actions = done.filter((action) => this.#controller.isWait?.(action) !== true).length;
    this.#options.onPass({ controller, key, actions, failure });
    if (failure !== undefined) throw failure;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome<Action> | undefined> {
    const observed = await this.#controller.observe(key, signal);
    if (observed === undefined) return undefined;
    const plan = this.#controller.plan(observed);
    const outcome = await this.#carryOut(plan, signal);
    const again = (ms: number): void => this.queue.addAfter(key, ms);
    if (this.#options.mayAct()) await this.#controller.report(observed, outcome, again);
    const recheckMs = this.#controller.recheckMs?.(observed) ?? RECHECK_MS;
    const nowMs = this.#options.runtime.nowMs();
    if (outcome.failure === undefined) again(plan.length === 0 ? untilCheck(key, recheckMs, nowMs) : AGAIN_MS);
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
