/**
 * Handles the requests of an executor: loads programs, folds, calls, publishes. It is independent of the pipes.
 *
 * An error other than a fault of a guest is thrown and ends the process; another process replaces it.
 */
import { ByteReader, NO_BYTES } from '#base';
import { readValue } from '../abi/value-codec.ts';
import { isRecord, tagged, type Value } from '../abi/values.ts';
import { Faulted } from '../faults.ts';
import { decodeArtifact } from '../guest/artifact.ts';
import { NOTHING_SPENT } from '../guest/calls.ts';
import { type AskHost, type Invoke, Program } from '../guest/guest.ts';
import { publish } from '../publishing/publish.ts';
import { publishedValue } from '../publishing/publish-messages.ts';
import type { Binding } from '../reading/required-exports.ts';
import type { Answer, Request } from './messages.ts';

/** An instance with more memory is not used again. */
const GUEST_BYTES_KEPT = 2 ** 25;

export class Executor {
  readonly #ask: AskHost;
  readonly #programs: Map<number, Program> = new Map();

  constructor(ask: AskHost) {
    this.#ask = ask;
  }

  /** The answer, for requests that have one. */
  handle(request: Request): Answer | undefined {
    const { id } = request;
    switch (request.kind) {
      case 'load':
        this.#load(request);
        return undefined;
      case 'unload':
        this.#programs.delete(request.artifact);
        return undefined;
      case 'publish': {
        const value = publishedValue(publish(request.bytes, request.options));
        return { kind: 'value', id, spent: NOTHING_SPENT, value };
      }
      case 'fold': {
        const program = this.#program(request.artifact);
        const work = (invoke: Invoke): Value => folded(program.artifact.binding, request, invoke);
        return { id, ...program.run(request, work) };
      }
      case 'call': {
        const program = this.#program(request.artifact);
        const { bound, values, isFresh } = request;
        const work = (invoke: Invoke): Value => invoke(boundIn(program.artifact.binding, bound), values);
        return { id, ...program.run(request, work, isFresh) };
      }
    }
  }

  #load({ artifact, bytes }: Extract<Request, { kind: 'load' }>): void {
    // The frame buffer is reused.
    const decoded = decodeArtifact(bytes.slice());
    if (decoded === undefined) throw new TypeError('The artifact belongs to another policy, or is damaged');
    this.#programs.set(artifact, new Program(decoded, this.#ask, GUEST_BYTES_KEPT));
  }

  #program(artifact: number): Program {
    const program = this.#programs.get(artifact);
    if (program === undefined) throw new TypeError(`Artifact ${artifact} is not loaded`);
    return program;
  }
}

function boundIn(binding: Binding, bound: 'main' | 'batch' | 'query'): Binding['main'] {
  const found = binding[bound];
  if (found === undefined) throw new Faulted('NotInstantiable', `The component has no function for ${bound}`);
  return found;
}

interface Fold {
  readonly shown?: Value;
  readonly state: Uint8Array;
  readonly events: Uint8Array;
}

/** Returns the state after all events, as the guest's result; an error ends the fold at its event. */
function folded(binding: Binding, { shown, state, events }: Fold, invoke: Invoke): Value {
  const list = unpacked(events);
  if (binding.shape === 'sdk')
    return list.length === 0 ? tagged('ok', state) : foldedView(binding, { shown, state, list }, invoke);
  if (binding.batch !== undefined)
    return list.length === 0 ? tagged('ok', state) : invoke(binding.batch, [state, list]);
  let latest: Value = tagged('ok', state);
  for (const event of list) {
    latest = invoke(binding.main, [isRecord(latest) ? latest['val'] : NO_BYTES, event]);
    if (isRecord(latest) && latest['tag'] === 'err') return latest;
  }
  return latest;
}

interface ViewFold {
  readonly shown: Value;
  readonly state: Uint8Array;
  readonly list: readonly Uint8Array[];
}

/** Folds in the shape of the SDK: takes a rendered view and events as values, and returns the content of the view. */
function foldedView({ main }: Binding, { shown, state, list }: ViewFold, invoke: Invoke): Value {
  const content = state.length === 0 ? undefined : state;
  const view = { ...(isRecord(shown) ? shown : {}), content };
  return tagged('ok', invoke(main, [view, list.map((event) => readValue(new ByteReader(event)))]) ?? NO_BYTES);
}

const LENGTH_BYTES = 4;

/** Splits events that each follow their length: u32, little-endian. */
function unpacked(packed: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const list: Uint8Array[] = [];
  for (let at = 0; at < packed.length; ) {
    const from = at + LENGTH_BYTES;
    at = from + view.getUint32(at, true);
    list.push(packed.subarray(from, at));
  }
  return list;
}
