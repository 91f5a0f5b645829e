/** Hosts of built components: published as the database does, and called in its executors. */
import {
  DEFAULT_EXECUTORS,
  DEFAULT_LIMITS,
  Executors,
  type FunctionCall,
  Handle,
  type HostCall,
  Publisher,
  type PublishOptions,
  tagged,
  type Value,
} from '#wasm';
import type { Kind } from '../build/kinds.ts';
import type { CloudEventRecord, Tagged } from '../src/event.ts';
import type { PresentationRecord, PresentErrorKind } from '../src/presenter.ts';
import type { CommandRecord, ReaderFunctions, RefusalKind } from '../src/state-change.ts';
import type { ChangeHost, Explained, PresenterHost, Said, ViewHost } from './hosts.ts';

type Limits = Pick<FunctionCall, 'limits' | 'wasi' | 'time'>;

/** A JavaScript engine needs high limits: 8 million fuel units for an event, 10 seconds for loops. */
const LIMITS: Limits = {
  limits: { fuel: 50_000_000_000, outputBytesMax: 8 * 2 ** 20, hostCallsMax: 1000 },
  wasi: { timeNs: 0n, seed: 0n },
  time: { wallMs: 60_000, cpuMs: 60_000 },
};

/** A published component with its own executor. */
export class RealHost implements ViewHost, ChangeHost, PresenterHost, AsyncDisposable {
  readonly #executors: Executors;
  readonly #artifact: FunctionCall['artifact'];

  private constructor(artifact: FunctionCall['artifact']) {
    this.#executors = new Executors({ ...DEFAULT_EXECUTORS, count: 1 });
    this.#artifact = artifact;
  }

  /** @throws Error when the component is refused. */
  static async of(component: Uint8Array, kind: Kind): Promise<RealHost> {
    await using publisher = new Publisher();
    const options: PublishOptions = { kind, limits: DEFAULT_LIMITS, smoke: LIMITS };
    const published = await publisher.publish(component, options);
    if (published.kind === 'failure') {
      const { code, message, offset } = published.reason;
      throw new Error(`The component is refused, ${code} at byte ${offset}: ${message}`);
    }
    const { digest, artifact } = published.value;
    return new RealHost({ digest, bytes: artifact });
  }

  async fold(state: Uint8Array, events: readonly Uint8Array[]): Promise<Said<Uint8Array, string>> {
    const call = { artifact: this.#artifact, ...LIMITS, state, events: packed(events) };
    const outcome = await this.#executors.fold(call);
    if (outcome.kind === 'fault') throw faultOf(outcome.fault);
    if (outcome.kind === 'error') return { kind: 'error', error: outcome.message };
    return { kind: 'ok', value: outcome.state };
  }

  step(state: Uint8Array, event: Uint8Array): Promise<Said<Uint8Array, string>> {
    return this.#call<Uint8Array, string>('main', [state, event]);
  }

  query(state: Uint8Array, parameters: Uint8Array): Promise<Said<Uint8Array, string>> {
    return this.#call<Uint8Array, string>('query', [state, parameters]);
  }

  decide(
    command: CommandRecord,
    reader: ReaderFunctions,
  ): Promise<Said<readonly CloudEventRecord[], Tagged<RefusalKind, Explained>>> {
    const { queryParams, ...rest } = command;
    return this.#call('main', [{ ...rest, 'query-params': queryParams }], async (call) => answered(call, reader));
  }

  async present(
    presentation: PresentationRecord,
    state: Uint8Array,
    partsMax: number,
  ): ReturnType<PresenterHost['present']> {
    const { databaseId, contentType, ...rest } = presentation;
    const parts: Uint8Array[] = [];
    let continuation: string | undefined;
    const outcome = await this.#call<undefined, Tagged<PresentErrorKind, string>>(
      'main',
      [{ ...rest, 'database-id': databaseId, 'content-type': contentType }, state],
      async ({ functionName, values: [value] }) => {
        if (functionName === 'continue-with' && typeof value === 'string') return void (continuation = value);
        if (functionName === 'write' && value instanceof Uint8Array) return parts.push(value.slice()) < partsMax;
        throw new TypeError(`There is no ${functionName}`);
      },
    );
    return { outcome, parts, continuation };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#executors[Symbol.asyncDispose]();
  }

  async #call<Answer, Wrong>(
    bound: FunctionCall['bound'],
    values: FunctionCall['values'],
    host?: FunctionCall['host'],
  ): Promise<Said<Answer, Wrong>> {
    const call = { artifact: this.#artifact, ...LIMITS, bound, values, ...(host === undefined ? {} : { host }) };
    const outcome = await this.#executors.call(call);
    if (outcome.kind === 'fault') throw faultOf(outcome.fault);
    const said = plain(outcome.value);
    if (isOk<Answer>(said)) return { kind: 'ok', value: said.val };
    if (isErr<Wrong>(said)) return { kind: 'error', error: said.val };
    throw new TypeError(`The component answers no result: ${JSON.stringify(said)}`);
  }
}

function faultOf({ code, message }: { readonly code: string; readonly message: string }): Error {
  return new Error(`The call ends in a fault, ${code}: ${message}`);
}

/** Answers the interface `state-reader`. */
function answered({ functionName, values: [first, second] }: HostCall, reader: ReaderFunctions): Value {
  if (functionName === 'get-state-view' && typeof first === 'string') {
    return result(() => reader.getStateView(first, pairsOf(second)));
  }
  if (functionName === 'query-events' && typeof first === 'string' && typeof second === 'number') {
    return result(() => reader.queryEvents(first, second));
  }
  if (functionName !== 'get-database') throw new TypeError(`There is no ${functionName}`);
  const { revisionTime, ...rest } = reader.getDatabase();
  return { ...rest, 'revision-time': revisionTime };
}

function pairsOf(value: Value): [string, string][] {
  const pairs: readonly Value[] = Array.isArray(value) ? value : [];
  return pairs.map((pair) => {
    const [name, given]: readonly Value[] = Array.isArray(pair) ? pair : [];
    if (typeof name === 'string' && typeof given === 'string') return [name, given];
    throw new TypeError('A parameter is a name and a text');
  });
}

function result(ask: () => Value): Value {
  try {
    return tagged('ok', ask());
  } catch (error) {
    const said: unknown = error instanceof Error && 'payload' in error ? error.payload : undefined;
    if (isTagged(said)) return tagged('err', tagged(said.tag, said.val));
    throw error;
  }
}

function isTagged(error: unknown): error is Tagged<string, string> {
  return typeof error === 'object' && error !== null && 'tag' in error && 'val' in error;
}

function isOk<Answer>(value: unknown): value is Tagged<'ok', Answer> {
  return isTagged(value) && value.tag === 'ok';
}

function isErr<Wrong>(value: unknown): value is Tagged<'err', Wrong> {
  return isTagged(value) && value.tag === 'err';
}

/** Host records have no prototype; records in tests have one. */
function plain(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value instanceof Uint8Array || value instanceof Handle) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}

const LENGTH_BYTES = 4;

/** Joins the events, each after its length. */
function packed(events: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(events.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const event of events) {
    view.setUint32(at, event.length, true);
    bytes.set(event, at + LENGTH_BYTES);
    at += LENGTH_BYTES + event.length;
  }
  return bytes;
}
