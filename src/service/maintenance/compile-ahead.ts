/**
 * Compiles components before they are used: those of active versions, and of later versions, which may become active.
 * The first use on a node is then as fast as others, and operators see on which nodes a component is ready.
 *
 * It compiles one component at a time, in the process that checks publications, and stores it in a file. Each component
 * is tried once: a failure is reported, and retried after a restart or when the component is used.
 */
import { DatabaseError } from '#base';
import type { Binding } from '#cluster';
import type { DefinedVersion } from '#model';
import { LATEST } from '../components/defined-version.ts';
import { componentOf, reasonOf } from '../components/loaded.ts';
import { openComponents, type ServiceContext } from '../context.ts';
import { DatabasePoll, type PollListeners } from './database-poll.ts';
import { isGone } from './maintained-views.ts';

/** Maximum number of remembered components; beyond it their files are checked again. */
const KNOWN_MAX = 10_000;

export interface CompileAheadListeners extends PollListeners {
  /** Called when this node cannot run a component. */
  readonly onRefused: (binding: Binding, version: DefinedVersion, fault: string) => void;
}

/** Runs until it is disposed of. */
export function compileAhead(context: ServiceContext, listeners: CompileAheadListeners): Disposable {
  const poll = new DatabasePoll(context, listeners);
  const { node, reads } = context;
  /** Per replica, the definition up to which every component was tried. */
  const tried = new WeakMap<Binding, number>();
  /** Components that were tried, because databases may share them. */
  const known = new Set<string>();
  return poll.begin({ look, isLater });

  async function look(binding: Binding): Promise<void> {
    if (node.absence(binding.group) !== undefined) return;
    const last = await reads.lastDefinition(binding);
    if (last === 0 || tried.get(binding) === last) return;
    const definitions = await reads.definitions(binding);
    for (const version of usable(definitions.list(LATEST))) {
      if (poll.isStopped) return;
      await prepare(binding, version);
    }
    tried.set(binding, last);
  }

  async function prepare(binding: Binding, version: DefinedVersion): Promise<void> {
    const component = componentOf(context, { view: { binding, revision: LATEST }, version });
    const key = JSON.stringify([component.kind, component.digest, component.functionName]);
    if (known.has(key)) return;
    const { artifacts } = await openComponents(context);
    const made = await artifacts.prepare(component);
    if (known.size >= KNOWN_MAX) known.clear();
    known.add(key);
    if (made.kind === 'ok' || poll.isStopped) return;
    const fault = reasonOf(made.reason);
    node.runs(version.component.digest, fault);
    listeners.onRefused(binding, version, fault);
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
