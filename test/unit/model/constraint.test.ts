// Goal: each cell of the table of SPEC-CONSTRAINTS holds (M7), and constraints are decoded from any wire form. Method:
// the table, cell by cell, at and around its limits; wire bytes in hexadecimal.
import { describe, expect, it } from 'vitest';
import {
  ALL,
  and,
  asAsked,
  type Constraint,
  checkConstraints,
  decide,
  decodeConstraint,
  encodeConstraint,
  Faults,
  NO_SUBJECT,
  or,
  term,
} from '#model';
import { hex, textsOf } from '../../support/model-reading.ts';

const selector = term('by-type', 't');
const range = (start: number, end: number) => ({ kind: 'revision-range', start, end }) as const;

it.each<[string, Constraint, readonly number[], readonly number[]]>([
  ['MinRevision 3 of a selector', { kind: 'min-revision', revision: 3, selector }, [3, 4, 99], [0, 2]],
  ['MinRevision 1 of a selector: must exist', { kind: 'min-revision', revision: 1, selector }, [1, 9], [0]],
  ['MinRevision 0 of a selector', { kind: 'min-revision', revision: 0, selector }, [0, 1], []],
  ['MinRevision 3 of every event', { kind: 'min-revision', revision: 3, selector: ALL }, [3, 4], [2]],
  ['MinRevision 3 of the database', { kind: 'min-revision', revision: 3 }, [3], [0, 2, 4, 99]],
  ['MinRevision 0 of the database', { kind: 'min-revision', revision: 0 }, [0], [1]],
  ['MaxRevision 3 of a selector', { kind: 'max-revision', revision: 3, selector }, [0, 2, 3], [4, 99]],
  ['MaxRevision 0 of a selector: must not exist', { kind: 'max-revision', revision: 0, selector }, [0], [1, 9]],
  ['MaxRevision 3 of the database', { kind: 'max-revision', revision: 3 }, [0, 3], [4]],
  ['RevisionRange 2 to 4 of a selector', { ...range(2, 4), selector }, [2, 3, 4], [0, 1, 5]],
  ['RevisionRange 0 to 0 of a selector', { ...range(0, 0), selector }, [0], [1]],
  ['RevisionRange 2 to 4 of the database', range(2, 4), [4, 5, 99], [0, 3]],
  ['RevisionRange 0 to 0 of the database', range(0, 0), [0, 1], []],
])('decide (M7) %s', (_what, constraint, holds, fails) => {
  expect(holds.map((latest) => decide(constraint, latest))).toEqual(holds.map(() => undefined));
  expect(fails.map((latest) => decide(constraint, latest)?.found)).toEqual(fails);
});

it.each<[Constraint, number, string, string]>([
  [{ kind: 'min-revision', revision: 3, selector }, 2, 'at least 3', 'the latest matching event is at revision 2'],
  [{ kind: 'min-revision', revision: 3 }, 4, 'exactly 3', 'the database is at revision 4'],
  [{ kind: 'max-revision', revision: 3, selector }, 7, 'at most 3', 'the latest matching event is at revision 7'],
  [{ kind: 'revision-range', start: 2, end: 4, selector }, 9, 'from 2 to 4', 'the latest matching event is at'],
  [{ kind: 'revision-range', start: 2, end: 4 }, 1, 'at least 4', 'the database is at revision 1'],
])('decide (M7) describes what %o requires when %d was found', (constraint, latest, required, found) => {
  const violation = decide(constraint, latest);
  expect(violation).toMatchObject({ kind: constraint.kind, found: latest, required });
  expect(violation?.description).toContain(`needs revision ${required}; ${found}`);
});

