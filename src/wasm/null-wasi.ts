/**
 * WASI that gives nothing, and the same each time.
 *
 * Toolchains import interfaces that their guests call by the way: a clock for a seed, a stream for an error message. So
 * time stands still at what the host says, random numbers come from a seed of the host's, there are no arguments, no
 * environment and no directories, what is printed goes nowhere, and everything else is denied by an exception, after
 * which the instance is not used again.
 *
 * What is made has the form in which the glue of jco wants imports: interfaces by their names without versions,
 * functions and methods in camel case, resources as classes. Only what the component imports is there.
 *
 *   G10 What a guest learns from WASI depends on the options alone.
 */
import type { ImportedInterface } from './allowed-imports.ts';

export interface NullWasiOptions {
  /** The time of the event or of the transaction, Unix nanoseconds. */
  readonly timeNs: bigint;
  /** What the stream of random numbers begins with. */
  readonly seed: bigint;
}

type WasiFunction = (...values: readonly unknown[]) => unknown;
/** By interface, then by the name of a function or of a class. */
export type WasiImports = Readonly<Record<string, Readonly<Record<string, WasiFunction | ResourceClass>>>>;
type ResourceClass = new () => object;

/** Thrown into a guest that asks for what it may not have. */
export class Denied extends Error {
  override readonly name = 'Denied';
}

/** The imports of WASI among those of a component. */
export function nullWasi(imports: readonly ImportedInterface[], options: NullWasiOptions): WasiImports {
  const random = randomWords(options.seed);
  const answers = answersOf(options, random);
  const wasi = imports.filter(({ name }) => name.startsWith('wasi:'));
  const classes = new Map(wasi.flatMap((imported) => resourceClasses(imported)));
  return Object.fromEntries(wasi.map((imported) => [imported.name, interfaceOf(imported, answers, classes)]));
}

type Answers = ReadonlyMap<string, (resource: (name: string) => object) => WasiFunction>;

/** What is answered; all else is denied. */
function answersOf({ timeNs }: NullWasiOptions, random: () => bigint): Answers {
  const value =
    (answer: unknown): (() => WasiFunction) =>
    () =>
    () =>
      answer;
  const made = (name: string) => (resource: (name: string) => object) => () => resource(name);
  const bytes = (): WasiFunction => (count) => randomBytes(Number(count), random);
  const written = (): WasiFunction => () => undefined;
  return new Map<string, (resource: (name: string) => object) => WasiFunction>([
    ['wasi:cli/environment#get-environment', () => () => []],
    ['wasi:cli/environment#get-arguments', () => () => []],
    ['wasi:cli/environment#initial-cwd', value(undefined)],
    ['wasi:cli/stdin#get-stdin', made('input-stream')],
    ['wasi:cli/stdout#get-stdout', made('output-stream')],
    ['wasi:cli/stderr#get-stderr', made('output-stream')],
    ['wasi:cli/terminal-stdin#get-terminal-stdin', value(undefined)],
    ['wasi:cli/terminal-stdout#get-terminal-stdout', value(undefined)],
    ['wasi:cli/terminal-stderr#get-terminal-stderr', value(undefined)],
    ['wasi:clocks/monotonic-clock#now', value(timeNs)],
    ['wasi:clocks/monotonic-clock#resolution', value(1n)],
    ['wasi:clocks/wall-clock#now', () => () => wallTime(timeNs)],
    ['wasi:clocks/wall-clock#resolution', () => () => ({ seconds: 0n, nanoseconds: 1 })],
    ['wasi:filesystem/preopens#get-directories', () => () => []],
    ['wasi:random/random#get-random-bytes', bytes],
    ['wasi:random/random#get-random-u64', () => random],
    ['wasi:random/insecure#get-insecure-random-bytes', bytes],
    ['wasi:random/insecure#get-insecure-random-u64', () => random],
    ['wasi:random/insecure-seed#insecure-seed', () => () => [random(), random()]],
    ['wasi:io/streams#[method]output-stream.check-write', value(BigInt(WRITE_BYTES_MAX))],
    ['wasi:io/streams#[method]output-stream.write', written],
    ['wasi:io/streams#[method]output-stream.blocking-write-and-flush', written],
    ['wasi:io/streams#[method]output-stream.flush', written],
    ['wasi:io/streams#[method]output-stream.blocking-flush', written],
  ]);
}

/** What a guest may write at a time; it goes nowhere. */
const WRITE_BYTES_MAX = 65_536;
/** Random bytes that are given at a time: more is a way to take memory of the host. */
const RANDOM_BYTES_MAX = 65_536;
const NS_PER_SECOND = 1_000_000_000n;

function wallTime(timeNs: bigint): { readonly seconds: bigint; readonly nanoseconds: number } {
  return { seconds: timeNs / NS_PER_SECOND, nanoseconds: Number(timeNs % NS_PER_SECOND) };
}

function randomBytes(count: number, random: () => bigint): Uint8Array {
  if (!(count >= 0 && count <= RANDOM_BYTES_MAX)) {
    throw new Denied(`A guest asks for ${count} random bytes; ${RANDOM_BYTES_MAX} is the most`);
  }
  const bytes = new Uint8Array(Math.ceil(count / 8) * 8);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += 8) view.setBigUint64(at, random(), true);
  return bytes.subarray(0, count);
}

/** SplitMix64: a stream of words that has nothing to do with secrets. */
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

function resourceClasses({ resources }: ImportedInterface): readonly (readonly [string, ResourceClass])[] {
  return resources.map((name) => [name, resourceClass(name)]);
}

function resourceClass(name: string): ResourceClass {
  return class {
    readonly resource: string = name;
  };
}

function interfaceOf(
  { name, functions, resources }: ImportedInterface,
  answers: Answers,
  classes: ReadonlyMap<string, ResourceClass>,
): Readonly<Record<string, WasiFunction | ResourceClass>> {
  const resource = (wanted: string): object => {
    const Made = classes.get(wanted);
    if (Made === undefined) throw new Denied(`A guest asks for a ${wanted} and imports no such resource`);
    return new Made();
  };
  const members = new Map<string, WasiFunction | ResourceClass>();
  for (const own of resources) {
    const ownClass = classes.get(own);
    if (ownClass !== undefined) members.set(pascalCase(own), ownClass);
  }
  for (const member of functions) {
    const key = `${name}#${member}`;
    const call = answers.get(key)?.(resource) ?? denied(key);
    const [, form, owner, method] = MEMBER.exec(member) ?? [];
    const ownerClass = classes.get(owner ?? '');
    if (form === undefined) members.set(camelCase(member), call);
    else if (form === 'method' && ownerClass !== undefined && method !== undefined) {
      Object.defineProperty(ownerClass.prototype, camelCase(method), { value: call, configurable: true });
    }
  }
  return Object.fromEntries(members);
}

/** `[method]output-stream.write`. Nothing is static or a constructor that is answered, so those are left out. */
const MEMBER = /^\[(method|static|constructor)\]([^.]+)(?:\.(.+))?$/;

function denied(key: string): WasiFunction {
  return () => {
    throw new Denied(`A guest calls ${key}, which gives nothing here`);
  };
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function pascalCase(name: string): string {
  return camelCase(`-${name}`);
}
