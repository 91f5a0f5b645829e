/** Random values: from domains so small that requests overlap, and from the boundaries of every range. */
import type { Data, Position, Selector, Term, WrittenEvent } from '../model/vocabulary.ts';
import type { Random } from './random.ts';

const SOURCES = [
  'orders',
  '/db/x/streams/orders',
  'https://h.example/s/ab',
  'ab',
  'a/b/?q#f',
  'https://h.example',
  '#f',
  'urn:x:y',
];
const STREAMS = ['orders', 'ab', 'b', 'h.example', '#f', 'urn:x:y', 'none'];
const TYPES = ['t', 't.x', 't.y', 'u', 'é.z'];
const SUBJECTS = ['s', 's/1', 's 2', 'é', '%'];
const IDS = ['a', 'b', 'c', 'd', 'a~1.0', 'b~2.1', 'é/ü'];
const PREFIXES = ['', 't', 't.', 's', 's/', 'o', 'a', 'é', 'z', ' '];
export const TIMES: readonly string[] = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T01:00:00+01:00',
  '2026-01-01T00:00:00.000000001Z',
  '2026-01-01T00:00:00.5Z',
  '2026-01-01T00:00:00.50Z',
  '2026-01-02T00:00:00Z',
  '1969-12-31T23:59:59.9Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
];
const PAYLOADS: readonly Data[] = [
  { kind: 'json', value: '{"n":9007199254740993,"p":1.10,"b":[1e400,-0,"é"]}' },
  { kind: 'json', value: '{"z":1,"a":{"é":null}}' },
  { kind: 'json', value: '"text"' },
  { kind: 'json', value: '0' },
  { kind: 'binary', value: Buffer.from([0, 255, 128, 10]).toString('base64') },
];
const UINT64_MAX = 2n ** 64n - 1n;
const FAR = [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, UINT64_MAX - 1n, UINT64_MAX];

export function revision(random: Random, last: number): bigint {
  const far = random.chance(12);
  if (far) return random.pick(FAR);
  return random.chance(50)
    ? BigInt(random.pick([0, 1, Math.max(last - 1, 0), last, last + 1]))
    : BigInt(random.below(last + 3));
}

export function position(random: Random, last: number): Position {
  return { revision: revision(random, last), index: random.pick([0, 0, 1, 2, 3, 999, 1000, 65_535, 2 ** 32 - 1]) };
}

const TERMS: readonly (readonly [Term, readonly string[]])[] = [
  ['type', TYPES],
  ['stream', STREAMS],
  ['subject', SUBJECTS],
  ['source', SOURCES],
  ['type-prefix', PREFIXES],
  ['stream-prefix', PREFIXES],
  ['subject-prefix', PREFIXES],
];

/** An equality of one attribute. */
export function equality(random: Random, kinds: readonly Term[]): Selector {
  const [kind, values] = random.pick(TERMS.filter(([each]) => kinds.includes(each)));
  return { kind, value: random.pick(values) };
}

export function selector(random: Random, depth = 0): Selector {
  const dice = random.below(100);
  if (dice < 4) return { kind: 'all' };
  if (dice < 12) return { kind: 'no-subject' };
  if (dice < 70 || depth === 3) {
    const [kind, values] = random.pick(TERMS);
    return { kind, value: random.chance(1) ? random.pick(BAD_NAMES) : random.pick(values) };
  }
  return { kind: random.pick(['and', 'or'] as const), parts: random.list(1, 3, () => selector(random, depth + 1)) };
}

const BAD_NAMES = ['\u0001', 'x'.repeat(256), 'a\u0085'];

export function event(random: Random): WrittenEvent {
  const data = random.maybe(50, () => random.pick(PAYLOADS));
  return {
    id: random.pick(IDS),
    source: random.pick(SOURCES),
    specversion: '1.0',
    type: random.pick(TYPES),
    subject: random.maybe(70, () => random.pick(SUBJECTS)),
    time: random.maybe(50, () => random.pick(TIMES)),
    dataschema: random.maybe(10, () => 'https://h.example/schema'),
    datacontenttype: random.maybe(10, () => (data?.kind === 'binary' ? 'image/png' : 'application/json')),
    data,
    extensions: random.chance(20)
      ? { flag: random.chance(50), place: random.below(3) - 1, word: random.pick(['', 'é', 'w']) }
      : {},
  };
}

/** An event with one invalid attribute. */
export function malformedEvent(random: Random): WrittenEvent {
  const good = event(random);
  const name = random.pick([undefined, '', ' ', '\u0007', 'x'.repeat(256), 'é'.repeat(128)]);
  return random.pick<WrittenEvent>([
    { ...good, id: name },
    { ...good, type: name },
    { ...good, subject: name ?? '' },
    { ...good, source: random.pick([undefined, 'a b', '%zz', '<x>', 's'.repeat(2049)]) },
    { ...good, specversion: random.pick([undefined, '1', '0.3', '1.0 ']) },
    {
      ...good,
      time: random.pick(['2026-02-30T00:00:00Z', '2026-01-01', '2026-01-01T24:00:00Z', '2026-01-01T00:00:00', 'now']),
    },
    { ...good, extensions: { [random.pick(['revision', 'Word', 'w-1', 'recordedtime', 'x'.repeat(65)])]: 'x' } },
  ]);
}

export function prefix(random: Random): string {
  return random.pick([...PREFIXES, ...STREAMS, ...SUBJECTS]);
}

/** A stream, and an id under which an event of it may be stored. */
export function identity(random: Random): { readonly stream: string; readonly id: string } {
  return { stream: random.pick(STREAMS), id: random.pick([...IDS, 'a~2.0', 'a~3.0', 'c~2.1', 'none']) };
}
