/** Finds the presenter of a State View and lets it write a page. */
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
  view: ReadView,
  shown: DefinedAs<'state-view'>,
  { span }: Traced,
): Promise<OpenedPresenter | undefined> {
  const { presenter } = shown.definition;
  if (presenter === undefined) return undefined;
  const version = await servedVersion(context, view, { component: 'presenter', ...presenter });
  const { name, settings } = version.definition;
  return {
    version,
    // The span ends with the first chunk of the body.
    present: (state, asked) =>
      inSpan(span, 'cairn.present', (presenting) => {
        presenting?.set({ 'cairn.component': `${name} v${version.version}` });
        return present(state, asked);
      }),
  };

  async function present(state: RenderedState, { signal, ...asked }: AskedPresentation): Promise<Presented> {
    const { artifacts, presenters } = await openComponents(context);
    const artifact = await loadedArtifact(context, artifacts, { view, version });
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
        ...asked,
      },
      signal,
    );
    if (opened.kind === 'failed') throw opened.error;
    return opened;
  }
}
