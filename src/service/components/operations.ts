/** Requests and replies of the operations about components. */
import type { Instant } from '#base';
import type { OpenBody } from '#components';
import type { DefinedVersion, Definition } from '#model';
import type { ReadAt, ReadRequest, ReadScope } from '../operations.ts';

/** A version whose definition is of the kind. */
export type DefinedAs<Kind extends Definition['kind']> = DefinedVersion & {
  readonly definition: Extract<Definition, { readonly kind: Kind }>;
};

export interface OpenStateViewRequest extends ReadRequest {
  readonly at: ReadAt;
  readonly name: string;
  /** As it was asked for. Absent: the latest active one that there was at the revision. */
  readonly version?: number | bigint | undefined;
}

/** A version of a State View at a revision, before anything is folded. */
export interface OpenedStateView extends ReadScope {
  readonly version: DefinedAs<'state-view'>;
  /** Whether its reader may have it folded anew: with authentication on, who may deploy; without, nobody. */
  readonly mayRefold: boolean;
  /**
   * Who renders it for its readers; undefined: nobody.
   * @throws DatabaseError not_found: the definition names one that there is not
   */
  presenter(): Promise<OpenedPresenter | undefined>;
  /** @throws DatabaseError invalid_argument, with the reason InvalidParameters and every fault */
  bind(bindings: StateViewBindings): BoundStateView;
}

export interface StateViewBindings {
  /** Values by the names of what the view leaves open, `{attribute}.{parameter}`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** The request's word for them. */
  readonly field: string;
  /** Required by a view in the order of effective time; the others do not look at it. */
  readonly cut?: Instant | 'now' | undefined;
}

/** What is to be folded, and everything that it follows from. */
export interface BoundStateView extends ReadScope {
  readonly version: DefinedAs<'state-view'>;
  readonly parameters: ReadonlyMap<string, string>;
  /** The last effective time that counts; undefined in the order of revisions. */
  readonly cut: Instant | undefined;
  /**
   * @throws DatabaseError internal, with the reason WasmExecutionError: the component gives no answer; busy; not_found:
   * the version, or the database, was deleted meanwhile
   */
  render(options: RenderOptions): Promise<RenderedState>;
}

export interface RenderOptions {
  readonly signal: AbortSignal;
  /** True: it is folded from the first event on, and nothing of that is kept. For whoever may. */
  readonly refolds?: boolean;
}

export interface RenderedState {
  /** Of the content type of the definition. */
  readonly bytes: Uint8Array;
  /** False: no event was selected. */
  readonly hasState: boolean;
}

/** A version of a presenter, for one State View. */
export interface OpenedPresenter {
  readonly version: DefinedAs<'presenter'>;
  /**
   * Resolves when something of the body is there.
   * @throws DatabaseError what the presenter says, or why it says nothing
   */
  present(rendered: RenderedState, asked: AskedPresentation): Promise<Presented>;
}

export interface AskedPresentation {
  /** One that the presenter offers. */
  readonly contentType: string;
  /** Of the request, in their order. */
  readonly parameters: ReadonlyMap<string, string>;
  /** For the first chunk, and for all of it, from now. */
  readonly firstMs: number;
  readonly wholeMs: number;
  readonly signal: AbortSignal;
}

export interface Presented {
  /** Where the next page begins, in the presenter's own words. */
  readonly continuation: string | undefined;
  readonly body: OpenBody;
}
