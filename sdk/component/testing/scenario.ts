/**
 * Scenarios: given, when, then; for plain code and for built components alike.
 *
 *   await view(host).given(opened, deposited).thenState({ balance: 30 });
 *   await view(host, { effectiveTimeEndAt: '2026-03-31T00:00:00Z' }).given(shipped, counted).thenState(…);
 *   await change(host).given({ events }).when({ method: 'POST', path: '/a/deposits' }, { cents: 5 }).thenEmits([…]);
 *   await presenter(host).given(state).when({ contentType: 'text/csv' }).thenWrites('a,b\n');
 *
 * A scenario of a State View folds its events one by one, in one batch, and in two batches with the encoded state
 * between them: the host may do any of these, and the resulting bytes must be equal.
 */
import { deepStrictEqual, fail, match, strictEqual } from 'node:assert/strict';
import { toRecord } from '../src/event.ts';
import {
  isMatch,
  type Json,
  type NewEvent,
  type Parameters,
  type PresentErrorKind,
  type ReaderFunctions,
  type RefusalKind,
  type Selector,
  type StoredEvent,
  type Tagged,
} from '../src/index.ts';
import { jsonText, parseJson, toBytes, toText } from '../src/json.ts';
import { happenedBy } from './effective-time.ts';
import type { ChangeHost, PresenterHost, Said, ViewHost } from './hosts.ts';

const NOTHING = new Uint8Array(0);

/** The events as stored: one transaction each, one second apart. */
export function stored(...events: readonly NewEvent[]): readonly StoredEvent[] {
  return events.map((event, index) => {
    const { extensions, data, ...rest } = event;
    if (data instanceof Uint8Array) throw new TypeError('The kit stores events of JSON; give the others as they are');
    const recordedtime = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
    const id = event.id ?? `event-${index + 1}`;
    return {
      ...rest,
      ...extensions,
      id,
      specversion: '1.0',
      revision: index + 1,
      index: 0,
      recordedtime,
      data: data ?? {},
    };
  });
}

export interface ViewOutcome {
  /** Expects the rendered state, as JSON. */
  thenState(expected: Json, parameters?: Parameters): Promise<void>;
  /** Expects the rendered state, as text. */
  thenText(expected: string, parameters?: Parameters): Promise<void>;
  /** Expects that the fold fails. */
  thenFails(message: RegExp): Promise<void>;
}

export interface ViewOrder {
  /** The cut of a view in the order of effective time. Default: the order of revisions. */
  readonly effectiveTimeEndAt?: string;
}

export function view(
  host: ViewHost,
  { effectiveTimeEndAt }: ViewOrder = {},
): { given(...events: readonly NewEvent[]): ViewOutcome } {
  return {
    given(...events) {
      const all = stored(...events);
      const ordered = effectiveTimeEndAt === undefined ? all : happenedBy(all, effectiveTimeEndAt);
      const bytes = ordered.map((event) => toBytes(jsonText(event)));
      const read = async (parameters: Parameters = {}): Promise<Uint8Array> =>
        valueOf(await host.query(valueOf(await folded(host, bytes)), toBytes(jsonText(parameters))));
      return {
        thenState: async (expected, parameters) => deepStrictEqual(parseJson(await read(parameters)), expected),
        thenText: async (expected, parameters) => strictEqual(toText(await read(parameters)), expected),
        async thenFails(message) {
          const said = await folded(host, bytes);
          if (said.kind === 'ok') fail(`The events are folded to ${toText(said.value)}`);
          match(messageOf(said.error), message);
        },
      };
    },
  };
}

/** Folds in the three ways that a host may choose. */
async function folded(host: ViewHost, events: readonly Uint8Array[]): Promise<Said<Uint8Array, string>> {
  let stepped: Said<Uint8Array, string> = { kind: 'ok', value: NOTHING };
  for (const event of events) if (stepped.kind === 'ok') stepped = await host.step(stepped.value, event);
  if (events.length === 0) return stepped;
  const whole = await host.fold(NOTHING, events);
  const half = Math.ceil(events.length / 2);
  const first = await host.fold(NOTHING, events.slice(0, half));
  const rest = events.slice(half);
  const halves = first.kind === 'ok' && rest.length > 0 ? await host.fold(first.value, rest) : first;
  for (const [how, said] of Object.entries({ 'one batch': whole, 'two batches': halves })) {
    deepStrictEqual(shown(said), shown(stepped), `A fold by ${how} gives another state than a fold by single events`);
  }
  return whole;
}

function shown(said: Said<Uint8Array, string>): string {
  return said.kind === 'ok' ? toText(said.value) : messageOf(said.error);
}

/** The message without the stack, which differs between the exports. */
function messageOf(error: string): string {
  return error.split('\n    at ')[0] ?? '';
}

