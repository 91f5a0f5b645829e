/** Changes published versions: activates, deactivates, deletes, and expires their stored folds. */
import type { Binding } from '#cluster';
import { isComponentName, isVersionNumber } from '#model';
import { type AskedVersion, LATEST, titleVersions } from '../components/defined-version.ts';
import type { ServiceContext } from '../context.ts';
import { versionActive, versionNotFound } from '../errors.ts';
import { scopeOf } from '../instance.ts';
import type { ReadScope } from '../operations.ts';
import { type Define, defining } from './define.ts';
import type {
  DefiningRequest,
  DeleteVersionsRequest,
  ExpireSnapshotsReply,
  ExpireSnapshotsRequest,
  SetVersionStatusRequest,
  VersionReply,
} from './operations.ts';
import { versionReply } from './version-reads.ts';

/** @throws DatabaseError not_found: there is no such version; any error of a write */
export function setVersionStatus(context: ServiceContext, request: SetVersionStatusRequest): Promise<VersionReply> {
  const { kind: component, name, version, status } = request;
  return changing(context, request, { component, name, version }, async (binding, define) => {
    if (!isComponentName(name) || typeof version !== 'number' || !isVersionNumber(version)) return undefined;
    const { kind } = await define({ kind: 'set-status', component, name, version, status });
    return kind === 'absent' ? undefined : versionReply(context, binding, { component, name, version });
  });
}

/** @throws DatabaseError not_found: there is none; constraint_violated: one is active; any error of a write */
export function deleteVersions(context: ServiceContext, request: DeleteVersionsRequest): Promise<ReadScope> {
  const { kind: component, name, version, onlyInactive } = request;
  return changing(context, request, { component, name, version }, async (binding, define) => {
    const isVersion = version === undefined || (typeof version === 'number' && isVersionNumber(version));
    if (!isComponentName(name) || !isVersion) return undefined;
    const outcome = await define({ kind: 'delete', component, name, version, onlyInactive: onlyInactive === true });
    if (outcome.kind === 'still-active') throw versionActive({ component, name, version: outcome.version });
    return outcome.kind === 'absent' ? undefined : nowOf(context, binding);
  });
}

/** @throws DatabaseError not_found: there is no such State View; any error of a write */
export function expireSnapshots(
  context: ServiceContext,
  request: ExpireSnapshotsRequest,
): Promise<ExpireSnapshotsReply> {
  const { name } = request;
  return changing(context, request, { component: 'state-view', name }, async (binding, define) => {
    const outcome = isComponentName(name) ? await define({ kind: 'expire', name }) : undefined;
    return outcome?.kind === 'expired' ? { ...nowOf(context, binding), foldEpoch: outcome.foldEpoch } : undefined;
  });
}

/** Runs a change that returns undefined when there is no such version. */
function changing<Reply>(
  context: ServiceContext,
  request: DefiningRequest,
  asked: AskedVersion,
  change: (binding: Binding, define: Define) => Promise<Reply | undefined>,
): Promise<Reply> {
  return defining(context, request, async (binding, define) => {
    const reply = await change(binding, define);
    if (reply !== undefined) return reply;
    const versions = await titleVersions(context, { binding, revision: LATEST }, asked);
    throw versionNotFound(nowOf(context, binding), asked, versions);
  });
}

function nowOf({ node }: ServiceContext, binding: Binding): ReadScope {
  return scopeOf({ binding, revision: node.answered(binding.group) });
}
