/**
 * What both kinds of readers have in common, ours and the SDK's: a decision that is read for, at one revision, what it
 * was told, and how it ends when it cannot be told anything.
 */
import { encodeUtf8, type Instant, instantFromMs } from '#base';
import { bindView, Faults, parseJson, type Selector, type StateViewDefinition, selectorFromJson } from '#model';
import type { Value } from '#wasm';
import { type DecisionAsk, type DecisionFailure, decisionFailure, type ReadableView } from './decision.ts';
import { ReadRecord } from './read-record.ts';
import type { StateViews } from './state-views.ts';
import type { ViewAnswer } from './view-read.ts';

export interface ReadLimits {
  /** Of one question. */
  readonly eventsMax: number;
  /** Of all that a decision is told. */
  readonly bytesMax: number;
}

export interface ReaderOptions {
  readonly ask: DecisionAsk;
  readonly at: number;
  readonly views: Pick<StateViews, 'render'>;
  /** The version that stands for a name: the same at every attempt. */
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
  /** Aborted when nothing more is to be read. */
  readonly signal: { aborted: boolean } = { aborted: false };
  #bytes = 0;
  #ended: { readonly error: unknown } | undefined;

  constructor(options: ReaderOptions) {
    this.options = options;
  }

  /** Why the decision ended by an answer that there is not. @throws what was thrown by the database. */
  get failure(): DecisionFailure | undefined {
    if (this.#ended === undefined) return undefined;
    if (this.#ended.error instanceof Ended) return this.#ended.error.failure;
    throw this.#ended.error;
  }

  /** An answer to the guest. A rejection ends its call, and is remembered. */
  async answering(answer: () => Value | Promise<Value>): Promise<Value> {
    try {
      return await answer();
    } catch (error) {
      this.#ended ??= { error };
      throw error;
    }
  }

  /** Whether so many bytes more may be told. */
  takes(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.options.limits.bytesMax;
  }

  /** A State View at the revision. @throws Ended when it is not rendered */
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

/** Carries a failure out of the call of the guest. */
export class Ended extends Error {
  override readonly name = 'Ended';
  readonly failure: DecisionFailure;

  constructor(message: string, code: DecisionFailure['code'] = 'WasmExecutionError', retryAfterMs?: number) {
    super(message);
    this.failure = decisionFailure(code, message, retryAfterMs);
  }
}

/** The selector of a read, or what is wrong with its parameters. */
export function boundSelector(
  definition: StateViewDefinition,
  parameters: ReadonlyMap<string, string>,
): Selector | string {
  const faults = new Faults();
  const bound = bindView(definition, parameters, { field: 'parameters', faults });
  return bound ?? faults.toError('The State View is asked wrongly').message;
}

/** The selector, or what is wrong with its text. */
export function parsedSelector(text: string): Selector | string {
  const node = parseJson(encodeUtf8(text));
  if (node.kind === 'fault') return `The selector is no JSON: ${node.message}`;
  const faults = new Faults();
  return selectorFromJson(node, 'selector', faults) ?? faults.toError('The selector is malformed').message;
}