/** The data that a State Change reads: rendered states by view name, or functions that return them; and events. */
export interface World {
  readonly views?: Readonly<Record<string, Json | ((parameters: Parameters) => Json | undefined)>>;
  readonly events?: readonly NewEvent[];
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query?: Parameters;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ChangeOutcome {
  thenEmits(expected: readonly NewEvent[]): Promise<void>;
  thenRefuses(
    kind: RefusalKind,
    more?: { readonly message?: RegExp; readonly code?: string; readonly details?: Json },
  ): Promise<void>;
}

export interface ChangeScenario {
  /** Sends the body as JSON. */
  when(sent: Sent, body?: Json): ChangeOutcome;
}

export function change(host: ChangeHost): { given(world: World): ChangeScenario } {
  return {
    given: (world) => ({
      when(sent, body) {
        const decided = (): ReturnType<ChangeHost['decide']> =>
          host.decide(
            {
              method: sent.method,
              path: sent.path,
              queryParams: Object.entries(sent.query ?? {}),
              headers: Object.entries(sent.headers ?? {}),
              body: body === undefined ? undefined : toBytes(jsonText(body)),
            },
            readerOf(world),
          );
        return {
          thenEmits: async (expected) => deepStrictEqual(valueOf(await decided()), expected.map(toRecord)),
          async thenRefuses(kind, { message = /(?:)/, code, details } = {}) {
            const said = await decided();
            if (said.kind === 'ok') fail(`The command is decided into ${said.value.length} events`);
            strictEqual(said.error.tag, kind);
            match(said.error.val.message, message);
            if (code !== undefined) strictEqual(said.error.val.code, code);
            if (details !== undefined) strictEqual(said.error.val.details, jsonText(details));
          },
        };
      },
    }),
  };
}

/** componentize-js passes an error of a result as the payload of a thrown object. */
class ReadRefused extends Error {
  readonly payload: Tagged<'not-found', string>;

  constructor(message: string) {
    super(message);
    this.payload = { tag: 'not-found', val: message };
  }
}

function readerOf({ views = {}, events = [] }: World): ReaderFunctions {
  const all = stored(...events);
  return {
    getStateView(name, parameters) {
      if (!Object.hasOwn(views, name)) throw new ReadRefused(`There is no State View ${name}`);
      const given = views[name];
      const state = typeof given === 'function' ? given(Object.fromEntries(parameters)) : given;
      return state === undefined ? undefined : toBytes(jsonText(state));
    },
    queryEvents(selector, limit) {
      const wanted = parseJson<Selector>(toBytes(selector));
      const found = all.filter((event) => isMatch(wanted, event)).slice(0, limit);
      return found.map((event) => toBytes(jsonText(event)));
    },
    getDatabase: () => ({
      name: 'test',
      id: '01900000-0000-7000-8000-000000000000',
      revision: BigInt(all.length),
      revisionTime: all.at(-1)?.recordedtime ?? '2026-01-01T00:00:00Z',
    }),
  };
}

export interface Asked {
  readonly contentType: string;
  readonly parameters?: Parameters;
  readonly settings?: Json;
  /** The reader stops after so many parts. */
  readonly partsMax?: number;
}

export interface PresenterOutcome {
  thenWrites(expected: string, continuation?: string): Promise<void>;
  thenFails(kind: PresentErrorKind, message?: RegExp): Promise<void>;
}

export function presenter(host: PresenterHost): { given(state: Json): { when(asked: Asked): PresenterOutcome } } {
  return {
    given: (state) => ({
      when({ contentType, parameters = {}, settings, partsMax = Number.POSITIVE_INFINITY }) {
        const presented = (): ReturnType<PresenterHost['present']> =>
          host.present(
            {
              database: 'test',
              databaseId: '01900000-0000-7000-8000-000000000000',
              revision: 1n,
              view: 'view',
              version: 1,
              contentType,
              parameters: Object.entries(parameters),
              settings: settings === undefined ? undefined : jsonText(settings),
            },
            toBytes(jsonText(state)),
            partsMax,
          );
        return {
          async thenWrites(expected, continuation) {
            const { outcome, parts, continuation: said } = await presented();
            if (outcome.kind === 'error') fail(`${outcome.error.tag}: ${outcome.error.val}`);
            strictEqual(Buffer.concat(parts).toString('utf8'), expected);
            strictEqual(said, continuation);
          },
          async thenFails(kind, message = /(?:)/) {
            const { outcome } = await presented();
            if (outcome.kind === 'ok') fail('The presenter writes all of it');
            strictEqual(outcome.error.tag, kind);
            match(outcome.error.val, message);
          },
        };
      },
    }),
  };
}

function valueOf<Value, Wrong>(said: Said<Value, Wrong>): Value {
  if (said.kind === 'error') fail(`The component says: ${JSON.stringify(said.error)}`);
  return said.value;
}
