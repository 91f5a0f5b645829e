/** The inputs of a State View fold. Readers and maintenance use the same, so that they share stored folds. */
import type { Instant } from '#base';
import type { Binding } from '#cluster';
import { type ArtifactStore, type AskedBindings, type ViewRead, viewKey, viewTitle } from '#components';
import type { Selector } from '#model';
import type { ServiceContext } from '../context.ts';
import type { ReadView } from '../instance.ts';
import { loadedArtifact } from './loaded.ts';
import type { DefinedAs } from './operations.ts';

export interface FoldedView {
  readonly view: ReadView;
  readonly version: DefinedAs<'state-view'>;
  readonly parameters: ReadonlyMap<string, string>;
  readonly selector: Selector;
  readonly cut: Instant | undefined;
}

/** @throws DatabaseError like `loadedArtifact` */
export async function viewRead(
  context: ServiceContext,
  artifacts: Pick<ArtifactStore, 'artifact'>,
  { view, version, parameters, selector, cut }: FoldedView,
): Promise<ViewRead> {
  const { definition, foldEpoch } = version;
  return {
    source: context.reads.source(view.binding),
    databaseId: view.binding.databaseId,
    view: `${definition.name} v${version.version}`,
    title: viewTitle(view.binding.name, definition, version.version),
    foldEpoch,
    artifact: await loadedArtifact(context, artifacts, { view, version }),
    selector,
    order: definition.order,
    parameters,
    at: view.revision,
    cut,
  };
}

/** Key under which the parameter values of a version are remembered. */
export function askedKey({ databaseId }: Binding, { definition, version }: DefinedAs<'state-view'>): string {
  return viewKey(databaseId, definition.name, version);
}

/** Records that a version was read, so that a maintained view folds these parameter values in the background. */
export async function readWith(
  asked: Pick<AskedBindings, 'add'>,
  binding: Binding,
  { version, parameters }: Pick<FoldedView, 'version' | 'parameters'>,
): Promise<void> {
  if (version.status.mode === 'lazy' || parameters.size === 0) return;
  await asked.add(askedKey(binding, version), parameters);
}
