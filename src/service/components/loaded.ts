/**
 * Loads the artifact of a version: from the caches of this node, or by compiling the component.
 *
 *   V14 An instance that runs was compiled from the bytes that the database has under the digest of the definition, and
 *       is never shared with another database.
 */
import type { ArtifactStore, ComponentSource, NoArtifact, RunnableArtifact } from '#components';
import { type DefinedVersion, type Definition, REDUCE_FUNCTION } from '#model';
import { componentBytes } from '#query';
import type { ServiceContext } from '../context.ts';
import { componentDeleted, componentNotRun } from '../errors.ts';
import { type ReadView, scopeOf } from '../instance.ts';

/** @throws DatabaseError internal: this node cannot run the component; not_found: it was deleted meanwhile */
export async function loadedArtifact(
  context: ServiceContext,
  artifacts: Pick<ArtifactStore, 'artifact'>,
  { view, version }: { readonly view: ReadView; readonly version: DefinedVersion },
): Promise<RunnableArtifact> {
  const made = await artifacts.artifact(componentOf(context, { view, version }));
  // Databases do not share instances, so a component that illegally keeps state leaks nothing to another database.
  if (made.kind === 'ok') return { ...made.value, pool: `${made.value.key} ${view.binding.databaseId}` };
  throw componentNotRun(scopeOf(view), version, reasonOf(made.reason));
}

export function componentOf(
  { reads }: ServiceContext,
  { view, version }: { readonly view: ReadView; readonly version: DefinedVersion },
): ComponentSource {
  const { definition, component } = version;
  return {
    kind: definition.kind,
    digest: component.digest,
    functionName: functionOf(definition),
    bytes: async () => {
      const bytes = await reads.read(view.binding, () => componentBytes(reads.source(view.binding), component));
      if (bytes === undefined) throw componentDeleted(scopeOf(view), version);
      return bytes;
    },
  };
}

/** The export that the publisher names, if it differs from the default of the kind. */
export function functionOf(definition: Definition): string | undefined {
  const isOwn = definition.kind === 'state-view' && definition.reduceFunction !== REDUCE_FUNCTION;
  return isOwn ? definition.reduceFunction : undefined;
}

export function reasonOf(none: NoArtifact): string {
  return none.kind === 'refused' ? `${none.refusal.code}: ${none.refusal.message}` : none.message;
}
