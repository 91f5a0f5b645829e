/** Tests check 15: it detects falsified definitions of a good run. */
import { beforeAll, describe, expect, it } from 'vitest';
import { definitionsAreWhatWasDefined } from './checks/definitions.ts';
import { Evidence, type FinalDatabase, type FinalDefinitions } from './checks/evidence.ts';
import { runSeed } from './scenario.ts';

const SEED_MS_MAX = 60_000;
/** A seed in which a database with several versions and all kinds of changes survives. */
const SEED = 8;

describe('the check of definitions', () => {
  let good: Evidence;

  beforeAll(async () => {
    const { evidence } = await runSeed(SEED, { nodes: 3, definitions: true });
    if (evidence === undefined) throw new Error('The seed comes to its end');
    good = evidence;
  }, SEED_MS_MAX);

  /** The faults when each replica has changed definitions. */
  function faultsOf(change: (definitions: FinalDefinitions) => Partial<FinalDefinitions>): string {
    const finals = good.finals.map((final): FinalDatabase => {
      const { definitions } = final;
      return definitions === undefined ? final : { ...final, definitions: { ...definitions, ...change(definitions) } };
    });
    return definitionsAreWhatWasDefined(new Evidence(good.history, finals)).join('\n');
  }

  it('has seen versions, and acknowledged changes of every kind', () => {
    const kinds = new Set(good.history.definings.map(({ told }) => told?.outcome.kind));
    expect([...kinds]).toEqual(
      expect.arrayContaining(['part-taken', 'part-refused', 'defined', 'status-set', 'deleted', 'expired', 'absent']),
    );
    const records = good.finals.flatMap(({ definitions }) => definitions?.records ?? []);
    const hasInactive = ({ entry }: (typeof records)[number]): boolean =>
      (entry.kind === 'define' && entry.isInactive) || (entry.kind === 'delete' && entry.onlyInactive);
    expect(records.some(hasInactive)).toBe(true);
    expect(good.finals.flatMap(({ definitions }) => definitions?.versions ?? []).length).toBeGreaterThan(1);
  });

  it('finds nothing in a good run', () => {
    expect(faultsOf(() => ({}))).toBe('');
  });

  it('finds an acknowledged change that is lost', () => {
    expect(faultsOf(({ records }) => ({ records: records.slice(0, -1) }))).toContain('a change that was acknowledged');
  });

  it('finds an entry that is stored twice, and one that no client has sent', () => {
    expect(
      faultsOf(({ records: [first, ...others] }) => (first ? { records: [first, first, ...others] } : {})),
    ).toContain('an entry that changes nothing is kept');
    const strange = faultsOf(({ records }) => ({
      records: records.map((record) =>
        record.entry.kind === 'part' ? { ...record, entry: { ...record.entry, part: 1 } } : record,
      ),
    }));
    expect(strange).toContain('an entry that nobody has sent is kept');
  });

  it('finds a version that is not listed, or has another status', () => {
    expect(faultsOf(({ versions }) => ({ versions: versions.slice(1) }))).toContain('are listed instead of');
    const turned = faultsOf(({ versions }) => ({
      versions: versions.map((each) => ({ ...each, status: { ...each.status, active: !each.status.active } })),
    }));
    expect(turned).toContain('are listed instead of');
  });

  it('finds a component without its bytes, or with others', () => {
    expect(faultsOf(() => ({ bytes: new Map() }))).toContain('names a component without its bytes');
    const others = faultsOf(({ bytes }) => ({
      bytes: new Map([...bytes].map(([digest, held]) => [digest, held?.map((byte) => byte + 1)])),
    }));
    expect(others).toContain('names a component without its bytes');
  });
});