describe('a constraint on the wire', () => {
  const IN_PARTS = '0a07 0801 1203 520178 0a07 0803 1203 8a0100';
  it.each<[string, string, Constraint]>([
    ['min_revision', '0a020803', { kind: 'min-revision', revision: 3 }],
    ['min_revision 0', '0a00', { kind: 'min-revision', revision: 0 }],
    ['min_revision with a selector', '0a070803 1203520174', { kind: 'min-revision', revision: 3, selector }],
    ['an empty selector, not none', '0a040803 1200', { kind: 'min-revision', revision: 3, selector: ALL }],
    ['max_revision', '12020809', { kind: 'max-revision', revision: 9 }],
    ['revision_range', '1a04 0802 1004', range(2, 4)],
    ['revision_range with a selector', '1a09 0802 1004 1a03 520174', { ...range(2, 4), selector }],
    ['two kinds, the last of which wins', '0a020803 12020809', { kind: 'max-revision', revision: 9 }],
    ['a kind and a selector in two parts', IN_PARTS, { kind: 'min-revision', revision: 3, selector: NO_SUBJECT }],
  ])('may be %s', (_what, bytes, expected) => {
    const faults = new Faults();
    expect(decodeConstraint(hex(bytes), 'constraints[2]', faults)).toEqual(expected);
    expect(faults.violations).toEqual([]);
  });

  it('keeps revisions from 2^53 on as they were sent, and stores them as 2^53 - 1 in the log', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const read = (bytes: Uint8Array): Constraint | undefined => decodeConstraint(bytes, 'constraints[2]', new Faults());
    for (const [text, asked, logged] of [
      ['120b 08 ffffffffffffffffff01', { kind: 'max-revision', revision: 2n ** 64n - 1n }, { revision: most }],
      ['1a0d 0801 10 ffffffffffffffffff01', { ...range(1, 0), end: 2n ** 64n - 1n }, { end: most }],
      ['0a09 08 8080808080808010', { kind: 'min-revision', revision: 2n ** 53n }, { revision: most }],
    ] as const) {
      expect(read(hex(text))).toEqual(asked);
      expect(read(encodeConstraint(asked))).toEqual({ ...asked, ...logged });
    }
  });

  it('is reported as violated with the revision that the client sent', () => {
    const asked: Constraint = { kind: 'min-revision', revision: 2n ** 64n - 1n };
    const logged = decodeConstraint(encodeConstraint(asked), 'c', new Faults());
    const violation = logged === undefined ? undefined : decide(logged, 7);
    expect(violation?.required).toBe('exactly 9007199254740991');
    const told = violation === undefined ? undefined : asAsked({ index: 3, ...violation }, asked);
    expect(told).toEqual({
      index: 3,
      kind: 'min-revision',
      found: 7,
      required: 'exactly 18446744073709551615',
      description: 'MinRevision needs revision exactly 18446744073709551615; the database is at revision 7',
    });
  });

  it('compares its ends also beyond 2^53', () => {
    const faults = new Faults();
    const crossed = '1a16 08 ffffffffffffffffff01 10 feffffffffffffffff01';
    expect(decodeConstraint(hex(crossed), 'constraints[2]', faults)).toBeUndefined();
    expect(faults.violations).toMatchObject([{ value: '18446744073709551615 to 18446744073709551614' }]);
  });

  it.each([
    ['nothing', '', ' must be one of min_revision, max_revision, revision_range'],
    ['an unknown kind', '22020803', ' must be one of min_revision, max_revision, revision_range'],
    ['an unknown kind beside a known one', '0a020803 f80101', ' must be one of min_revision'],
    ['an unknown field of a kind', '0a040803 2001', '.min_revision.4 must be absent: cairn.v1.MinRevision'],
    ['an unknown kind of selector', '0a05 1203 a20100', '.min_revision.selector.20 must be absent: cairn.v1.EventSel'],
    ['crossed ends', '1a04 0804 1002', '.revision_range must have start at or before end'],
    ['half a message', '0a05', ' must be a protobuf message'],
    ['half a number', '0a02 08 80', '.min_revision must be a protobuf message of that kind'],
    ['a bad selector', '0a04 1202 0a00', '.min_revision.selector.stream must not be empty'],
  ])('is rejected for %s', (_what, bytes, expected) => {
    const faults = new Faults();
    expect(decodeConstraint(hex(bytes), 'constraints[2]', faults)).toBeUndefined();
    expect(textsOf(faults).join()).toContain(`constraints[2]${expected}`);
  });
});

describe('the constraints of one transaction', () => {
  const faultsOf = (constraints: readonly Constraint[]): readonly string[] => {
    const faults = new Faults();
    checkConstraints(constraints, 'constraints', faults);
    return textsOf(faults);
  };
  const many = (count: number, one: Constraint): readonly Constraint[] => Array.from({ length: count }, () => one);

  it('are at most 1000', () => {
    expect(faultsOf(many(1000, { kind: 'max-revision', revision: 0 }))).toEqual([]);
    expect(faultsOf(many(1001, { kind: 'max-revision', revision: 0 }))).toEqual(['constraints must be at most 1000']);
  });

  it('have at most 4096 alternatives in total', () => {
    const any = (kind: 'by-stream' | 'by-subject') => or(Array.from({ length: 16 }, (_, i) => term(kind, `n${i}`)));
    const both = and([any('by-stream'), any('by-subject')]);
    const wide: Constraint = { kind: 'max-revision', revision: 0, selector: both };
    expect(faultsOf(many(16, wide))).toEqual([]);
    expect(faultsOf([...many(16, wide), { kind: 'min-revision', revision: 1 }])).toEqual([]);
    expect(faultsOf([...many(16, wide), { kind: 'min-revision', revision: 1, selector }])).toEqual([
      'constraints must come to at most 4096 alternatives together when And is spread over Or',
    ]);
  });
});
