/** Requests and replies of the operations about components. */
import type { Instant } from '#base';
import type { OpenBody } from '#components';
import type { DefinedVersion, Definition } from '#model';
import type { ReadAt, ReadRequest, ReadScope } from '../operations.ts';

export type DefinedAs<Kind extends Definition['kind']> = DefinedVersion & {
  readonly definition: Extract<Definition, { readonly kind: Kind }>;
};

export interface OpenStateViewRequest extends ReadRequest {
  readonly at: ReadAt;
  readonly name: string;
  /** The version in the request, not validated yet. Absent: the latest that was active at the revision. */
  readonly version?: number | bigint | undefined;
}

/** A version of a State View at a revision, before anything is folded. */
export interface OpenedStateView extends ReadScope {
  readonly version: DefinedAs<'state-view'>;
  /**
   * True when the reader may force a refold: with authentication on, clients with the right to deploy; otherwise none.
   */
  readonly mayRefold: boolean;
  /**
   * The presenter of the view; undefined when it has none.
   * @throws DatabaseError not_found: the presenter does not exist
   */
  presenter(): Promise<OpenedPresenter | undefined>;
  /** @throws DatabaseError invalid_argument, with the reason InvalidParameters and all faults */
  bind(bindings: StateViewBindings): BoundStateView;
}

export interface StateViewBindings {
  /** Values of the parameters of the view, by `{attribute}.{parameter}`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Name of the parameters in the request, for error messages. */
  readonly field: string;
  /** Required by a view in the order of effective time; ignored by others. */
  readonly cut?: Instant | 'now' | undefined;
}

/** A fold to run, and everything that determines its result. */
export interface BoundStateView extends ReadScope {
  readonly version: DefinedAs<'state-view'>;
  readonly parameters: ReadonlyMap<string, string>;
  /** The last effective time that is included; undefined in the order of revisions. */
  readonly cut: Instant | undefined;
  /**
   * @throws DatabaseError internal, with the reason WasmExecutionError: the component failed; busy; not_found: the
   * version or the database was deleted meanwhile
   */
  render(options: RenderOptions): Promise<RenderedState>;
}

export interface RenderOptions {
  readonly signal: AbortSignal;
  /** True: folds from the first event, and stores nothing of it. Only for clients with the right. */
  readonly refolds?: boolean;
}

export interface RenderedState {
  /** The state, in the content type of the definition. */
  readonly bytes: Uint8Array;
  /** False when no event was selected. */
  readonly hasState: boolean;
}

/** A version of a presenter, for one State View. */
export interface OpenedPresenter {
  readonly version: DefinedAs<'presenter'>;
  /**
   * Resolves with the first chunk of the body.
   * @throws DatabaseError an error of the presenter, or the reason why it failed
   */
  present(rendered: RenderedState, asked: AskedPresentation): Promise<Presented>;
}

export interface AskedPresentation {
  /** One of the content types that the presenter offers. */
  readonly contentType: string;
  /** Query parameters of the request, in their order. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Timeouts for the first chunk and for the whole body, from now. */
  readonly firstMs: number;
  readonly wholeMs: number;
  readonly signal: AbortSignal;
}

export interface Presented {
  /** Start of the next page, an opaque text of the presenter. */
  readonly continuation: string | undefined;
  readonly body: OpenBody;
}
