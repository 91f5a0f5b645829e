// Components that must not be published, each with the code of its refusal: all hostile components that inspection can
// detect. None contains a payload.
import { ByteWriter } from '#base';
import type { RefusalCode } from '#wasm';
import { viewText, wat } from './wat.ts';

export interface Hostile {
  readonly what: string;
  readonly code: RefusalCode;
  /** Pattern of the message. */
  readonly says: RegExp;
  readonly bytes: () => Promise<Uint8Array>;
}

const encoder = new TextEncoder();

/** An instance type with a hundred functions. */
const INTERFACE = `(instance ${Array.from({ length: 100 }, (_, i) => `(export "f${i}" (func))`).join(' ')})`;

export const HOSTILE: readonly Hostile[] = [
  ...of(
    'InvalidComponent',
    ['no bytes', /has no bytes/, new Uint8Array(0)],
    ['some other text', /begin with 68 65 6c 6c 6f; a component begins with/, encoder.encode('hello')],
    ['a component as text', /text has to be parsed first/, encoder.encode('(component)')],
    ['a core module', /is a core module/, '(module)'],
    ['a count that is a lie', /bytes end at \d+/, functionsOf(200_000)],
    ['two imports of one name', /given twice/, `(component ${'(import "wasi:cli/exit@0.2.0" (instance))'.repeat(2)})`],
    ['two exports of one name', /given twice/, viewText({ after: '(export "evolve" (func $evolve))' })],
    ['a record of nothing', /is empty/, '(component (type (record)))'],
    [
      'many flags',
      /33 flags; the limit is 32/,
      `(component (type (flags ${Array.from({ length: 33 }, (_, i) => `"f${i}"`).join(' ')})))`,
    ],
    ['an invalid core module', /The core module at \d+ is not valid/, functionOf('(drop)')],
  ),
  ...of(
    'MissingExport',
    ['a component without anything', /exports one function evolve\(list<u8>.*exports no function/, '(component)'],
    ['the function of another kind', /exports evolve-it\(list<u8>, list<u8>\)/, otherExport('evolve-it')],
    ['another shape', /exports evolve\(string\) -> string$/, otherShape()],
  ),
  ...of(
    'MemoryLimit',
    ['a memory of 40,000 pages', /2621440000 bytes of memory/, viewText({ memory: '40000' })],
    ['memories that add up', /bytes of memory/, instances(9, '(memory 256)')],
    ['a table of a million elements', /1000000 elements/, viewText({ core: '(table 1000000 funcref)' })],
  ),
  ...of(
    'TooLarge',
    ['many tables', /has 17 tables; the limit is 16/, viewText({ core: '(table 0 funcref)'.repeat(17) })],
    ['many core modules', /65 core modules/, `(component ${'(core module)'.repeat(65)})`],
    ['many core instances', /257 instances of core modules/, instances(257, '')],
    ['many components', /65 components inside/, `(component ${'(component)'.repeat(65)})`],
    ['components that unfold into a million', /126 instances of components/, unfolding(20)],
    ['components nested too deep', /17 deep/, `${'(component '.repeat(18)}${')'.repeat(18)}`],
    ['a million definitions', /more than 100000 definitions/, `(component (type (tuple ${'u8 '.repeat(100_001)})))`],
    ['many sections', /more than 10000 sections/, `(component ${'(@custom "" "")'.repeat(10_001)})`],
    [
      'many sections of a core module',
      /module has more than 10000/,
      `(component (core module ${'(@custom "" "")'.repeat(10_001)}))`,
    ],
    ['many functions', /200001 functions; the limit is 200000/, functionsOf(200_001)],
    ['an interface that is imported again and again', /10100 functions and types .* imports/, importedOften(101)],
    ['an interface that is exported again and again', /10100 functions and types .* exports/, exportedOften(101)],
  ),
  ...of(
    'CodeTooComplex',
    [
      'a function of 220,000 ifs',
      /has \d+ bytes; the limit is 1048576/,
      functionOf('i32.const 1 if end '.repeat(220_000)),
    ],
    ['many locals', /has 50001 locals/, functionOf(`(local ${'i64 '.repeat(50_001)})`)],
    ['many loops', /more than 100000 loops/, functionOf('(loop)'.repeat(100_001))],
  ),
  ...of(
    'UnsupportedFeature',
    ['structs that are collected', /garbage collection/, viewText({ core: '(type (struct))' })],
    ['numbers that are references', /garbage collection/, functionOf('(drop (ref.i31 (i32.const 1)))')],
    ['typed references', /typed references/, functionOf('(call_ref 0 (i32.const 0) (ref.func 0))')],
    ['a shared memory', /threads/, viewText({ memory: '1 2 shared' })],
    ['an atomic operator', /threads/, functionOf('(drop (i32.atomic.load (i32.const 0)))')],
    ['a memory of 64 bits', /memory64/, '(component (core module (memory i64 1)))'],
    ['a table of 64 bits', /memory64/, '(component (core module (table i64 1 funcref)))'],
    ['a second memory', /multi-memory/, viewText({ core: '(memory 1)' })],
    ['small pages', /custom page sizes/, '(component (core module (memory 1 (pagesize 1))))'],
    ['relaxed SIMD', /relaxed SIMD/, functionOf(relaxed())],
    ['exceptions', /exception handling/, functionOf('(try_table (throw 0))', '(tag)')],
    [
      'wide arithmetic',
      /operator 0xfc/,
      functionOf('(drop (drop (i64.add128 (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0))))'),
    ],
    ['an asynchronous function', /asynchronous/, '(component (import "f" (func async)))'],
    ['a stream', /asynchronous/, '(component (type (stream u8)))'],
    ['a core module from elsewhere', /outside of core modules/, '(component (import "m" (core module)))'],
  ),
  ...of(
    'ForbiddenImport',
    ['sockets', /"wasi:sockets\/tcp@0\.2\.0"/, imported('wasi:sockets/tcp@0.2.0')],
    ['WASI of another version', /"wasi:cli\/stdout@0\.3\.0"/, imported('wasi:cli/stdout@0.3.0')],
    ['an interface of nobody', /"evil:host\/shell"/, imported('evil:host/shell')],
    ['what another kind imports', /"cairn:component\/sink@0\.1\.0"/, imported('cairn:component/sink@0.1.0')],
    ['a function on its own', /"shell"/, viewText({ before: '(import "shell" (func))' })],
    ['an instance inside', /stdout@0\.2\.0#inner/, imported('wasi:cli/stdout@0.2.0', '(export "inner" (instance))')],
  ),
  cut('half of a component', 0.5, /The bytes end at \d+, inside an unfinished/),
  cut('a component without its last byte', 1, /The bytes end at \d+, inside an unfinished/),
];

type Row = readonly [what: string, says: RegExp, made: string | Uint8Array];

function of(code: RefusalCode, ...rows: readonly Row[]): readonly Hostile[] {
  return rows.map(([what, says, made]) => ({
    what,
    code,
    says,
    bytes: async () => (typeof made === 'string' ? wat(made) : made),
  }));
}

function cut(what: string, part: number, says: RegExp): Hostile {
  const bytes = async (): Promise<Uint8Array> => {
    const whole = await wat(viewText());
    return whole.subarray(0, Math.ceil((whole.length - 1) * part));
  };
  return { what, code: 'InvalidComponent', says, bytes };
}

function functionOf(body: string, core: string = ''): string {
  return viewText({ core: `${core} (func ${body})` });
}

function relaxed(): string {
  const vector = '(v128.const i64x2 0 0)';
  return `(drop (f32x4.relaxed_madd ${vector} ${vector} ${vector}))`;
}

function imported(name: string, exported: string = ''): string {
  return viewText({ before: `(import "${name}" (instance ${exported}))` });
}

function otherExport(name: string): string {
  return viewText().replace('(export "evolve" (func $evolve))', `(export "${name}" (func $evolve))`);
}

function otherShape(): string {
  return `(component
    (core module $m (func (export "f") (param i32 i32) (result i32) (i32.const 0)))
    (core instance $i (instantiate $m))
    (func $f (param "s" string) (result string) (canon lift (core func $i "f")))
    (export "evolve" (func $f)))`;
}

function instances(count: number, core: string): string {
  return `(component (core module $m ${core}) ${'(core instance (instantiate $m))'.repeat(count)})`;
}

/** A core module that declares this number of functions and then ends. */
function functionsOf(count: number): Uint8Array {
  const writer = new ByteWriter();
  writer.varint(count);
  const length = writer.length + 2;
  writer.reset();
  writer.bytes(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00, 0x01, 8 + length));
  writer.bytes(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x03, length - 2));
  writer.varint(count);
  return writer.take();
}

function importedOften(count: number): string {
  const versions = Array.from({ length: count }, (_, i) => `(import "wasi:cli/exit@0.2.${i}" (instance (type $t)))`);
  return viewText({ before: `(type $t ${INTERFACE}) ${versions.join(' ')}` });
}

function exportedOften(count: number): string {
  const versions = Array.from({ length: count }, (_, i) => `(export "a:b/c@0.2.${i}" (instance $i))`);
  return `(component (import "wasi:cli/exit@0.2.0" ${INTERFACE.replace('(instance', '(instance $i')}) ${versions.join(' ')})`;
}

/** Each component instantiates the previous one twice. */
function unfolding(depth: number): string {
  const levels = Array.from({ length: depth }, (_, i) => {
    const instance = `(instance (instantiate $c${i}))`;
    return `(component $c${i + 1} (alias outer 1 $c${i} (component $c${i})) ${instance} ${instance})`;
  });
  const first = '(component $c0 (core module $m) (core instance (instantiate $m)))';
  return `(component ${first} ${levels.join(' ')})`;
}
