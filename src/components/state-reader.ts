/**
 * What a decision may ask of the database while it runs: the interface `state-reader` of cairn.wit, at one revision.
 *
 * A guest waits inside its call for each answer, and its executor with it. Rendering a State View takes an executor,
 * too, which therefore must be one of others: what a decision waits for never waits for a decision.
 *
 *   F21 A guest is told only what follows from its questions and the events up to the revision. What may be otherwise
 *       the next time (no capacity, a lost executor, a fault of a view's component) ends the decision, and no guest
 *       can decide by it.
 */
import { setImmediate } from 'node:timers/promises';
import { encodeUtf8, formatInstant, instantFromMs } from '#base';
import {
  bindView,
  eventToJson,
  Faults,
  parseJson,
  type Selector,
  type StateViewDefinition,
  selectorFromJson,
} from '#model';
import { databaseAtRevision, queryEvents, type StoredEvent } from '#query';
import { type HostCall, isList, tagged, type Value } from '#wasm';
import { type DecisionAsk, type DecisionFailure, decisionFailure, type ReadableView } from './decision.ts';
import { ReadRecord } from './read-record.ts';
import type { StateViews } from './state-views.ts';

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
  readonly findView: (name: string) => Promise<ReadableView | undefined>;
  readonly limits: ReadLimits;
}

/** An interface of ours comes with its version behind it. */
const INTERFACE = /^cairn:component\/state-reader(?:@|$)/;

export class StateReader {
  readonly record: ReadRecord = new ReadRecord();
  readonly #options: ReaderOptions;
  readonly #signal = { aborted: false };
  #bytes = 0;
  #ended: { readonly error: unknown } | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Why the decision ended by an answer that there is not. @throws what was thrown by the database. */
  get failure(): DecisionFailure | undefined {
    if (this.#ended === undefined) return undefined;
    if (this.#ended.error instanceof Ended) return this.#ended.error.failure;
    throw this.#ended.error;
  }

  /** Reads nothing more: the guest is not there any longer. */
  close(): void {
    this.#signal.aborted = true;
  }

  /** Answers the guest. A rejection ends its call. */
  async answer(call: HostCall): Promise<Value> {
    try {
      return await this.#answer(call);
    } catch (error) {
      this.#ended ??= { error };
      throw error;
    }
  }

  #answer({ interfaceName, functionName, values }: HostCall): Value | Promise<Value> {
    const [first, second] = values;
    if (INTERFACE.test(interfaceName)) {
      if (functionName === 'get-database') return this.#database();
      if (functionName === 'get-state-view' && typeof first === 'string')
        return this.#stateView(first, pairsOf(second));
      if (functionName === 'query-events' && typeof first === 'string' && typeof second === 'number') {
        return this.#events(first, second);
      }
    }
    throw new Ended(`The component calls ${interfaceName}#${functionName} in a way that cairn.wit does not have`);
  }

  #database(): Value {
    const { ask, at } = this.#options;
    const { name, databaseId, source } = ask.database;
    const { timestampMs } = databaseAtRevision(source, at);
    this.record.sawDatabase();
    return { name, id: databaseId, revision: BigInt(at), 'revision-time': formatInstant(instantFromMs(timestampMs)) };
  }

  async #stateView(name: string, pairs: readonly (readonly [string, string])[]): Promise<Value> {
    const { ask, at, views, findView } = this.#options;
    const found = await findView(name);
    if (found === undefined) return refused('not-found', `There is no State View ${name}`);
    const parameters = new Map(pairs);
    if (parameters.size < pairs.length) return refused('invalid-input', 'Two parameters have the same name');
    const bound = boundSelector(found.definition, parameters);
    if (typeof bound === 'string') return refused('invalid-input', bound);
    const { source, databaseId } = ask.database;
    const { view, definition, foldEpoch, artifact } = found;
    const rendered = await views.render({
      source,
      databaseId,
      view,
      foldEpoch,
      artifact,
      selector: bound,
      order: definition.order,
      parameters,
      at,
      cut: ask.cut ?? instantFromMs(ask.receivedAtMs),
    });
    if (rendered.kind === 'failed') {
      const code = rendered.code === 'Busy' ? 'Busy' : 'WasmExecutionError';
      throw new Ended(`The State View ${view} is not rendered: ${rendered.message}`, code);
    }
    this.record.sawAll(bound);
    if (!this.#takes(rendered.bytes.length)) return this.#tooMuch();
    return tagged('ok', rendered.hasState ? rendered.bytes : undefined);
  }

  async #events(text: string, limit: number): Promise<Value> {
    const { ask, at, limits } = this.#options;
    if (limit > limits.eventsMax) {
      return refused('invalid-input', `The limit is ${limit}; it is at most ${limits.eventsMax}`);
    }
    const selector = parsedSelector(text);
    if (typeof selector === 'string') return refused('invalid-input', selector);
    const query = { selector, revisions: { end: at }, direction: 'forward', limit } as const;
    const events: Uint8Array[] = [];
    for await (const slice of queryEvents(ask.database.source, { at, query, signal: this.#signal, lent: true })) {
      for (const event of slice) {
        const json = jsonOf(event);
        // What is too much now is too much with later events, too.
        if (!this.#takes(json.length)) return this.#tooMuch();
        events.push(json);
      }
      await setImmediate();
    }
    if (events.length < limit) this.record.sawAll(selector);
    return tagged('ok', events);
  }

  #takes(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= this.#options.limits.bytesMax;
  }

  #tooMuch(): Value {
    return refused('invalid-input', `A decision reads at most ${this.#options.limits.bytesMax} bytes`);
  }
}

/** Carries a failure out of the call of the guest. */
class Ended extends Error {
  override readonly name = 'Ended';
  readonly failure: DecisionFailure;

  constructor(message: string, code: DecisionFailure['code'] = 'WasmExecutionError') {
    super(message);
    this.failure = decisionFailure(code, message);
  }
}

function refused(kind: 'not-found' | 'invalid-input', message: string): Value {
  return tagged('err', tagged(kind, message));
}

function pairsOf(value: Value): readonly (readonly [string, string])[] {
  return (isList(value) ? value : [value]).map((pair) => {
    const [name, given] = isList(pair) ? pair : [];
    if (typeof name === 'string' && typeof given === 'string') return [name, given] as const;
    throw new Ended('The component gives parameters of a State View that are not pairs of texts');
  });
}

/** The selector of a read, or what is wrong with its parameters. */
function boundSelector(definition: StateViewDefinition, parameters: ReadonlyMap<string, string>): Selector | string {
  const faults = new Faults();
  const bound = bindView(definition, parameters, { field: 'parameters', faults });
  return bound ?? faults.toError('The State View is asked wrongly').message;
}

/** The selector, or what is wrong with its text. */
function parsedSelector(text: string): Selector | string {
  const node = parseJson(encodeUtf8(text));
  if (node.kind === 'fault') return `The selector is no JSON: ${node.message}`;
  const faults = new Faults();
  return selectorFromJson(node, 'selector', faults) ?? faults.toError('The selector is malformed').message;
}

/** As a read over HTTP gives it, and a fold is given it. */
function jsonOf({ position, recordedTimeMs, storedId, bytes }: StoredEvent): Uint8Array {
  const { revision, index } = position;
  return encodeUtf8(eventToJson(bytes, { revision, index, recordedTimeMs, storedId }));
}
