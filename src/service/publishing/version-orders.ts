/** Changes published versions: activates, deactivates, deletes, and expires their stored folds. */
import type { Binding } from '#cluster';
import { type ComponentTitle, isComponentName, isVersionNumber, type VersionNumber } from '#model';
import { LATEST, titleVersions } from '../components/defined-version.ts';
import type { ServiceContext } from '../context.ts';
import { versionActive, versionNotFound } from '../errors.ts';
import { scopeOf } from '../instance.ts';
import type { ReadScope } from '../operations.ts';
import { defining } from './define.ts';
import type {
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
  const asked = { component, name, version };
  return defining(context, request, async (binding, define) => {
    const found = knownVersion(asked);
    if (found === undefined) throw await notFound(context, binding, asked);
    const { kind } = await define({ kind: 'set-status', ...found, status });
    if (kind === 'absent') throw await notFound(context, binding, asked);
    return versionReply(context, binding, found);
  });
}

/** @throws DatabaseError not_found: there is none; constraint_violated: one is active; any error of a write */
export function deleteVersions(context: ServiceContext, request: DeleteVersionsRequest): Promise<ReadScope> {
  const { kind: component, name, version, onlyInactive } = request;
  const asked = { component, name, version };
  return defining(context, request, async (binding, define) => {
    const isName = isComponentName(name);
    const isVersion = version === undefined || (typeof version === 'number' && isVersionNumber(version));
    if (!isName || !isVersion) throw await notFound(context, binding, asked);
    const only = onlyInactive === true ? ({ onlyInactive } as const) : {};
    const outcome = await define({ kind: 'delete', component, name, version, ...only });
    if (outcome.kind === 'absent') throw await notFound(context, binding, asked);
    if (outcome.kind === 'still-active') throw versionActive({ ...asked, version: outcome.version });
    return nowOf(context, binding);
  });
}

/** @throws DatabaseError not_found: there is no such State View; any error of a write */
export function expireSnapshots(
  context: ServiceContext,
  request: ExpireSnapshotsRequest,
): Promise<ExpireSnapshotsReply> {
  const { name } = request;
  const asked = { component: 'state-view', name } as const;
  return defining(context, request, async (binding, define) => {
    const outcome = isComponentName(name) ? await define({ kind: 'expire', name }) : undefined;
    if (outcome?.kind !== 'expired') throw await notFound(context, binding, asked);
    return { ...nowOf(context, binding), foldEpoch: outcome.foldEpoch };
  });
}

interface Asked {
  readonly component: ComponentTitle['component'];
  readonly name: string;
  readonly version?: number | bigint | undefined;
}

function knownVersion({
  component,
  name,
  version,
}: Asked): (ComponentTitle & { readonly version: VersionNumber }) | undefined {
  if (!isComponentName(name) || typeof version !== 'number' || !isVersionNumber(version)) return undefined;
  return { component, name, version };
}

async function notFound(context: ServiceContext, binding: Binding, asked: Asked): Promise<unknown> {
  const versions = await titleVersions(context, { binding, revision: LATEST }, asked);
  return versionNotFound(nowOf(context, binding), asked, versions);
}

function nowOf({ node }: ServiceContext, binding: Binding): ReadScope {
  return scopeOf({ binding, revision: node.answered(binding.group) });
}
