/**
 * From the name of a component, and maybe a version, to the version that a read uses.
 *
 *   V13  Whoever was told that a version is defined, or not any more, is told nothing else by a later read at `latest`.
 *        A read at a number of a version that is not here asks the leader before it says so: a definition raises no
 *        revision, so the number alone does not say how far the definitions are that its reader knows of.
 */
import { type Revision, toRevision } from '#base';
import { type ComponentKind, type DefinedVersion, isComponentName } from '#model';
import type { ServiceContext } from '../context.ts';
import { versionNotFound } from '../errors.ts';
import { type ReadView, refusalBy, scopeOf } from '../instance.ts';
import type { DefinedAs } from './operations.ts';

/** Of what is there now: versions do not come with revisions that are yet to be. */
export const LATEST: Revision = toRevision(Number.MAX_SAFE_INTEGER);

export interface AskedVersion<Kind extends ComponentKind = ComponentKind> {
  readonly component: Kind;
  /** As it was asked for, and so is the version. */
  readonly name: string;
  /** Absent: the latest active one that there was at the revision; before there was any, the first. */
  readonly version?: number | bigint | undefined;
}

/**
 * The version that serves reads at the revision of the view, also before the version was defined (ADR 0115).
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

/** The versions of a name; if what is looked for is not among them, by the leader's word. */
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

/** Waits until this node has every definition that anybody was told of before. */
async function confirmDefinitions({ node }: ServiceContext, { binding }: ReadView): Promise<void> {
  try {
    await node.latest(binding.group);
  } catch (failure) {
    throw refusalBy(binding, failure);
  }
}
