// A State View whose state depends on every byte of every event and on their order, and a second implementation of its
// fold.
//
// The state is a count and a hash, each u32; rendering appends the parameters to the state. It refuses an event with a
// question mark, and each byte of an event costs a unit of fuel.
import { createHash } from 'node:crypto';
import type { Result } from '#base';
import {
  ArtifactStore,
  CacheFolder,
  type ComponentSource,
  type FoldExecutors,
  type RunnableArtifact,
} from '#components';
import { DEFAULT_LIMITS, type Executors } from '#wasm';
import { publish } from '../../../src/wasm/publishing/publish.ts';
import type { KnownEvent } from '../known-database.ts';
import { builtComponent } from '../wasm/built.ts';
import { LIMITED } from '../wasm/executors.ts';
import { allocatorText, FOLDING, wat } from '../wasm/wat.ts';

type Kind = ComponentSource['kind'];

export interface ViewForm {
  readonly hasBatch: boolean;
  readonly hasQuery: boolean;
}

const TYPES = '(type $bytes (list u8)) (type $many (list $bytes)) (type $folded (result $bytes (error string)))';
const OPTIONS = `(memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc")) (post-return (core func $i "post"))`;

function hashingText({ hasBatch, hasQuery }: ViewForm): string {
  const lifted = (name: string, second: string): string =>
    `(func $${name} (param "a" $bytes) (param "b" ${second}) (result $folded) (canon lift (core func $i "${name}") ${OPTIONS}))
     (export "${name}" (func $${name}))`;
  return `(component
    (core module $m ${CORE})
    (core instance $i (instantiate $m))
    ${TYPES}
    ${lifted('evolve', '$bytes')}
    ${hasBatch ? lifted('evolve-many', '$many') : ''}
    ${hasQuery ? lifted('query', '$bytes') : ''})`;
}

/** A memory whose allocator restarts after each call; the state is at 64, the result at 16. */
const CORE = `
  (memory (export "memory") 64)
  (data (i32.const 32) "no")
  (global $refuses (mut i32) (i32.const 0))
  ${allocatorText(4096)}
  (func (export "post") (param i32) (global.set $top (i32.const 4096)))
  (func $begin (param $s i32) (param $n i32)
    (global.set $refuses (i32.const 0))
    (memory.fill (i32.const 64) (i32.const 0) (i32.const 8))
    (memory.copy (i32.const 64) (local.get $s) (local.get $n)))
  (func $step (param $e i32) (param $n i32) (local $end i32) (local $hash i32) (local $byte i32)
    (local.set $end (i32.add (local.get $e) (local.get $n)))
    (local.set $hash (i32.load (i32.const 68)))
    (block $out (loop $bytes
      (br_if $out (i32.ge_u (local.get $e) (local.get $end)))
      (local.set $byte (i32.load8_u (local.get $e)))
      (if (i32.eq (local.get $byte) (i32.const 63)) (then (global.set $refuses (i32.const 1))))
      (local.set $hash (i32.mul (i32.xor (local.get $hash) (local.get $byte)) (i32.const 16777619)))
      (local.set $e (i32.add (local.get $e) (i32.const 1)))
      (br $bytes)))
    (i32.store (i32.const 64) (i32.add (i32.load (i32.const 64)) (i32.const 1)))
    (i32.store (i32.const 68) (i32.add (local.get $hash) (i32.const 1))))
  (func $result (param $tag i32) (param $at i32) (param $n i32) (result i32)
    (i32.store8 (i32.const 16) (local.get $tag))
    (i32.store (i32.const 20) (local.get $at))
    (i32.store (i32.const 24) (local.get $n))
    (i32.const 16))
  (func $answer (result i32)
    (if (global.get $refuses) (then (return (call $result (i32.const 1) (i32.const 32) (i32.const 2)))))
    (call $result (i32.const 0) (i32.const 64) (i32.const 8)))
  ${FOLDING}
  (func (export "query") (param $s i32) (param $sn i32) (param $p i32) (param $pn i32) (result i32)
    (memory.copy (i32.const 1024) (local.get $s) (local.get $sn))
    (memory.copy (i32.add (i32.const 1024) (local.get $sn)) (local.get $p) (local.get $pn))
    (call $result (i32.const 0) (i32.const 1024) (i32.add (local.get $sn) (local.get $pn))))`;

/** The component as a database provides it, with the number of requests for its bytes. */
export async function hashingView(form: ViewForm): Promise<ComponentSource & { asked: number }> {
  const bytes = await wat(hashingText(form));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const component = {
    kind: 'state-view' as const,
    digest,
    asked: 0,
    bytes: async (): Promise<Uint8Array> => {
      component.asked++;
      return bytes;
    },
  };
  return component;
}

