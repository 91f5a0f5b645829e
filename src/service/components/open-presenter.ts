import { inSpan, type Traced } from '#observability';
import { openComponents, type ServiceContext } from '../context.ts';
import type { ReadView } from '../instance.ts';
import { servedVersion } from './defined-version.ts';
import { loadedArtifact } from './loaded.ts';
import type { AskedPresentation, DefinedAs, OpenedPresenter, Presented, RenderedState } from './operations.ts';

/**
 * Opens the presenter of a State View: the version that the view names, or the latest at the revision.
 * @throws DatabaseError not_found: there is none
 */
export async function openPresenter(
  context: ServiceContext,
  { view, shown, span }: Omit<Between, 'version'>,
): Promise<OpenedPresenter | undefined> {
  const { presenter } = shown.definition;
  if (presenter === undefined) return undefined;
  const version = await servedVersion(context, view, { component: 'presenter', ...presenter });
  return { version, present: (state, asked) => present(context, { view, shown, version, span }, { state, asked }) };
}

interface Between extends Traced {
  readonly view: ReadView;
  readonly shown: DefinedAs<'state-view'>;
  readonly version: DefinedAs<'presenter'>;
}

interface Asked {
  readonly state: RenderedState;
  readonly asked: AskedPresentation;
}

/** The span ends with the first chunk of the body. */
function present(context: ServiceContext, between: Between, asked: Asked): Promise<Presented> {
  return inSpan(between.span, 'cairn.present', (span) => {
    const { definition, version } = between.version;
    span?.set({ 'cairn.component': `${definition.name} v${version}` });
    return begin(context, between, asked);
  });
}

async function begin(
  context: ServiceContext,
  { view, shown, version }: Between,
  { state, asked }: Asked,
): Promise<Presented> {
  const { artifacts, presenters } = await openComponents(context);
  const artifact = await loadedArtifact(context, artifacts, { view, version });
  const { settings } = version.definition;
  const { signal, ...rest } = asked;
  const opened = await presenters.open(
    {
      artifact,
      database: view.binding.name,
      databaseId: view.binding.databaseId,
      revision: view.revision,
      view: shown.definition.name,
      version: shown.version,
      settings: settings.size === 0 ? undefined : JSON.stringify(Object.fromEntries(settings)),
      state: state.bytes,
      ...rest,
    },
    signal,
  );
  if (opened.kind === 'failed') throw opened.error;
  return opened;
}
