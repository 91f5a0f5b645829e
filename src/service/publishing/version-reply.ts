import type { Binding } from '#cluster';
import type { ComponentTitle, DefinedVersion, VersionNumber } from '#model';
import { LATEST, titleVersions } from '../components/defined-version.ts';
import type { ServiceContext } from '../context.ts';
import { versionNotFound } from '../errors.ts';
import { scopeOf } from '../instance.ts';
import type { VersionReply } from './operations.ts';

/** The version as the rows here have it, which are those of an outcome at least. */
export async function versionReply(
  context: ServiceContext,
  binding: Binding,
  asked: ComponentTitle & { readonly version: VersionNumber },
): Promise<VersionReply> {
  const scope = scopeOf({ binding, revision: context.node.answered(binding.group) });
  const versions = await titleVersions(context, { binding, revision: LATEST }, asked);
  const version = versions.find((each: DefinedVersion) => each.version === asked.version);
  // Somebody has deleted it meanwhile.
  if (version === undefined) throw versionNotFound(scope, asked, versions);
  return { ...scope, version };
}
