import { formatInstant, instantFromMs, toRevision } from '#base';
import { revisionAtTimestamp } from '#query';
import type { ServiceContext } from './context.ts';
import { notYetCreated } from './errors.ts';
import { scopeOf } from './instance.ts';
import type { DatabaseAtTimestampRequest, DatabaseDescription } from './operations.ts';
import { openView } from './read-scope.ts';

/** The database at the latest revision that was recorded at the time or before; not_found before its creation. */
export async function databaseAtTimestamp(
  context: ServiceContext,
  request: DatabaseAtTimestampRequest,
): Promise<DatabaseDescription> {
  const { binding, revision } = await openView(context, request, 'latest');
  return context.reads.read(binding, () => {
    // At revision 0 there are no rows to look at yet.
    const source = context.reads.source(binding);
    const at = revisionAtTimestamp(source, revision, request.timestamp);
    if (at === undefined) {
      const created = formatInstant(instantFromMs(binding.createdAtMs));
      throw notYetCreated(scopeOf({ binding, revision }), formatInstant(request.timestamp), created);
    }
    return context.reads.describe(binding, toRevision(at));
  });
}
