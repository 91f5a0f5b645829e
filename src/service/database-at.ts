import type { ServiceContext } from './context.ts';
import type { DatabaseAtRequest, DatabaseDescription } from './operations.ts';
import { openView } from './read-scope.ts';

/** The database at a revision, at its latest (read index), or at whatever this node has applied. */
export async function databaseAt(context: ServiceContext, request: DatabaseAtRequest): Promise<DatabaseDescription> {
  const { binding, revision } = await openView(context, request, request.at);
  return context.reads.read(binding, () => context.reads.describe(binding, revision));
}
