/**
 * Opens a State View at a revision: resolved, bound to parameter values, then folded and rendered.
 *
 * There are three steps: a reader with a current copy gets its answer before anything is folded (SPEC-HTTP-R6), and the
 * definition decides what the parameter values mean (SPEC-HTTP-R10).
 */
import { type Instant, instantFromMs } from '#base';
import type { ViewAnswer } from '#components';
import { bindView, Faults, type Selector, type StateViewDefinition } from '#model';
import { inSpan, type Traced } from '#observability';
import { openComponents, type ServiceContext } from '../context.ts';
import { stateViewFailed } from '../errors.ts';
import { type ReadView, scopeOf, unlessAborted } from '../instance.ts';
import { openView } from '../read-scope.ts';
import { servedVersion } from './defined-version.ts';
import { openPresenter } from './open-presenter.ts';
import type {
  BoundStateView,
  DefinedAs,
  OpenedStateView,
  OpenStateViewRequest,
  RenderedState,
  RenderOptions,
  StateViewBindings,
} from './operations.ts';
import { type FoldedView, readWith, viewRead } from './view-read.ts';

/** The version, and the instance and revision of the read. */
interface Found extends Traced {
  readonly view: ReadView;
  readonly version: DefinedAs<'state-view'>;
}

export async function openStateView(context: ServiceContext, request: OpenStateViewRequest): Promise<OpenedStateView> {
  const view = await openView(context, request, request.at);
  const { name, version: asked } = request;
  const version = await servedVersion(context, view, { component: 'state-view', name, version: asked });
  return {
    ...scopeOf(view),
    version,
    mayRefold: false,
    presenter: () => openPresenter(context, { view, shown: version, span: request.span }),
    bind: (bindings) => bound(context, { view, version, span: request.span }, bindings),
  };
}

function bound(context: ServiceContext, found: Found, bindings: StateViewBindings): BoundStateView {
  const { view, version } = found;
  const { parameters } = bindings;
  const selector = selectorOf(version.definition, bindings);
  const cut = cutOf(context, version.definition, bindings);
  const all = { ...found, parameters, selector, cut };
  return { ...scopeOf(view), version, parameters, cut, render: (options) => render(context, all, options) };
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

async function render(
  context: ServiceContext,
  all: FoldedView & Traced,
  options: RenderOptions,
): Promise<RenderedState> {
  const { signal } = options;
  signal.throwIfAborted();
  const { definition, version } = all.version;
  const folding = inSpan(all.span, 'cairn.fold', (span) => {
    span?.set({ 'cairn.component': `${definition.name} v${version}`, 'cairn.revision': all.view.revision });
    return renderAll(context, all, options);
  });
  return unlessAborted(folding, signal);
}

async function renderAll(
  context: ServiceContext,
  all: FoldedView,
  { signal, refolds }: RenderOptions,
): Promise<RenderedState> {
  const { view, version, parameters } = all;
  const { views, artifacts, asked } = await openComponents(context);
  const read = { ...(await viewRead(context, artifacts, all)), refolds };
  const state = stateOf(view, await context.reads.read(view.binding, () => views.render(read, signal)));
  await readWith(asked, view.binding, { version, parameters });
  return state;
}

function stateOf(view: ReadView, answer: ViewAnswer): RenderedState {
  if (answer.kind === 'failed') throw stateViewFailed(scopeOf(view), answer);
  return { bytes: answer.bytes, hasState: answer.hasState };
}
