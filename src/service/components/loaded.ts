/**
 * From a version to what an executor runs: the artifact of its component, which this node has or makes.
 *
 *   V14 What runs was made from the bytes that the database holds under the digest of the definition, and was never
 *       called for another database.
 */
import type { ArtifactStore, ComponentSource, NoArtifact, RunnableArtifact } from '#components';
import { type DefinedVersion, type Definition, REDUCE_FUNCTION } from '#model';
import { componentBytes } from '#query';
import type { ServiceContext } from '../context.ts';
import { componentDeleted, componentNotRun } from '../errors.ts';
import { type ReadView, scopeOf } from '../instance.ts';

/** @throws DatabaseError internal: nothing that runs can be made of it here; not_found: it was deleted meanwhile */
export async function loadedArtifact(
  context: ServiceContext,
  artifacts: Pick<ArtifactStore, 'artifact'>,
  { view, version }: { readonly view: ReadView; readonly version: DefinedVersion },
): Promise<RunnableArtifact> {
  const made = await artifacts.artifact(componentOf(context, { view, version }));
  // One database learns nothing of another by what a component keeps, which it must not.
  if (made.kind === 'ok') return { ...made.value, pool: `${made.value.key} ${view.binding.databaseId}` };
  throw componentNotRun(scopeOf(view), version, reasonOf(made.reason));
}

/** The component of a version, as its database has it. */
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

/** The function that its publisher names, where that is another one than the kind's. */
export function functionOf(definition: Definition): string | undefined {
  const isOwn = definition.kind === 'state-view' && definition.reduceFunction !== REDUCE_FUNCTION;
  return isOwn ? definition.reduceFunction : undefined;
}

export function reasonOf(none: NoArtifact): string {
  return none.kind === 'refused' ? `${none.refusal.code}: ${none.refusal.message}` : none.message;
}
