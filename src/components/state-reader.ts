/**
 * Reads of a decision while it runs: the interface `state-reader` of cairn.wit, at one revision.
 *
 * A guest waits inside its call for each answer, and occupies its executor. Rendering a State View needs another
 * executor, which must be from another pool: a decision must never wait for a decision.
 *
 *   F21 Answers to a guest depend only on its reads and on the events up to the revision. A failure that may not occur
 *       again (no capacity, a lost executor, a fault of a view's component) ends the decision, so no guest
 *       can decide by it.
 */
import { setImmediate } from 'node:timers/promises';
import { encodeUtf8, formatInstant, instantFromMs } from '#base';
import { eventToJson } from '#model';
import { databaseAtRevision, queryEvents, type StoredEvent } from '#query';
import { type HostCall, isList, tagged, type Value } from '#wasm';
import { boundSelector, type DecisionReads, Ended, parsedSelector } from './decision-reads.ts';

/** Interfaces of ours have their version as a suffix. */
const INTERFACE = /^cairn:component\/state-reader(?:@|$)/;

export class StateReader {
  readonly #reads: DecisionReads;

  constructor(reads: DecisionReads) {
    this.#reads = reads;
  }

  /** Answers the guest. @throws Ended for a call that cairn.wit does not have */
  answer({ interfaceName, functionName, values }: HostCall): Value | Promise<Value> {
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

  async #database(): Promise<Value> {
    const { ask, at } = this.#reads.options;
    const { name, databaseId, source } = ask.database;
    this.#reads.record.sawDatabase();
    const { recordedTimeMs } = await databaseAtRevision(source, at);
    return {
      name,
      id: databaseId,
      revision: BigInt(at),
      'revision-time': formatInstant(instantFromMs(recordedTimeMs)),
    };
  }

  async #stateView(name: string, pairs: readonly (readonly [string, string])[]): Promise<Value> {
    const found = await this.#reads.options.findView(name);
    if (found === undefined) return refused('not-found', `There is no State View ${name}`);
    const parameters = new Map(pairs);
    if (parameters.size < pairs.length) return refused('invalid-input', 'Two parameters have the same name');
    const selector = boundSelector(found.definition, parameters);
    if (typeof selector === 'string') return refused('invalid-input', selector);
    const { bytes, hasState } = await this.#reads.rendered({ found, selector, parameters });
    if (!this.#reads.takes(bytes.length)) return this.#tooMuch();
    return tagged('ok', hasState ? bytes : undefined);
  }

  async #events(text: string, limit: number): Promise<Value> {
    const { ask, at, limits } = this.#reads.options;
    if (limit > limits.eventsMax) {
      return refused('invalid-input', `The limit is ${limit}; it is at most ${limits.eventsMax}`);
    }
    const selector = parsedSelector(text);
    if (typeof selector === 'string') return refused('invalid-input', selector);
    const query = { selector, revisions: { end: at }, direction: 'forward', limit } as const;
    const events: Uint8Array[] = [];
    for await (const slice of queryEvents(ask.database.source, { at, query, signal: this.#reads.signal, lent: true })) {
      for (const event of slice) {
        const json = jsonOf(event);
        // A read that is too large now stays too large with later events.
        if (!this.#reads.takes(json.length)) return this.#tooMuch();
        events.push(json);
      }
      await setImmediate();
    }
    if (events.length < limit) this.#reads.record.sawAll(selector);
    return tagged('ok', events);
  }

  #tooMuch(): Value {
    return refused('invalid-input', `A decision reads at most ${this.#reads.options.limits.bytesMax} bytes`);
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

/** JSON as in HTTP reads and in folds. */
function jsonOf({ position, recordedTimeMs, storedId, bytes }: StoredEvent): Uint8Array {
  const { revision, index } = position;
  return encodeUtf8(eventToJson(bytes, { revision, index, recordedTimeMs, storedId }));
}
