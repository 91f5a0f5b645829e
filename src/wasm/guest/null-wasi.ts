/**
 * A deterministic WASI without capabilities.
 *
 * Toolchains import interfaces that their guests call incidentally: a clock for a seed, a stream for an error message.
 * So the clock returns the host's fixed time, random numbers come from the host's seed, arguments, environment and
 * directories are empty, and output is discarded. Any other call throws, after which the instance is not used again.
 *
 *   G10 The results of WASI in a call depend on the options of the call alone.
 */
import type { Callable } from '../abi/abi-types.ts';
import { Handle, tagged, type Value } from '../abi/values.ts';
import { Faulted } from '../faults.ts';

export interface WasiOptions {
  /** The time of the event or of the transaction, Unix nanoseconds. */
  readonly timeNs: bigint;
  /** Seed of the random number stream. */
  readonly seed: bigint;
}

export const WASI_PREFIX = 'wasi:';

export class NullWasi {
  #timeNs = 0n;
  #random: () => bigint = randomWords(0n);
  readonly #answers: ReadonlyMap<string, Callable> = this.#answersOf();

  /** Sets the options of the next call. */
  begin({ timeNs, seed }: WasiOptions): void {
    this.#timeNs = timeNs < 0n ? 0n : timeNs;
    this.#random = randomWords(seed);
  }

  /** Returns the function of an interface, named with or without its version. */
  functionOf(interfaceName: string, functionName: string): Callable {
    const [bare = ''] = interfaceName.split('@');
    const key = `${bare}#${functionName}`;
    return this.#answers.get(key) ?? denied(key);
  }

  /** The functions that have an answer; all others are denied. */
  #answersOf(): ReadonlyMap<string, Callable> {
    const always = (answer: Value) => (): Value => answer;
    const resource = (): Value => new Handle(0);
    const words = (): bigint => this.#random();
    const bytes: Callable = ([count]) => randomBytes(Number(count), words);
    const written = always(tagged('ok'));
    return new Map<string, Callable>([
      ['wasi:cli/environment#get-environment', always([])],
      ['wasi:cli/environment#get-arguments', always([])],
      ['wasi:cli/environment#initial-cwd', always(undefined)],
      ['wasi:cli/stdin#get-stdin', resource],
      ['wasi:cli/stdout#get-stdout', resource],
      ['wasi:cli/stderr#get-stderr', resource],
      ['wasi:cli/terminal-stdin#get-terminal-stdin', always(undefined)],
      ['wasi:cli/terminal-stdout#get-terminal-stdout', always(undefined)],
      ['wasi:cli/terminal-stderr#get-terminal-stderr', always(undefined)],
      ['wasi:clocks/monotonic-clock#now', () => BigInt.asUintN(64, this.#timeNs)],
      ['wasi:clocks/monotonic-clock#resolution', always(1n)],
      ['wasi:clocks/wall-clock#now', () => wallTime(this.#timeNs)],
      ['wasi:clocks/wall-clock#resolution', always({ seconds: 0n, nanoseconds: 1 })],
      ['wasi:filesystem/preopens#get-directories', always([])],
      ['wasi:random/random#get-random-bytes', bytes],
      ['wasi:random/random#get-random-u64', words],
      ['wasi:random/insecure#get-insecure-random-bytes', bytes],
      ['wasi:random/insecure#get-insecure-random-u64', words],
      ['wasi:random/insecure-seed#insecure-seed', () => [words(), words()]],
      ['wasi:io/streams#[method]output-stream.check-write', always(tagged('ok', BigInt(WRITE_BYTES_MAX)))],
      ['wasi:io/streams#[method]output-stream.write', written],
      ['wasi:io/streams#[method]output-stream.blocking-write-and-flush', written],
      ['wasi:io/streams#[method]output-stream.flush', written],
      ['wasi:io/streams#[method]output-stream.blocking-flush', written],
    ]);
  }
}

/** Maximum size of a write; the output is discarded. */
const WRITE_BYTES_MAX = 65_536;
/** Maximum number of random bytes per call: more would take memory of the host. */
const RANDOM_BYTES_MAX = 65_536;
const NS_PER_SECOND = 1_000_000_000n;

function wallTime(timeNs: bigint): Value {
  return { seconds: timeNs / NS_PER_SECOND, nanoseconds: Number(timeNs % NS_PER_SECOND) };
}

function randomBytes(count: number, random: () => bigint): Uint8Array {
  if (!(count >= 0 && count <= RANDOM_BYTES_MAX)) {
    throw new Faulted('Denied', `A guest asks for ${count} random bytes; the limit is ${RANDOM_BYTES_MAX}`);
  }
  const bytes = new Uint8Array(Math.ceil(count / 8) * 8);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += 8) view.setBigUint64(at, random(), true);
  return bytes.subarray(0, count);
}

/** SplitMix64: a deterministic random stream, unfit for secrets. */
function randomWords(seed: bigint): () => bigint {
  let state = BigInt.asUintN(64, seed);
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let word = state;
    word = BigInt.asUintN(64, (word ^ (word >> 30n)) * 0xbf58476d1ce4e5b9n);
    word = BigInt.asUintN(64, (word ^ (word >> 27n)) * 0x94d049bb133111ebn);
    return word ^ (word >> 31n);
  };
}

function denied(key: string): Callable {
  return () => {
    throw new Faulted('Denied', `A guest calls ${key}, which is not available here`);
  };
}
