/**
 * Opens a State View at a revision: resolved, bound to parameter values, then folded and rendered.
 *
 * There are three steps: a reader with a current copy gets its answer before anything is folded (SPEC-HTTP-R6), and the
 * definition decides what the parameter values mean (SPEC-HTTP-R10).
 */
import { type Instant, instantFromMs } from '#base';
import { bindView, Faults, type Selector, type StateViewDefinition } from '#model';
import { inSpan } from '#observability';
import { openComponents, type ServiceContext } from '../context.ts';
import { componentFailed } from '../errors.ts';
import { scopeOf, unlessAborted } from '../instance.ts';
import { openView } from '../read-scope.ts';
import { servedVersion } from './defined-version.ts';
import { type FoldedView, readWith, viewRead } from './fold-inputs.ts';
import { openPresenter } from './open-presenter.ts';
import type {
  OpenedStateView,
  OpenStateViewRequest,
  RenderedState,
  RenderOptions,
  StateViewBindings,
} from './operations.ts';

export async function openStateView(context: ServiceContext, request: OpenStateViewRequest): Promise<OpenedStateView> {
  const { span } = request;
  const view = await openView(context, request, request.at);
  const { name, version: asked } = request;
  const version = await servedVersion(context, view, { component: 'state-view', name, version: asked });
  return {
    ...scopeOf(view),
    version,
    mayRefold: false,
    presenter: () => openPresenter(context, view, version, request),
    bind: (bindings) => {
      const { parameters } = bindings;
      const selector = selectorOf(version.definition, bindings);
      const cut = cutOf(context, version.definition, bindings);
      const folded = { view, version, parameters, selector, cut };
      return { ...scopeOf(view), version, parameters, cut, render: (options) => render(folded, options) };
    },
  };

  async function render(folded: FoldedView, options: RenderOptions): Promise<RenderedState> {
    options.signal.throwIfAborted();
    const folding = inSpan(span, 'cairn.fold', (foldSpan) => {
      const component = `${version.definition.name} v${version.version}`;
      foldSpan?.set({ 'cairn.component': component, 'cairn.revision': view.revision });
      return renderAll(context, folded, options);
    });
    return unlessAborted(folding, options.signal);
  }
}

function cutOf(
  { clock }: ServiceContext,
  { order }: StateViewDefinition,
  { cut }: StateViewBindings,
): Instant | undefined {
  if (order === 'revision') return undefined;
  return cut === 'now' ? instantFromMs(clock.nowMs()) : cut;
}

/** @throws DatabaseError with all faults of the bindings */
function selectorOf(definition: StateViewDefinition, { parameters, field, cut }: StateViewBindings): Selector {
  const faults = new Faults();
  const selector = bindView(definition, parameters, { field, faults });
  if (definition.order === 'effective-time' && cut === undefined) {
    faults.add('effective_time_end_at', 'is required by a State View in the order of effective time');
  }
  if (selector === undefined || !faults.none) {
    throw faults.toError(`The State View ${definition.name} cannot be read so`).with({ reason: 'InvalidParameters' });
  }
  return selector;
}

async function renderAll(
  context: ServiceContext,
  folded: FoldedView,
  { signal, refolds }: RenderOptions,
): Promise<RenderedState> {
  const { view, version, parameters } = folded;
  const { views, artifacts, asked } = await openComponents(context);
  const read = { ...(await viewRead(context, artifacts, folded)), refolds };
  const answer = await context.reads.read(view.binding, () => views.render(read, signal));
  if (answer.kind === 'failed') throw componentFailed(scopeOf(view), answer);
  await readWith(asked, view.binding, { version, parameters });
  return { bytes: answer.bytes, hasState: answer.hasState };
}
