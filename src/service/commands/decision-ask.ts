/** The inputs of a decision besides its reads, created once for all attempts. */
import { DatabaseError, formatUuid, uuidv7Bytes } from '#base';
import { type DecisionAsk, type ReadableView, type ViewParameters, viewTitle } from '#components';
import type { Command } from '#model';
import type { Traced } from '#observability';
import { type AskedVersion, servedVersion } from '../components/defined-version.ts';
import { readWith } from '../components/fold-inputs.ts';
import { loadedArtifact } from '../components/loaded.ts';
import type { DefinedAs } from '../components/operations.ts';
import { type Components, openComponents, type ServiceContext } from '../context.ts';
import type { ReadView } from '../instance.ts';
import type { AskedDecision } from './operations.ts';

const SEED_BYTES = 8;

export interface OpenedDecision {
  readonly ask: DecisionAsk;
  readonly changes: Components['changes'];
  readonly version: DefinedAs<'state-change'>;
}

/**
 * Opens the State Change at the revision of the view, with the command.
 * @throws DatabaseError not_found, reason StateChangeNotFound; internal: it cannot be run here
 */
export async function openDecision(
  context: ServiceContext,
  view: ReadView,
  {
    name,
    version: asked,
    command,
    signal,
    span,
  }: Pick<AskedDecision, 'name' | 'version'> &
    Traced & {
      readonly command: Command;
      readonly signal: AbortSignal;
    },
): Promise<OpenedDecision> {
  const { clock, random, reads } = context;
  const version = await servedVersion(context, view, { component: 'state-change', name, version: asked });
  const { artifacts, changes } = await openComponents(context);
  const artifact = await loadedArtifact(context, artifacts, { view, version });
  const { name: databaseName, databaseId } = view.binding;
  const ask: DecisionAsk = {
    database: { name: databaseName, databaseId, source: reads.source(view.binding) },
    change: `${version.definition.name} v${version.version}`,
    title: { name: version.definition.name, version: version.version },
    artifact,
    command,
    signal,
    span,
    findView: (viewName, viewVersion) => findView(context, view, { name: viewName, version: viewVersion }),
    receivedAtMs: clock.nowMs(),
    seed: new DataView(random.bytes(SEED_BYTES).slice().buffer).getBigUint64(0),
    mintId: minting(context),
  };
  return { ask, changes, version };
}

/** The requested version, or the version served under the name; undefined when there is none. */
async function findView(
  context: ServiceContext,
  view: ReadView,
  { name, version: number }: Pick<AskedVersion, 'name' | 'version'>,
): Promise<ReadableView | undefined> {
  try {
    const version = await servedVersion(context, view, { component: 'state-view', name, version: number });
    const { artifacts, asked } = await openComponents(context);
    const artifact = await loadedArtifact(context, artifacts, { view, version });
    const { definition, foldEpoch } = version;
    const onRead = (parameters: ViewParameters): Promise<void> =>
      readWith(asked, view.binding, { version, parameters });
    const title = viewTitle(view.binding.name, definition, version.version);
    return { view: `${definition.name} v${version.version}`, title, definition, foldEpoch, artifact, onRead };
  } catch (failure) {
    if (failure instanceof DatabaseError && failure.details.reason === 'StateViewNotFound') return undefined;
    throw failure;
  }
}

/** Creates ids for events without one, by index: the same at every attempt. */
function minting({ clock, random }: ServiceContext): (index: number) => string {
  const minted = new Map<number, string>();
  return (index) => {
    const id = minted.get(index) ?? formatUuid(uuidv7Bytes(clock.nowMs(), random));
    minted.set(index, id);
    return id;
  };
}
