/**
 * Compiles components before they are used: those of active versions, and of later ones, which may become active. Then
 * the first use on a node takes as long as the next one, and operators see on which nodes a component is ready.
 *
 * It looks at the databases of this node at intervals, as keep-views.ts does, because a follower learns of a definition
 * from its log, which calls no listener here. One component is compiled at a time, in the process that publishes, and
 * kept in its file until it is used. Each is tried once: one that cannot be compiled is reported, and tried again by
 * the next process, or when it is used.
 */
import { DatabaseError } from '#base';
import type { Binding } from '#cluster';
import type { DefinedVersion } from '#model';
import { LATEST } from '../components/defined-version.ts';
import { componentOf, reasonOf } from '../components/loaded.ts';
import { openComponents } from '../components/open-components.ts';
import type { ServiceContext } from '../context.ts';
import { isFatal } from '../fatal.ts';
import { type KeepViewsListeners, turn } from './keep-views.ts';
import { isGone } from './maintained-views.ts';

/** Components that are remembered. With more they are looked for again, in their files. */
const KNOWN_MAX = 10_000;

export interface CompileAheadListeners extends KeepViewsListeners {
  /** A component does not run on this node. */
  readonly onRefused: (binding: Binding, version: DefinedVersion, fault: string) => void;
}

/** Begins; until it is disposed of. */
export function compileAhead(context: ServiceContext, listeners: CompileAheadListeners): Disposable {
  const ahead = new CompileAhead(context, listeners);
  ahead.begin();
  return ahead;
}

class CompileAhead implements Disposable {
  readonly #context: ServiceContext;
  readonly #listeners: CompileAheadListeners;
  /** Up to which definition every component was tried, by the replica that they were read from. */
  readonly #tried = new WeakMap<Binding, number>();
  /** Components that were tried, for databases that have the same. */
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

/** The versions that are active, and those after the last active one of their name. */
function usable(versions: readonly DefinedVersion[]): readonly DefinedVersion[] {
  const titleOf = ({ definition: { kind, name } }: DefinedVersion): string => `${kind}/${name}`;
  const lastActive = new Map(
    versions.filter(({ status }) => status.active).map((each) => [titleOf(each), each.version]),
  );
  return versions.filter((each) => each.status.active || each.version > (lastActive.get(titleOf(each)) ?? 0));
}

/** The next look finds it: others publish now, or the database or the version is gone. */
function isLater(failure: unknown): boolean {
  return isGone(failure) || (failure instanceof DatabaseError && failure.code === 'busy');
}
