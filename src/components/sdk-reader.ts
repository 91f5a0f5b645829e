/**
 * Reads of a decision in the shape of the EvidentSource SDK: the resource `database` of
 * `evidentsource:decider/state-change-types`, at one revision (F21, ADR 0102).
 *
 * The resource has no errors, so a read that fails ends the decision. `at-effective-timestamp` returns another resource
 * for the same revision, limited to an effective time.
 *
 * ```
 * name, effective-timestamp                guarded by    nothing
 * revision, revision-timestamp                           the whole database
 * view-state                                             the selector of the view
 * query-events                                           its selector, unless later events come after the last one
 * ```
 */
import { setImmediate } from 'node:timers/promises';
import { compareInstants, INSTANT_SECONDS_MAX, type Instant, instantFromMs, isInstant } from '#base';
import type { EventQuery, Position, Selector } from '#model';
import { type DatabaseFacts, databaseAtRevision, EventOrdinals, queryEvents, type StoredEvent } from '#query';
import { Handle, type HostCall, isList, isRecord, type Value } from '#wasm';
import { boundSelector, type DecisionReads, Ended } from './decision-reads.ts';
import { sdkSelector } from './sdk-selector.ts';
import { datetimeValue, eventValue, viewValue } from './sdk-values.ts';

const INTERFACE = /^evidentsource:decider\/state-change-types(?:@|$)/;
const METHOD = '[method]database.';
const ROOT_ID = 1;

/** The database that a decision is given: an argument of `decide`. */
export function sdkDatabase(): Value {
  return new Handle(ROOT_ID);
}

/** A query for events. */
interface Asked {
  readonly selector: Selector;
  readonly direction: 'forward' | 'reverse';
  readonly limit: number | undefined;
  /** The first ordinal. */
  readonly start: number;
  /** Present in the order of effective time. */
  readonly times: { readonly start?: Instant | undefined; readonly end?: Instant | undefined } | undefined;
}

export class SdkReader {
  readonly #reads: DecisionReads;
  readonly #ordinals: EventOrdinals;
  /** Effective-time limits of the guest's databases, by their handles. */
  readonly #cuts: (Instant | undefined)[] = [undefined, undefined];

  constructor(reads: DecisionReads) {
    this.#reads = reads;
    this.#ordinals = new EventOrdinals(reads.options.ask.database.source);
  }

  /** Answers the guest. @throws Ended for a call that the SDK does not have */
  answer({ interfaceName, functionName, values }: HostCall): Value | Promise<Value> {
    const [database, first, second, third] = values;
    if (!INTERFACE.test(interfaceName) || !functionName.startsWith(METHOD) || !(database instanceof Handle)) {
      throw new Ended(`The component calls ${interfaceName}#${functionName}, which is no part of the SDK's database`);
    }
    if (!(database.id in this.#cuts)) throw new Ended('The component asks a database of another decision');
    const cut = this.#cuts[database.id];
    switch (functionName.slice(METHOD.length)) {
      case 'name':
        return this.#reads.options.ask.database.name;
      case 'revision':
        return this.#facts(({ totalEvents }) => totalEvents);
      case 'revision-timestamp':
        return this.#facts(({ recordedTimeMs }) => datetimeValue(instantFromMs(recordedTimeMs)));
      case 'effective-timestamp':
        return cut === undefined ? undefined : datetimeValue(cut);
      case 'at-effective-timestamp':
        return new Handle(this.#cuts.push(instantFrom(first)) - 1);
      case 'query-events':
        return this.#events(first, cut);
      case 'view-state':
        return this.#view({ name: first, version: second, parameters: third }, cut);
      default:
        throw new Ended(`The component calls ${functionName}, which the host does not have`);
    }
  }

  #facts(valueOf: (facts: DatabaseFacts) => Value): Promise<Value> {
    const { ask, at } = this.#reads.options;
    this.#reads.record.sawDatabase();
    return databaseAtRevision(ask.database.source, at).then(valueOf);
  }

  async #view(
    { name, version, parameters: given }: { readonly name: Value; readonly version: Value; readonly parameters: Value },
    cut: Instant | undefined,
  ): Promise<Value> {
    const number = integerFrom(version);
    if (typeof name !== 'string' || number === undefined) throw new Ended('A State View is asked without a name');
    const found = await this.#reads.options.findView(name, number);
    if (found === undefined) throw new Ended(`There is no State View ${name} v${number}`);
    const parameters = parametersFrom(given);
    const selector = boundSelector(found.definition, parameters);
    if (typeof selector === 'string') throw new Ended(selector);
    const { bytes, last } = await this.#reads.rendered({ found, selector, parameters, cut });
    this.#take(bytes.length);
    return last === undefined ? undefined : viewValue(found.title, bytes, await this.#modified(last));
  }

  /** A view is unchanged since its last event, so its own events determine the reported revision. */
  async #modified(last: Position): Promise<{ readonly ordinal: number; readonly recordedTimeMs: number }> {
    const { source } = this.#reads.options.ask.database;
    const { recordedTimeMs } = await databaseAtRevision(source, last.revision);
    return { ordinal: this.#ordinals.of(last), recordedTimeMs };
  }

  async #events(question: Value, cut: Instant | undefined): Promise<Value> {
    const asked = askedFrom(question, cut);
    const { ask, at, limits } = this.#reads.options;
    const most = asked.limit ?? limits.eventsMax + 1;
    if (asked.limit !== undefined && asked.limit > limits.eventsMax) {
      throw new Ended(`The component asks for ${asked.limit} events; ${limits.eventsMax} are the most`);
    }
    const query = await this.#query(asked, most);
    const { signal } = this.#reads;
    const events: Value[] = [];
    for await (const slice of queryEvents(ask.database.source, { at, query, signal, lent: true })) {
      for (const event of slice) if (events.length < most) this.#collect(event, asked, events);
      await setImmediate();
    }
    if (events.length > limits.eventsMax) {
      throw new Ended(`The component asks for more than ${limits.eventsMax} events at once, the limit`);
    }
    // Later events come after these, and the query does not ask for them.
    const isClosed = asked.direction === 'forward' && asked.times === undefined && events.length === asked.limit;
    if (!isClosed) this.#reads.record.sawAll(asked.selector);
    return events;
  }

  /** It may return some more events, which come before the first one in its transaction. */
  async #query({ selector, direction, times, start }: Asked, most: number): Promise<EventQuery> {
    const { ask, at } = this.#reads.options;
    let [revision, skipped] = [1, 0];
    if (start > 1 && at > 0) {
      revision = await this.#ordinals.revisionOf(start, at);
      const { totalEvents } = await databaseAtRevision(ask.database.source, revision);
      skipped = Math.min(start - 1, totalEvents) - this.#ordinals.before(revision);
    }
    const query = { selector, revisions: { start: revision, end: at }, direction, limit: most + skipped };
    return times === undefined ? query : { ...query, effectiveTime: times };
  }

