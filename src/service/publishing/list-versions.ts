import { titleVersions } from '../components/defined-version.ts';
import type { ServiceContext } from '../context.ts';
import { scopeOf } from '../instance.ts';
import { openView } from '../read-scope.ts';
import type { ListVersionsReply, ListVersionsRequest } from './operations.ts';

/** The versions that had been published at a revision, as they are now: active or not, and none that was deleted. */
export async function listVersions(context: ServiceContext, request: ListVersionsRequest): Promise<ListVersionsReply> {
  const view = await openView(context, request, request.at);
  const { kind, name } = request;
  const scope = scopeOf(view);
  if (kind !== undefined && name !== undefined) {
    return { ...scope, versions: await titleVersions(context, view, { component: kind, name }) };
  }
  const definitions = await context.reads.definitions(view.binding);
  const versions = definitions.list(view.revision, kind);
  const isAsked = name === undefined ? undefined : versions.filter((each) => each.definition.name === name);
  return { ...scope, versions: isAsked ?? versions };
}
