/**
 * Resolves the name of a component, and an optional version, to the version that a read uses.
 *
 *   V13  Reads of definitions at `latest` are monotonic: a later read never shows an older state of a version.
 *        A read at a revision of a version that is unknown here asks the leader first: a definition does not change the
 *        revision, so the revision alone does not tell which definitions the client knows.
 */
import { type Revision, toRevision } from '#base';
import { type ComponentKind, type DefinedVersion, isComponentName } from '#model';
import type { ServiceContext } from '../context.ts';
import { versionNotFound } from '../errors.ts';
import { type ReadView, refusalBy, scopeOf } from '../instance.ts';
import type { DefinedAs } from './operations.ts';

/** Stands for the current definitions. */
export const LATEST: Revision = toRevision(Number.MAX_SAFE_INTEGER);

export interface AskedVersion<Kind extends ComponentKind = ComponentKind> {
  readonly component: Kind;
  /** The name in the request, not validated yet; the same holds for the version. */
  readonly name: string;
  /** Absent: the latest version that was active at the revision; before there was one, the first. */
  readonly version?: number | bigint | undefined;
}

/**
 * The version that serves reads at the revision of the view, even when it was defined later (ADR 0115).
 * @throws DatabaseError not_found: there is none, or it is not active
 */
export async function servedVersion<Kind extends ComponentKind>(
  context: ServiceContext,
  view: ReadView,
  asked: AskedVersion<Kind>,
): Promise<DefinedAs<Kind>> {
  const { revision } = view;
  const isThere = (versions: readonly DefinedVersion[]): boolean => served(versions, asked, revision) !== undefined;
  const versions = await confirmedVersions(context, { ...view, revision: LATEST }, { ...asked, isThere });
  const found = served(versions, asked, revision);
  if (found === undefined) throw versionNotFound(scopeOf(view), asked, versions);
  return found;
}

/** The versions of a name; asks the leader when the requested one is not among them. */
export async function confirmedVersions(
  context: ServiceContext,
  view: ReadView,
  asked: Pick<AskedVersion, 'component' | 'name'> & {
    readonly isThere: (versions: readonly DefinedVersion[]) => boolean;
  },
): Promise<readonly DefinedVersion[]> {
  const versions = await titleVersions(context, view, asked);
  if (asked.isThere(versions)) return versions;
  await confirmDefinitions(context, view);
  return titleVersions(context, view, asked);
}

function served<Kind extends ComponentKind>(
  versions: readonly DefinedVersion[],
  { component, version }: AskedVersion<Kind>,
  revision: Revision,
): DefinedAs<Kind> | undefined {
  const isAsked = (each: DefinedVersion): each is DefinedAs<Kind> =>
    each.definition.kind === component && each.status.active && (version ?? each.version) === each.version;
  const asked = versions.filter(isAsked);
  return asked.findLast(({ definedAt }) => definedAt <= revision) ?? asked[0];
}

/** Every version of a name that had been defined at the revision, active or not. */
export async function titleVersions(
  { reads }: ServiceContext,
  { binding, revision }: ReadView,
  { component, name }: Pick<AskedVersion, 'component' | 'name'>,
): Promise<readonly DefinedVersion[]> {
  if (!isComponentName(name)) return [];
  const definitions = await reads.definitions(binding);
  return definitions.versions({ component, name }, revision);
}

/** Waits until this node has every definition that was acknowledged before. */
async function confirmDefinitions({ node }: ServiceContext, { binding }: ReadView): Promise<void> {
  try {
    await node.latest(binding.group);
  } catch (failure) {
    throw refusalBy(binding, failure);
  }
}
