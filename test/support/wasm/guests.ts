// State Views that misbehave when they are called, each with the resulting fault. Inspection cannot detect them, so
// they can be published.
import type { FaultCode } from '#wasm';
import { viewText } from './wat.ts';

export interface Misbehaving {
  readonly what: string;
  readonly code: FaultCode;
  /** Pattern of the message. */
  readonly says: RegExp;
  readonly text: string;
}

/** Returns `ok` with this number of bytes or list items from an address. */
export const answer = (at: string, length: string): string => `
  (i32.store8 (i32.const 16) (i32.const 0))
  (i32.store (i32.const 20) (i32.const ${at}))
  (i32.store (i32.const 24) (i32.const ${length}))
  (i32.const 16)`;
/** Returns `err` with this number of bytes from an address. */
export const complaint = (at: string, length: string): string =>
  answer(at, length).replace('(i32.const 0))', '(i32.const 1))');

/** The allocator of `viewText`. */
const REALLOC = '(global.get $top) (global.set $top (i32.add (global.get $top) (local.get 3)))';
const REST = answer('64', '4');

export const MISBEHAVING: readonly Misbehaving[] = [
  row('a loop without end', 'FuelExhausted', /spent the fuel/, `(loop $l (br $l)) ${REST}`),
  row('a loop without end in the allocator', 'FuelExhausted', /spent the fuel/, REST, {
    realloc: '(loop $l (br $l)) (i32.const 0)',
  }),
  row(
    'a loop that fills memory',
    'FuelExhausted',
    /spent the fuel/,
    `(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br $l)) ${REST}`,
  ),
  row(
    'memory without end',
    'Trap',
    /unreachable/,
    `(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable`,
  ),
  row(
    'a table without end',
    'Trap',
    /unreachable/,
    `(loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable`,
    { core: '(table $t 0 funcref)' },
  ),
  row('recursion without end', 'StackOverflow', /deeper than its stack allows/, `(call $deep) ${REST}`, {
    core: '(func $deep (call $deep) (call $deep))',
  }),
  row('a trap', 'Trap', /unreachable/, 'unreachable'),
  row(
    'a division by zero',
    'Trap',
    /divide by zero/,
    `(drop (i32.div_u (i32.const 1) (i32.load (i32.const 128)))) ${REST}`,
  ),
  row('a load outside of memory', 'Trap', /out of bounds/, `(drop (i32.load (i32.const -8))) ${REST}`),
  row('a result that is outside of memory', 'AbiViolation', /are not in the memory/, '(i32.const 65532)'),
  row('a result at an odd place', 'AbiViolation', /not a multiple of 4/, '(i32.const 17)'),
  row('a list outside of memory', 'AbiViolation', /are not in the memory/, answer('65530', '7')),
  row('a list with a negative pointer', 'AbiViolation', /are not in the memory/, answer('-1', '2')),
  row('a list that is longer than memory', 'AbiViolation', /are not in the memory/, answer('0', '-1')),
  row('more bytes than it may answer', 'OutputTooLarge', /more bytes than it may/, answer('0', '65536'), {
    memory: '2',
  }),
  row(
    'a case that does not exist',
    'AbiViolation',
    /Case 2 does not exist/,
    `(i32.store8 (i32.const 16) (i32.const 2)) (i32.const 16)`,
  ),
  row(
    'an error that is no UTF-8',
    'AbiViolation',
    /of text at \d+ are not valid UTF-8/,
    `(i32.store8 (i32.const 64) (i32.const 0xff)) ${complaint('64', '1')}`,
  ),
  row(
    'an error that is cut in a character',
    'AbiViolation',
    /of text at \d+ are not valid UTF-8/,
    `(i32.store8 (i32.const 64) (i32.const 0xc3)) ${complaint('64', '1')}`,
  ),
  row('an allocator that answers nonsense', 'AbiViolation', /are not in the memory/, REST, {
    realloc: '(i32.const -16)',
  }),
  row('a trap behind the return', 'Trap', /unreachable/, REST, { post: 'unreachable' }),
  row('a loop without end behind the return', 'FuelExhausted', /spent the fuel/, REST, { post: '(loop $l (br $l))' }),
];

interface Parts {
  readonly core?: string;
  readonly memory?: string;
  /** The body of the allocator. */
  readonly realloc?: string;
  /** Instructions after the result was read. */
  readonly post?: string;
}

/** Text of a State View with these parts. */
export function guestText(evolve: string, { core = '', memory = '1', realloc = REALLOC, post }: Parts = {}): string {
  const cleanup = post === undefined ? '' : `(func (export "post") (param i32) ${post})`;
  const text = viewText({ evolve, memory, core: `${core} ${cleanup}` }).replace(REALLOC, realloc);
  const option = '(realloc (core func $i "cabi_realloc"))';
  return post === undefined ? text : text.replace(option, `${option} (post-return (core func $i "post"))`);
}

type Row = readonly [what: string, code: FaultCode, says: RegExp, evolve: string, parts?: Parts];

function row(...[what, code, says, evolve, parts]: Row): Misbehaving {
  return { what, code, says, text: guestText(evolve, parts) };
}