/** A store of artifacts that are built in the process of the test. */
export async function storeIn(path: string, tableElementsMax: number = 1000): Promise<ArtifactStore> {
  const folder = await CacheFolder.open({ path, bytesMax: 1e7, memoryBytesMax: 0 });
  const limits = { ...DEFAULT_LIMITS, tableElementsMax };
  const publisher: ConstructorParameters<typeof ArtifactStore>[1] = { publish: async (...given) => publish(...given) };
  return new ArtifactStore(folder, publisher, { limits, smoke: LIMITED });
}

export async function runnableView(path: string, form: ViewForm): Promise<RunnableArtifact> {
  const store = await storeIn(path);
  return made(await store.artifact(await hashingView(form)));
}

/** Artifact of a component built from a module of this repository. */
export async function builtArtifact(path: string, kind: Kind, module: string): Promise<RunnableArtifact> {
  return artifactOfBytes(path, kind, await builtComponent(module));
}

/** Artifact of a component in text format. */
export async function textArtifact(path: string, kind: Kind, text: string): Promise<RunnableArtifact> {
  return artifactOfBytes(path, kind, await wat(text));
}

/** Artifact of a given component. */
export async function artifactOfBytes(path: string, kind: Kind, bytes: Uint8Array): Promise<RunnableArtifact> {
  const digest = createHash('sha256').update(bytes).digest('hex');
  const store = await storeIn(path, 100_000);
  return made(await store.artifact({ kind, digest, bytes: async () => bytes }));
}

export function made<Value>(result: Result<Value, unknown>): Value {
  if (result.kind === 'failure') throw new Error(JSON.stringify(result.reason));
  return result.value;
}

/** Executors that are sometimes closed during a call and replaced by new ones. */
export class MortalExecutors implements FoldExecutors, AsyncDisposable {
  readonly #make: () => Executors;
  #running: Executors;
  /** Number of calls until the next close. */
  callsLeft: number = Number.POSITIVE_INFINITY;
  ended = 0;

  constructor(make: () => Executors) {
    this.#make = make;
    this.#running = make();
  }

  fold(call: Parameters<Executors['fold']>[0]): ReturnType<Executors['fold']> {
    return this.#during((running) => running.fold(call));
  }

  call(call: Parameters<Executors['call']>[0]): ReturnType<Executors['call']> {
    return this.#during((running) => running.call(call));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
  }

  async #during<Outcome>(work: (running: Executors) => Promise<Outcome>): Promise<Outcome> {
    const running = this.#running;
    const outcome = work(running);
    if (this.callsLeft-- <= 0) {
      this.callsLeft = Number.POSITIVE_INFINITY;
      this.ended++;
      this.#running = this.#make();
      await running[Symbol.asyncDispose]();
    }
    return outcome;
  }
}

/** Parts of an event that its text needs. */
export interface FoldedEvent {
  readonly event: Pick<KnownEvent['event'], 'id' | 'source' | 'type' | 'subject' | 'time' | 'data'>;
  readonly stored: Pick<KnownEvent['stored'], 'position' | 'recordedTimeMs' | 'storedId'>;
}

/** The state after these events, in this order, computed by a loop. */
export function naiveState(events: readonly FoldedEvent[]): Uint8Array {
  if (events.length === 0) return new Uint8Array(0);
  let hash = 0;
  for (const event of events) {
    for (const byte of Buffer.from(naiveJson(event))) hash = Math.imul(hash ^ byte, 16_777_619);
    hash = (hash + 1) | 0;
  }
  const state = new DataView(new ArrayBuffer(8));
  state.setUint32(0, events.length, true);
  state.setInt32(4, hash, true);
  return new Uint8Array(state.buffer);
}

/** JSON of an event with a time of whole seconds and without extensions, as a read over HTTP returns it. */
function naiveJson({ event, stored }: FoldedEvent): string {
  const { position, recordedTimeMs } = stored;
  const { id, source, type, subject, time } = event;
  return JSON.stringify({
    id: stored.storedId ?? id,
    source,
    specversion: '1.0',
    type,
    subject,
    time: time === undefined ? undefined : timeText(time.instant.seconds * 1000),
    revision: position.revision,
    index: position.index,
    recordedtime: timeText(recordedTimeMs),
    ...(event.data.length === 0 ? {} : { data: JSON.parse(Buffer.from(event.data).toString()) }),
  });
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0+Z$/, 'Z');
}
