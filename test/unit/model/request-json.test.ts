// Goal: constraints, queries and transaction options are parsed from every JSON form that the specification shows, and
// other forms are rejected. Method: tables; random queries formatted and parsed.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeUtf8, toBase64Url } from '#base';
import {
  ALL,
  type Constraint,
  collectionQueryFromJson,
  constraintsFromJson,
  type EventQuery,
  Faults,
  type Found,
  OPTION_NAMES,
  optionsFromJson,
  queryFromParameter,
  queryToParameter,
  type TransactionOptions,
  term,
} from '#model';
import { constraintFromJson } from '../../../src/model/constraint-json.ts';
import { arbInstant } from '../../support/events.ts';
import { nodeOf, outcome } from '../../support/model-reading.ts';
import { runs } from '../../support/runs.ts';
import { arbSelector } from '../../support/selectors.ts';

const selector = term('by-stream', 's');
const SELECTOR = '"selector":{"equals":{"stream":"s"}}';

describe('a constraint in JSON', () => {
  const read = (json: string): unknown => outcome((into) => constraintFromJson(nodeOf(json), 'constraints[0]', into));

  it.each<[string, Constraint]>([
    ['{"min_revision":{"revision":1}}', { kind: 'min-revision', revision: 1 }],
    [`{"min_revision":{"revision":1,${SELECTOR}}}`, { kind: 'min-revision', revision: 1, selector }],
    ['{"minRevision":{"revision":"1","selector":{}}}', { kind: 'min-revision', revision: 1, selector: ALL }],
    ['{"min":{"revision":0}}', { kind: 'min-revision', revision: 0 }],
    ['{"type":"min_revision","revision":1}', { kind: 'min-revision', revision: 1 }],
    [`{"type":"minRevision","revision":1,${SELECTOR}}`, { kind: 'min-revision', revision: 1, selector }],
    [`{"max":{${SELECTOR},"revision":0}}`, { kind: 'max-revision', revision: 0, selector }],
    [`{"max_revision":{${SELECTOR}}}`, { kind: 'max-revision', revision: 0, selector }],
    ['{"maxRevision":{"revision":9007199254740991}}', { kind: 'max-revision', revision: Number.MAX_SAFE_INTEGER }],
    ['{"maxRevision":{"revision":18446744073709551615}}', { kind: 'max-revision', revision: 2n ** 64n - 1n }],
    ['{"revision_range":{"start":1,"end":4}}', { kind: 'revision-range', start: 1, end: 4 }],
    ['{"revisionRange":{"end":4}}', { kind: 'revision-range', start: 0, end: 4 }],
    [`{"range":{"min":1,"max":4,${SELECTOR}}}`, { kind: 'revision-range', start: 1, end: 4, selector }],
    ['{"type":"revision_range","start":2,"end":2}', { kind: 'revision-range', start: 2, end: 2 }],
  ])('may be %s', (json, expected) => {
    expect(read(json)).toEqual(expected);
  });

  it.each([
    ['{}', 'constraints[0] must have exactly one of min_revision, max_revision, revision_range'],
    ['[]', 'constraints[0] must be an object'],
    ['{"min":{"revision":1},"max":{"revision":1}}', 'constraints[0] must have exactly one of'],
    ['{"minimum":{"revision":1}}', 'constraints[0] must have exactly one of'],
    ['{"min":{}}', 'constraints[0].min must not be empty'],
    [`{"min":{${SELECTOR}}}`, 'constraints[0].min.revision is required'],
    ['{"min":{"revision":-1}}', 'constraints[0].min.revision must be an integer from 0 to 2^64 - 1'],
    ['{"min":{"revision":1.0}}', 'constraints[0].min.revision must be an integer'],
    ['{"min":{"revision":18446744073709551616}}', 'constraints[0].min.revision must be an integer'],
    ['{"min":{"revision":1,"selctor":{}}}', 'constraints[0].min.selctor is unknown; known are revision, selector'],
    ['{"min":{"revision":1,"selector":{"stream":""}}}', 'constraints[0].min.selector.stream must not be empty'],
    ['{"range":{"start":4,"end":1}}', 'constraints[0].range must have start at or before end'],
    ['{"range":{"start":0}}', 'constraints[0].range.end is required'],
    ['{"range":{"start":4,"end":null}}', 'constraints[0].range.end is required'],
    ['{"range":{"start":1,"min":1,"end":2}}', 'constraints[0].range must have only one of start, min'],
    ['{"type":"min_revision"}', 'constraints[0] must not be empty'],
    ['{"type":"min_revisions","revision":1}', 'constraints[0].type must be one of min_revision,'],
  ])('must not be %s', (json, expected) => {
    expect(JSON.stringify(read(json))).toContain(expected);
  });

  it('is parsed in a list, with the position in each fault', () => {
    const list = (json: string): unknown => outcome((into) => constraintsFromJson(nodeOf(json), 'conditions', into));
    expect(list('[]')).toEqual([]);
    expect(list('[{"max":{"revision":3}}]')).toEqual([{ kind: 'max-revision', revision: 3 }]);
    expect(list('[{"max":{"revision":3}},{},{"min":{"revision":-1}}]')).toEqual([
      'conditions[1] must have exactly one of min_revision, max_revision, revision_range',
      'conditions[2].min.revision must be an integer from 0 to 2^64 - 1',
    ]);
    expect(list('{}')).toEqual(['conditions must be an array']);
    expect(list(`[${'{},'.repeat(1000)}{}]`)).toEqual(['conditions must be at most 1000']);
  });
});

