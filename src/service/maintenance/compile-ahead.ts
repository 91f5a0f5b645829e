/**
 * Compiles components before they are used: those of active versions, and of later versions, which may become active.
 * The first use on a node is then as fast as others, and operators see on which nodes a component is ready.
 *
 * It polls the databases of this node like keep-views.ts, because a follower learns of a definition from its log, which
 * calls no listener here. It compiles one component at a time, in the process that checks publications, and stores it
 * in a file. Each component is tried once: a failure is reported, and retried after a restart or when the component is
 * used.
 */
import { DatabaseError } from '#base';
import type { Binding } from '#cluster';
import type { DefinedVersion } from '#model';
import { LATEST } from '../components/defined-version.ts';
import { componentOf, reasonOf } from '../components/loaded.ts';
import { openComponents, type ServiceContext } from '../context.ts';
import { isFatal } from '../fatal.ts';
import { type KeepViewsListeners, turn } from './keep-views.ts';
import { isGone } from './maintained-views.ts';

/** Maximum number of remembered components; beyond it their files are checked again. */
const KNOWN_MAX = 10_000;

export interface CompileAheadListeners extends KeepViewsListeners {
  /** Called when this node cannot run a component. */
  readonly onRefused: (binding: Binding, version: DefinedVersion, fault: string) => void;
}

/** Runs until it is disposed. */
export function compileAhead(context: ServiceContext, listeners: CompileAheadListeners): Disposable {
  const ahead = new CompileAhead(context, listeners);
  ahead.begin();
  return ahead;
}

class CompileAhead implements Disposable {
  readonly #context: ServiceContext;
  readonly #listeners: CompileAheadListeners;
  /** Per replica, the definition up to which every component was tried. */
  readonly #tried = new WeakMap<Binding, number>();
  /** Components that were tried, because databases may share them. */
  readonly #known = new Set<string>();
  readonly #failing = new WeakSet<Binding>();
  #next = 0;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(context: ServiceContext, listeners: CompileAheadListeners) {
    this.#context = context;
    this.#listeners = listeners;
  }

  begin(): void {
    this.#stopTimer = this.#context.timers.after(this.#context.limits.viewLookMs, () => void this.#round());
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  async #round(): Promise<void> {
    const { node, limits } = this.#context;
    const { items, next } = turn(node.catalog.list(), this.#next, limits.viewLooksMax);
    this.#next = next;
    for (const binding of items) if (!this.#isStopped) await this.#look(binding);
    if (!this.#isStopped) this.begin();
  }

  async #look(binding: Binding): Promise<void> {
    try {
      await this.#compile(binding);
      this.#failing.delete(binding);
    } catch (failure) {
      if (isFatal(failure)) this.#listeners.onFatal(failure);
      else if (!this.#isStopped && !isLater(failure)) this.#failed(binding, failure);
    }
  }

  async #compile(binding: Binding): Promise<void> {
    const { node, reads } = this.#context;
    if (node.absence(binding.group) !== undefined) return;
    const last = await reads.lastDefinition(binding);
    if (last === 0 || this.#tried.get(binding) === last) return;
    const definitions = await reads.definitions(binding);
    for (const version of usable(definitions.list(LATEST))) {
      if (this.#isStopped) return;
      await this.#prepare(binding, version);
    }
    this.#tried.set(binding, last);
  }

  async #prepare(binding: Binding, version: DefinedVersion): Promise<void> {
    const component = componentOf(this.#context, { view: { binding, revision: LATEST }, version });
    const key = JSON.stringify([component.kind, component.digest, component.functionName]);
    if (this.#known.has(key)) return;
    const { artifacts } = await openComponents(this.#context);
    const made = await artifacts.prepare(component);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.add(key);
    if (made.kind === 'ok' || this.#isStopped) return;
    const fault = reasonOf(made.reason);
    this.#context.node.runs(version.component.digest, fault);
    this.#listeners.onRefused(binding, version, fault);
  }

  #failed(binding: Binding, failure: unknown): void {
    if (!this.#failing.has(binding)) this.#listeners.onFailure(binding, failure);
    this.#failing.add(binding);
  }
}

/** The active versions, and those after the last active version of their name. */
function usable(versions: readonly DefinedVersion[]): readonly DefinedVersion[] {
  const titleOf = ({ definition: { kind, name } }: DefinedVersion): string => `${kind}/${name}`;
  const lastActive = new Map(
    versions.filter(({ status }) => status.active).map((each) => [titleOf(each), each.version]),
  );
  return versions.filter((each) => each.status.active || each.version > (lastActive.get(titleOf(each)) ?? 0));
}

/** Returns whether to retry at the next poll: the process is busy, or the database or the version is gone. */
function isLater(failure: unknown): boolean {
  return isGone(failure) || (failure instanceof DatabaseError && failure.code === 'busy');
}