  #collect({ position, recordedTimeMs, storedId, bytes }: StoredEvent, { start }: Asked, into: Value[]): void {
    const ordinal = this.#ordinals.of(position);
    if (ordinal < start) return;
    this.#take(bytes.length);
    // The slice is lent, and a value may reference it until it is passed to the guest.
    const own = bytes.slice();
    const server = { recordedTimeMs, ...(storedId === undefined ? {} : { storedId }) };
    into.push(eventValue({ bytes: own, from: 0, to: own.length }, server, ordinal));
  }

  #take(bytes: number): void {
    if (this.#reads.takes(bytes)) return;
    throw new Ended(`A decision reads at most ${this.#reads.options.limits.bytesMax} bytes`);
  }
}

/** Parses the record `database-query`. */
function askedFrom(question: Value, cut: Instant | undefined): Asked {
  const { selector: nodes, range, direction = 'forward', limit } = isRecord(question) ? question : {};
  const selector = sdkSelector(nodes);
  if (typeof selector === 'string') throw new Ended(selector);
  if (direction !== 'forward' && direction !== 'reverse') throw new Ended('A query goes forward or reverse');
  const { start, times } = rangeFrom(range, cut);
  return { selector, direction, limit: limit === undefined ? undefined : countFrom(limit), start, times };
}

/** Parses the variant `query-range`: revisions from one on, or times, which determine the order. */
function rangeFrom(range: Value, cut: Instant | undefined): Pick<Asked, 'start' | 'times'> {
  const times = cut === undefined ? undefined : { end: cut };
  if (range === undefined) return { start: 0, times };
  const { tag, val } = isRecord(range) ? range : { tag: undefined, val: undefined };
  const bounds = isRecord(val) ? val : {};
  const from = bounds['start-at'];
  if (tag === 'revision') return { start: countFrom(from ?? 0), times };
  if (tag !== 'effective-time') throw new Ended('A query has a range of revisions or of effective time');
  const cursor = isRecord(from) && isRecord(from['timestamp']) ? from : { timestamp: from, revision: undefined };
  if (cursor['revision'] !== undefined && cursor['revision'] !== 0n && cursor['revision'] !== 0)
    throw new Ended('The host does not continue a query inside one effective time');
  const end = bounds['end-at'] === undefined ? cut : earlier(instantFrom(bounds['end-at']), cut);
  const start = cursor['timestamp'] === undefined ? undefined : instantFrom(cursor['timestamp']);
  return { start: 0, times: { start, end } };
}

function earlier(one: Instant, other: Instant | undefined): Instant {
  return other === undefined || compareInstants(one, other) <= 0 ? one : other;
}

/** Parses the record `datetime`. */
function instantFrom(value: Value): Instant {
  const { seconds, nanoseconds: nanos } = isRecord(value) ? value : {};
  const whole = integerFrom(seconds);
  if (whole !== undefined && whole <= INSTANT_SECONDS_MAX && typeof nanos === 'number' && isInstant(whole, nanos)) {
    return { seconds: whole, nanos };
  }
  throw new Ended('The component passes a time that is invalid, or after the year 9999');
}

function countFrom(value: Value): number {
  const count = integerFrom(value);
  if (count === undefined || count < 0) throw new Ended('The component gives a number that counts nothing');
  return count;
}

/** Values above 2^53 become 2^53: no database reaches either. */
export function integerFrom(value: Value): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  return typeof value === 'bigint' ? Number(value > SAFE_MAX ? SAFE_MAX : value) : undefined;
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

const ATTRIBUTES: ReadonlyMap<Value, string> = new Map([
  ['stream', 'stream'],
  ['subject', 'subject'],
  ['event-type', 'event_type'],
]);

/** Adds the attribute of the value to parameter names, as in our `{attribute}.{parameter}`. */
function parametersFrom(value: Value): ReadonlyMap<string, string> {
  const pairs = (isList(value) ? value : []).map((pair): readonly [string, string] => {
    const [name, attribute] = isList(pair) ? pair : [];
    const { tag, val } = isRecord(attribute) ? attribute : {};
    const kind = ATTRIBUTES.get(tag);
    if (typeof name === 'string' && kind !== undefined && typeof val === 'string') return [`${kind}.${name}`, val];
    throw new Ended('A parameter of a State View is a name with a stream, a subject or an event type');
  });
  const parameters = new Map(pairs);
  if (parameters.size < pairs.length) throw new Ended('Two parameters of a State View have the same name');
  return parameters;
}