describe('a query of the revision-scoped family', () => {
  const read = (json: string): unknown =>
    outcome((faults) => queryFromParameter(toBase64Url(encodeUtf8(json)), faults));
  const plain: EventQuery = { selector: ALL, revisions: {}, direction: 'forward' };
  const seconds = (value: number) => ({ seconds: value, nanos: 0 });

  const T5 = '1970-01-01T00:00:05Z';
  const effective = (members: string): string => `{"range":{"effectiveTime":{${members}}}}`;
  it.each<[string, Partial<EventQuery>]>([
    ['{}', {}],
    [`{${SELECTOR}}`, { selector }],
    ['{"selector":null,"range":null,"limit":null}', {}],
    ['{"direction":"REVERSE"}', { direction: 'reverse' }],
    ['{"direction":"forward","limit":7}', { limit: 7 }],
    ['{"after":{"revision":3,"index":2}}', { after: { revision: 3, index: 2 } }],
    ['{"range":{"revision":{"startAt":1,"endAt":9}}}', { revisions: { start: 1, end: 9 } }],
    ['{"range":{"revision":{"start_at":0}}}', { revisions: { start: 0 } }],
    ['{"range":{"revision":{"start":2,"end":2}}}', { revisions: { start: 2, end: 2 } }],
    ['{"range":{"revision":{"endAt":18446744073709551615}}}', { revisions: { end: 2n ** 64n - 1n } }],
    ['{"range":{"revision":{"startAt":"9007199254740992"}}}', { revisions: { start: 2n ** 53n } }],
    ['{"after":{"revision":18446744073709551615}}', { after: { revision: Number.MAX_SAFE_INTEGER, index: 0 } }],
    [
      effective('"startAt":"1970-01-01T00:00:00Z","endAt":"1970-01-01T01:00:05+01:00"'),
      { effectiveTime: { start: seconds(0), end: seconds(5) } },
    ],
    [effective(`"end_at":"${T5}","end_at_now":false`), { effectiveTime: { end: seconds(5) } }],
  ])('may be %s', (json, expected) => {
    expect(read(json)).toEqual({ query: { ...plain, ...expected }, endAtNow: false });
  });

  it('may end at the present', () => {
    expect(read(effective('"endAtNow":true'))).toEqual({ query: { ...plain, effectiveTime: {} }, endAtNow: true });
    const query = { ...plain, effectiveTime: { start: seconds(5) } };
    expect(read(effective(`"endAtNow":true,"startAt":"${T5}"`))).toEqual({ query, endAtNow: true });
  });

  it.each([
    ['[]', 'q must be an object'],
    ['{"selectors":[]}', 'q.selectors is unknown; known are selector, range, direction, limit, after'],
    ['{"selector":{"stream":""}}', 'q.selector.stream must not be empty'],
    ['{"direction":"BACKWARD"}', 'q.direction must be forward or reverse, in letters of either case'],
    ['{"limit":0}', 'q.limit must be an integer from 1 to 1000'],
    ['{"limit":1001}', 'q.limit must be an integer from 1 to 1000'],
    ['{"limit":"05"}', 'q.limit must be an integer from 1 to 1000, without a leading zero'],
    ['{"range":{"revision":{"startAt":"x"}}}', 'q.range.revision.startAt must be an integer from 0 to 2^64 - 1'],
    ['{"after":5}', 'q.after must be an object: the position of an event, such as {'],
    ['{"after":{}}', 'q.after.revision is required'],
    ['{"after":{"revision":1,"idx":0}}', 'q.after.idx is unknown'],
    ['{"range":5}', 'q.range must be an object'],
    ['{"range":{"revision":"5"}}', 'q.range.revision must be an integer, or an object with startAt and endAt'],
    ['{"range":{"revision":{"from":5}}}', 'q.range.revision.from is unknown'],
    ['{"range":{"revision":{"startAt":5,"endAt":4}}}', 'q.range.revision must have its start at or before its end'],
    ['{"range":{"effectiveTime":{}}}', 'q.range.effectiveTime must have exactly one of endAt and endAtNow: true'],
    [effective(`"startAt":"${T5}"`), 'q.range.effectiveTime must have exactly one of'],
    [effective(`"endAt":"${T5}","endAtNow":true`), 'must have exactly one of'],
    [effective('"endAt":"noon"'), 'q.range.effectiveTime.endAt must be a time of RFC 3339'],
    [effective('"endAtNow":"true"'), 'q.range.effectiveTime.endAtNow must be true or false'],
    [effective(`"startAt":"1970-01-01T00:00:06Z","endAt":"${T5}"`), 'must have its start at or before its end'],
    ['{', 'q must hold JSON, in URL-safe base64: line 1, column 2: expected a member name in quotes'],
  ])('must not be %s', (json, expected) => {
    expect(JSON.stringify(read(json))).toContain(expected);
  });

  it.each([
    ['', '{}'],
    [`"startAt":"${T5}"`, `{startAt: "${T5}"}`],
    ['"endAtNow":false,"end":null', '{endAtNow: false, end: null}'],
    [
      `"endAt":"${T5}","endAtNow":true,"startAt":"1970-01-01T00:00:00Z"`,
      `{endAt: "${T5}", endAtNow: true, startAt: "1970-0… (80 characters)`,
    ],
  ])('is shown with the members that it has when one of the ends is required: %s', (members, value) => {
    const faults = new Faults();
    expect(queryFromParameter(toBase64Url(encodeUtf8(effective(members))), faults)).toBeUndefined();
    expect(faults.violations).toMatchObject([{ field: 'q.range.effectiveTime', value, found: value }]);
  });

  it.each(['e30=', 'e3 0', 'ä', 'abcde'])('must not be encoded as %j', (q) => {
    expect(outcome((faults) => queryFromParameter(q, faults))).toEqual(['q must be URL-safe base64 without padding']);
  });

  it('is shown as it was sent when it contains no JSON', () => {
    const faults = new Faults();
    queryFromParameter('9007199254740993', faults);
    expect(faults.violations).toMatchObject([{ field: 'q', value: '9007199254740993' }]);
  });

  it('is formatted so that it is parsed to an equal query', () => {
    const arbQuery: fc.Arbitrary<EventQuery> = fc.record({
      selector: arbSelector,
      revisions: fc.constantFrom({}, { start: 1 }, { end: 7 }, { start: 1, end: 7 }),
      effectiveTime: fc.option(
        arbInstant.map((end) => ({ end })),
        { nil: undefined },
      ),
      direction: fc.constantFrom('forward' as const, 'reverse' as const),
      limit: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: undefined }),
      after: fc.option(fc.record({ revision: fc.maxSafeNat(), index: fc.nat(999) }), { nil: undefined }),
    });
    fc.assert(
      fc.property(arbQuery, (query) => {
        const again = outcome((faults) => queryFromParameter(queryToParameter(query), faults));
        expect(again).toEqual({ query, endAtNow: false });
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('a query of the collection-style family', () => {
  const read = (json: string): unknown => outcome((faults) => collectionQueryFromJson(nodeOf(json), faults));

  it('has all members of the specification', () => {
    expect(
      read(
        '{"selectors":[{"stream":"s"},{"subject":"u"}],"revision_range":{"start":1,"end":9},' +
          '"effective_time_range":{"start":"1970-01-01T00:00:01Z","end":"1970-01-01T00:00:02Z"},"direction":"reverse","limit":5}',
      ),
    ).toEqual({
      selector: { kind: 'or', selectors: [selector, term('by-subject', 'u')] },
      revisions: { start: 1, end: 9 },
      effectiveTime: { start: { seconds: 1, nanos: 0 }, end: { seconds: 2, nanos: 0 } },
      direction: 'reverse',
      limit: 5,
    });
  });

  it.each([
    ['{}', { selector: ALL, revisions: {}, direction: 'forward' }],
    ['{"effectiveTimeRange":{}}', { selector: ALL, revisions: {}, effectiveTime: {}, direction: 'forward' }],
    ['{"revisionRange":{"end":3}}', { selector: ALL, revisions: { end: 3 }, direction: 'forward' }],
  ])('may be %s', (json, expected) => {
    expect(read(json)).toEqual(expected);
  });

  it.each([
    ['[]', 'body must be an object'],
    ['{"selector":{}}', 'selector is unknown; known are selectors,'],
    ['{" ":{}}', String.raw`[\" \"] is unknown`],
    ['{"selectors":[{"stre\\nam":"s"}]}', 'selectors[0][\\"stre\\\\nam\\"]'],
    ['{"selectors":{}}', 'selectors must be an array'],
    ['{"selectors":[{"stream":""}]}', 'selectors[0].stream must not be empty'],
    ['{"revision_range":{"start":9,"end":1}}', 'revision_range must have its start at or before its end'],
    ['{"effective_time_range":{"start":"x"}}', 'effective_time_range.start must be a time of RFC 3339'],
    ['{"revision_range":{},"revisionRange":{}}', 'must have only one of revision_range, revisionRange'],
    ['{"effective_time_range":{"end_at":"x"}}', 'effective_time_range.end_at must be a time of RFC 3339'],
    ['{"effective_time_range":{"end":"2026-02-30T00:00:00Z"}}', '0001 to 9999; 2026-02 has no day 30'],
    ['{"after":5}', 'after must be the next_cursor of the page before, or a position such as {'],
    ['{"revision_range":{"end":"05"}}', 'revision_range.end must be an integer from 0 to 2^64 - 1, without a'],
    ['{"limit":0}', 'limit must be an integer from 1 to 1000'],
    ['{"direction":"sideways"}', 'direction must be forward or reverse, in letters of either case'],
  ])('must not be %s', (json, expected) => {
    expect(JSON.stringify(read(json))).toContain(expected);
  });
});

it.each<[Found, string]>([
  ['5', '"5"'],
  [5, '5'],
  [5n, '5'],
  ['"x"', JSON.stringify('"x"')],
  [{ said: '"x"' }, '"x"'],
  ['an array', '"an array"'],
  [{ said: 'an array' }, 'an array'],
  ['', '""'],
  ['"a\nb"', JSON.stringify('"a\nb"')],
])('the message of a fault shows %o as %s', (found, shown) => {
  const faults = new Faults();
  faults.add('limit', 'must be right', found);
  expect(faults.toError('No').message).toBe(`No: limit must be right; found ${shown}`);
});

describe('the options of a transaction in JSON', () => {
  const read = (json: string): unknown => {
    const object = nodeOf(json);
    return outcome((faults) => (object.kind === 'object' ? optionsFromJson(object, { field: '', faults }) : undefined));
  };

  it('are all optional, and other members are ignored', () => {
    expect(read('{"events":[]}')).toEqual({ principalAttributes: new Map() });
    const all: TransactionOptions = {
      lastReadRevision: 7,
      principalAttributes: new Map([
        ['sub', 'ann'],
        ['__proto__', 'x'],
      ]),
      commitMessage: 'a\nb',
      correlationId: 'c-1',
      causationId: 'c-2',
    };
    const snake =
      '{"last_read_revision":7,"principal_attributes":{"sub":"ann","__proto__":"x"},"commit_message":"a\\nb",' +
      '"correlation_id":"c-1","causation_id":"c-2"}';
    const camel = snake.replaceAll(/(?<=[a-z])_[a-z]/g, (found) => found.slice(1).toUpperCase());
    expect([read(snake), read(camel)]).toEqual([all, all]);
    expect(OPTION_NAMES).toHaveLength(10);
  });

  it.each([
    ['{"last_read_revision":-1}', 'last_read_revision must be an integer'],
    ['{"principal_attributes":[]}', 'principal_attributes must be an object'],
    ['{"principal_attributes":{"sub":1}}', 'principal_attributes["sub"] must be a string'],
    ['{"principal_attributes":{"":"x"}}', 'principal_attributes[""] must not be empty'],
    ['{"commit_message":5}', 'commit_message must be a string'],
    ['{"commit_message":"\\ud800"}', 'commit_message must not contain an unpaired surrogate'],
    ['{"correlation_id":""}', 'correlation_id must not be empty'],
    ['{"correlation_id":"a","correlationId":"b"}', 'must have only one of correlation_id, correlationId'],
  ])('must not be %s', (json, expected) => {
    const faults = read(json);
    expect(faults).toHaveLength(1);
    expect(String(Array.isArray(faults) ? faults[0] : '')).toContain(expected);
  });
});
