/**
 * Components that must not be published, each with the code of its refusal: whatever of the hostile components can be
 * told by looking. None of them carries a payload.
 */
import { ByteWriter } from '#base';
import type { RefusalCode } from '#wasm';
import { viewText, wat } from './wat.ts';

export interface Hostile {
  readonly what: string;
  readonly code: RefusalCode;
  /** What the message says. */
  readonly says: RegExp;
  readonly bytes: () => Promise<Uint8Array>;
}

const encoder = new TextEncoder();

/** A hundred functions. */
const INTERFACE = `(instance ${Array.from({ length: 100 }, (_, i) => `(export "f${i}" (func))`).join(' ')})`;

export const HOSTILE: readonly Hostile[] = [
  row('no bytes', 'InvalidComponent', /has no bytes/, new Uint8Array(0)),
  row(
    'some other text',
    'InvalidComponent',
    /begin with 68 65 6c 6c 6f; a component begins with/,
    encoder.encode('hello'),
  ),
  row('a component as text', 'InvalidComponent', /text has to be parsed first/, encoder.encode('(component)')),
  row('a core module', 'InvalidComponent', /is a core module/, '(module)'),
  cut('half of a component', 0.5, /The bytes end at \d+, in the middle/),
  cut('a component without its last byte', 1, /The bytes end at \d+, in the middle/),
  row(
    'a component without anything',
    'MissingExport',
    /exports one function evolve\(list<u8>.*exports no function/,
    '(component)',
  ),
  row(
    'the function of another kind',
    'MissingExport',
    /exports evolve-it\(list<u8>, list<u8>\)/,
    otherExport('evolve-it'),
  ),
  row('another shape', 'MissingExport', /exports evolve\(string\) -> string$/, otherShape()),
  row('a memory of 40,000 pages', 'MemoryLimit', /2621440000 bytes of memory/, viewText({ memory: '40000' })),
  row('memories that add up', 'MemoryLimit', /bytes of memory/, instances(9, '(memory 256)')),
  row(
    'a table of a million elements',
    'MemoryLimit',
    /1000000 elements/,
    viewText({ core: '(table 1000000 funcref)' }),
  ),
  row('many tables', 'TooLarge', /has 17 tables; 16/, viewText({ core: '(table 0 funcref)'.repeat(17) })),
  row('many core modules', 'TooLarge', /65 core modules/, `(component ${'(core module)'.repeat(65)})`),
  row('many core instances', 'TooLarge', /257 instances of core modules/, instances(257, '')),
  row('many components', 'TooLarge', /65 components inside/, `(component ${'(component)'.repeat(65)})`),
  row('components that unfold into a million', 'TooLarge', /126 instances of components/, unfolding(20)),
  row('components nested too deep', 'TooLarge', /17 deep/, `${'(component '.repeat(18)}${')'.repeat(18)}`),
  row(
    'a million definitions',
    'TooLarge',
    /more than 100000 definitions/,
    `(component (type (tuple ${'u8 '.repeat(100_001)})))`,
  ),
  row('many sections', 'TooLarge', /more than 10000 sections/, `(component ${'(@custom "" "")'.repeat(10_001)})`),
  row(
    'many sections of a core module',
    'TooLarge',
    /module has more than 10000/,
    `(component (core module ${'(@custom "" "")'.repeat(10_001)}))`,
  ),
  row('many functions', 'TooLarge', /200001 functions; 200000/, functionsOf(200_001)),
  row('a count that is a lie', 'InvalidComponent', /bytes end at \d+/, functionsOf(200_000)),
  row(
    'an interface that is imported again and again',
    'TooLarge',
    /10100 functions and types .* imports/,
    importedOften(101),
  ),
  row(
    'an interface that is exported again and again',
    'TooLarge',
    /10100 functions and types .* exports/,
    exportedOften(101),
  ),
  row(
    'two imports of one name',
    'InvalidComponent',
    /given twice/,
    `(component ${'(import "wasi:cli/exit@0.2.0" (instance))'.repeat(2)})`,
  ),
  row(
    'two exports of one name',
    'InvalidComponent',
    /given twice/,
    viewText({ after: '(export "evolve" (func $evolve))' }),
  ),
  row(
    'a function of 220,000 ifs',
    'CodeTooComplex',
    /has \d+ bytes; 1048576 is the most/,
    functionOf('i32.const 1 if end '.repeat(220_000)),
  ),
  row('many locals', 'CodeTooComplex', /has 50001 locals/, functionOf(`(local ${'i64 '.repeat(50_001)})`)),
  row('many loops', 'CodeTooComplex', /more than 100000 loops/, functionOf('(loop)'.repeat(100_001))),
  row('structs that are collected', 'UnsupportedFeature', /garbage collection/, viewText({ core: '(type (struct))' })),
  row(
    'arrays that are collected',
    'UnsupportedFeature',
    /garbage collection/,
    viewText({ core: '(type (array i64))' }),
  ),
  row(
    'types that refer to one another',
    'UnsupportedFeature',
    /garbage collection/,
    viewText({ core: '(rec (type (func)))' }),
  ),
  row(
    'numbers that are references',
    'UnsupportedFeature',
    /garbage collection/,
    functionOf('(drop (ref.i31 (i32.const 1)))'),
  ),
  row(
    'typed references',
    'UnsupportedFeature',
    /typed references/,
    functionOf('(call_ref 0 (i32.const 0) (ref.func 0))'),
  ),
  row('a shared memory', 'UnsupportedFeature', /threads/, viewText({ memory: '1 2 shared' })),
  row('an atomic operator', 'UnsupportedFeature', /threads/, functionOf('(drop (i32.atomic.load (i32.const 0)))')),
  row('a memory of 64 bits', 'UnsupportedFeature', /memory64/, '(component (core module (memory i64 1)))'),
  row('a table of 64 bits', 'UnsupportedFeature', /memory64/, '(component (core module (table i64 1 funcref)))'),
  row('a second memory', 'UnsupportedFeature', /multi-memory/, viewText({ core: '(memory 1)' })),
  row('small pages', 'UnsupportedFeature', /custom page sizes/, '(component (core module (memory 1 (pagesize 1))))'),
  row('relaxed SIMD', 'UnsupportedFeature', /relaxed SIMD/, functionOf(relaxed())),
  row('exceptions', 'UnsupportedFeature', /exception handling/, functionOf('(try_table (throw 0))', '(tag)')),
  row('a tag', 'UnsupportedFeature', /exception handling/, viewText({ core: '(tag)' })),
  row(
    'wide arithmetic',
    'UnsupportedFeature',
    /operator 0xfc/,
    functionOf('(drop (drop (i64.add128 (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0))))'),
  ),
  row('an asynchronous function', 'UnsupportedFeature', /asynchronous/, '(component (import "f" (func async)))'),
  row('a stream', 'UnsupportedFeature', /asynchronous/, '(component (type (stream u8)))'),
  row(
    'a core module from elsewhere',
    'UnsupportedFeature',
    /outside of core modules/,
    '(component (import "m" (core module)))',
  ),
  row(
    'a component from elsewhere',
    'UnsupportedFeature',
    /components from elsewhere/,
    '(component (import "c" (component)))',
  ),
  row('a record of nothing', 'InvalidComponent', /has nothing in it/, '(component (type (record)))'),
  row('a tuple of nothing', 'InvalidComponent', /has nothing in it/, '(component (type (tuple)))'),
  row(
    'many flags',
    'InvalidComponent',
    /33 flags; 32/,
    `(component (type (flags ${Array.from({ length: 33 }, (_, i) => `"f${i}"`).join(' ')})))`,
  ),
  row('sockets', 'ForbiddenImport', /"wasi:sockets\/tcp@0\.2\.0"/, imported('wasi:sockets/tcp@0.2.0')),
  row('WASI of another version', 'ForbiddenImport', /"wasi:cli\/stdout@0\.3\.0"/, imported('wasi:cli/stdout@0.3.0')),
  row('an interface of nobody', 'ForbiddenImport', /"evil:host\/shell"/, imported('evil:host/shell')),
  row(
    'what another kind imports',
    'ForbiddenImport',
    /"cairn:component\/sink@0\.1\.0"/,
    imported('cairn:component/sink@0.1.0'),
  ),
  row('a function on its own', 'ForbiddenImport', /"shell"/, viewText({ before: '(import "shell" (func))' })),
  row(
    'an instance in an interface',
    'ForbiddenImport',
    /stdout@0\.2\.0#inner/,
    imported('wasi:cli/stdout@0.2.0', '(export "inner" (instance))'),
  ),
  row('an invalid core module', 'InvalidComponent', /not valid, says the engine/, functionOf('(drop)')),
];

function row(what: string, code: RefusalCode, says: RegExp, made: string | Uint8Array): Hostile {
  return { what, code, says, bytes: async () => (typeof made === 'string' ? wat(made) : made) };
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

/** A core module that says it has so many functions, and ends. */
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

/** Each instantiates the one before it twice. */
function unfolding(depth: number): string {
  const levels = Array.from({ length: depth }, (_, i) => {
    const instance = `(instance (instantiate $c${i}))`;
    return `(component $c${i + 1} (alias outer 1 $c${i} (component $c${i})) ${instance} ${instance})`;
  });
  const first = '(component $c0 (core module $m) (core instance (instantiate $m)))';
  return `(component ${first} ${levels.join(' ')})`;
}
