/** Reads of the versions of a component. */
import type { Binding } from '#cluster';
import type { ComponentTitle, DefinedVersion, VersionNumber } from '#model';
import { confirmedVersions, LATEST, titleVersions } from '../components/defined-version.ts';
import type { ServiceContext } from '../context.ts';
import { versionNotFound } from '../errors.ts';
import { scopeOf } from '../instance.ts';
import { openView } from '../read-scope.ts';
import type { FindVersionRequest, ListVersionsReply, ListVersionsRequest, VersionReply } from './operations.ts';

/**
 * One version, active or not.
 * @throws DatabaseError not_found: there is none
 */
export async function findVersion(context: ServiceContext, request: FindVersionRequest): Promise<VersionReply> {
  const view = await openView(context, request, 'latest');
  const { kind: component, name, version } = request;
  const isAsked = (each: { readonly version: number }): boolean => each.version === version;
  const versions = await confirmedVersions(context, view, { component, name, isThere: (all) => all.some(isAsked) });
  const found = versions.find(isAsked);
  if (found === undefined) throw versionNotFound(scopeOf(view), { component, name, version }, versions);
  return { ...scopeOf(view), version: found };
}

/** The versions that existed at a revision, in their current state: active or not, without deleted ones. */
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

/** The version in the local rows, which include at least the outcome. */
export async function versionReply(
  context: ServiceContext,
  binding: Binding,
  asked: ComponentTitle & { readonly version: VersionNumber },
): Promise<VersionReply> {
  const scope = scopeOf({ binding, revision: context.node.answered(binding.group) });
  const versions = await titleVersions(context, { binding, revision: LATEST }, asked);
  const version = versions.find((each: DefinedVersion) => each.version === asked.version);
  // A concurrent call has deleted it.
  if (version === undefined) throw versionNotFound(scope, asked, versions);
  return { ...scope, version };
}
