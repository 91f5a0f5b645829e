import { confirmedVersions } from '../components/defined-version.ts';
import type { ServiceContext } from '../context.ts';
import { versionNotFound } from '../errors.ts';
import { scopeOf } from '../instance.ts';
import { openView } from '../read-scope.ts';
import type { FindVersionRequest, VersionReply } from './operations.ts';

/**
 * One version that had been published at a revision, active or not.
 * @throws DatabaseError not_found: there is none
 */
export async function findVersion(context: ServiceContext, request: FindVersionRequest): Promise<VersionReply> {
  const view = await openView(context, request, request.at);
  const { kind: component, name, version } = request;
  const isAsked = (each: { readonly version: number }): boolean => each.version === version;
  const versions = await confirmedVersions(context, view, { component, name, isThere: (all) => all.some(isAsked) });
  const found = versions.find(isAsked);
  if (found === undefined) throw versionNotFound(scopeOf(view), { component, name, version }, versions);
  return { ...scopeOf(view), version: found };
}
