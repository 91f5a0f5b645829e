/**
 * Reads of a decision at one revision, for the two readers, ours and the SDK's: serves them, limits them, records them,
 * and ends the decision when a read fails.
 */
import { encodeUtf8, type Instant, instantFromMs } from '#base';
import { bindView, Faults, parseJson, type Selector, type StateViewDefinition, selectorFromJson } from '#model';
import type { Value } from '#wasm';
import { type DecisionAsk, type DecisionFailure, type ReadableView } from './decision.ts';
import { failed } from './guest-failures.ts';
import { ReadRecord } from './read-record.ts';
import type { StateViews } from './state-views.ts';
import type { ViewAnswer } from './view-read.ts';

export interface ReadLimits {
  /** Maximum number of events per read. */
  readonly eventsMax: number;
  /** Maximum size of all answers to a decision. */
  readonly bytesMax: number;
}

export interface ReaderOptions {
  readonly ask: DecisionAsk;
  readonly at: number;
  readonly views: Pick<StateViews, 'render'>;
  /** Finds the version for a name: the same at every attempt. */
  readonly findView: DecisionAsk['findView'];
  readonly limits: ReadLimits;
}

export interface BoundView {
  readonly found: ReadableView;
  readonly selector: Selector;
  readonly parameters: ReadonlyMap<string, string>;
  /** Default: that of the command. */
  readonly cut?: Instant | undefined;
}

export class DecisionReads {
  readonly record: ReadRecord = new ReadRecord();
  readonly options: ReaderOptions;
  /** Aborted when the decision reads no more. */
  readonly signal: { aborted: boolean } = { aborted: false };
  #bytes = 0;
  #ended: { readonly error: unknown } | undefined;

  constructor(options: ReaderOptions) {
    this.options = options;
  }

  /** Reason why a failed read has ended the decision. @throws errors of the database */
  get failure(): DecisionFailure | undefined {
    if (this.#ended === undefined) return undefined;
    if (this.#ended.error instanceof Ended) return this.#ended.error.failure;
    throw this.#ended.error;
  }

  /** Stops reading after the guest has ended. */
  close(): void {
    this.signal.aborted = true;
  }

  /** Answers the guest. A rejection ends its call and is kept in `failure`. */
  async answering(answer: () => Value | Promise<Value>): Promise<Value> {
    try {
      return await answer();
    } catch (error) {
      this.#ended ??= { error };
      throw error;
    }
  }

  /** Counts bytes of an answer; returns false beyond the limit. */
  takes(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.options.limits.bytesMax;
  }

  /** Renders a State View at the revision. @throws Ended when that fails */
  async rendered({
    found,
    selector,
    parameters,
    cut,
  }: BoundView): Promise<Extract<ViewAnswer, { readonly kind: 'rendered' }>> {
    const { ask, at, views } = this.options;
    const { source, databaseId } = ask.database;
    const { view, title, definition, foldEpoch, artifact } = found;
    const rendered = await views.render({
      source,
      databaseId,
      view,
      title,
      foldEpoch,
      artifact,
      selector,
      order: definition.order,
      parameters,
      at,
      cut: cut ?? ask.cut ?? instantFromMs(ask.receivedAtMs),
    });
    if (rendered.kind === 'failed') {
      const code = rendered.code === 'InvalidParameters' ? 'WasmExecutionError' : rendered.code;
      throw new Ended(`The State View ${view} is not rendered: ${rendered.message}`, code, rendered.retryAfterMs);
    }
    await found.onRead?.(parameters);
    this.record.sawAll(selector);
    return rendered;
  }
}

/** Carries a failure out of the guest call. */
export class Ended extends Error {
  override readonly name = 'Ended';
  readonly failure: DecisionFailure;

  constructor(message: string, code: DecisionFailure['code'] = 'WasmExecutionError', retryAfterMs?: number) {
    super(message);
    this.failure = failed(code, message, retryAfterMs);
  }
}

/** The selector of a read, or a description of its invalid parameters. */
export function boundSelector(
  definition: StateViewDefinition,
  parameters: ReadonlyMap<string, string>,
): Selector | string {
  const faults = new Faults();
  const bound = bindView(definition, parameters, { field: 'parameters', faults });
  return bound ?? faults.toError('The parameters of the State View are invalid').message;
}

/** The parsed selector, or a description of the fault in its text. */
export function parsedSelector(text: string): Selector | string {
  const node = parseJson(encodeUtf8(text));
  if (node.kind === 'fault') return `The selector is no JSON: ${node.message}`;
  const faults = new Faults();
  return selectorFromJson(node, 'selector', faults) ?? faults.toError('The selector is malformed').message;
}
