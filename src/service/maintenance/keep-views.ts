/** Finds the State Views to maintain, for the maintenance. Databases with such views are polled first. */
import type { Binding } from '#cluster';
import { openComponents, type ServiceContext } from '../context.ts';
import { DatabasePoll, type PollListeners, turn } from './database-poll.ts';
import { isGone, MaintainedViews } from './maintained-views.ts';

/** Runs until it is disposed of. */
export function keepViews(context: ServiceContext, listeners: PollListeners): Disposable {
  const poll = new DatabasePoll(context, listeners);
  const views = new MaintainedViews(context, listeners.onFatal);
  /** Names of the databases with maintained views, by id. */
  const kept = new Map<string, string>();
  let nextKept = 0;
  return poll.begin({ first, look, isLater: isGone });

  async function first(): Promise<readonly Binding[]> {
    const { items, next } = turn([...kept], nextKept, context.limits.viewsPerPollMax);
    nextKept = next;
    const found: Binding[] = [];
    for (const [databaseId, name] of items) {
      const binding = context.node.catalog.lookup(name);
      if (binding?.databaseId === databaseId) found.push(binding);
      else await keepNone(databaseId);
    }
    return found;
  }

  async function look(binding: Binding): Promise<void> {
    const { databaseId } = binding;
    const maintained = await views.of(binding);
    if (maintained.length === 0) {
      await keepNone(databaseId);
      return;
    }
    const { maintenance } = await openComponents(context);
    if (poll.isStopped) return;
    maintenance.keep(databaseId, maintained);
    kept.set(databaseId, binding.name);
  }

  async function keepNone(databaseId: string): Promise<void> {
    if (!kept.delete(databaseId)) return;
    const { maintenance } = await openComponents(context);
    maintenance.keep(databaseId, []);
  }
}
