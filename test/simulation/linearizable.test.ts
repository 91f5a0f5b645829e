// Tests the linearizability search of check 11 against a search that tries every order: both agree, or the former is
// undecided. It uses large handwritten histories and random ones, including calls without an answer.
import { array, assert, constantFrom, integer, nat, oneof, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linearize, type Step } from './checks/linearizable.ts';

const NEVER = Number.POSITIVE_INFINITY;

type Apply = Step<string>['apply'];
type Effect = Pick<Step<string>, 'apply' | 'isRead' | 'effect'>;

function step(name: string, times: readonly [fromUs: number, toUs: number], effect: Effect | Apply): Step<string> {
  const [invokedUs, returnedUs] = times;
  return { name: () => name, invokedUs, returnedUs, ...(typeof effect === 'function' ? { apply: effect } : effect) };
}

/** The register of a name: `-` is nothing, `?` an instance whose creation had no answer. */
const create =
  (id: string): Apply =>
  (state) =>
    state === '-' ? id : undefined;
const createLost: Effect = { apply: (state) => (state === '-' ? '?' : state), effect: 'create' };
const isTaken: Effect = { apply: (state) => (state === '-' ? undefined : state), isRead: true };
const deleteLost: Effect = { apply: () => '-', effect: 'delete' };
const remove =
  (id: string): Apply =>
  (state) =>
    state === id || state === '?' ? '-' : undefined;
const removeLost = (id: string): Effect => ({
  apply: (state) => (state === id || state === '?' ? '-' : state),
  effect: `delete ${id}`,
});
const isOther = (id: string): Effect => ({ apply: (state) => (state === id ? undefined : state), isRead: true });
const observe = (id: string): Effect => ({
  apply: (state) => (state === id || (state === '?' && id !== '-') ? id : undefined),
  isRead: true,
});

describe('linearize, with calls without an answer', () => {
  it('rejects that more of them took effect than were sent', () => {
    // Each of the three instances must be deleted before the next one, but only two deletions were sent.
    const created = ['a', 'b', 'c', 'd'].map((id, place) =>
      step(`create ${id}`, [20 * place + 10, 20 * place + 11], create(id)),
    );
    const lost = (count: number): readonly Step<string>[] =>
      Array.from({ length: count }, (_, place) => step('delete', [place, NEVER], deleteLost));
    expect(linearize([...created, ...lost(2)], '-')).toEqual({ stuckAt: 'create d' });
    expect(linearize([...created, ...lost(3)], '-')).toBe('linearizable');
  });

  it('decides with many of them beside many concurrent reads', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const rounds = names.flatMap((id, round) => {
      const at = 100 * round;
      const lost = Array.from({ length: 6 }, (_, place) => [
        step('create', [at + place, NEVER], createLost),
        step('delete', [at + place, NEVER], deleteLost),
        step(`delete ${id}`, [at + 60 + place, NEVER], removeLost(id)),
      ]);
      const reads = Array.from({ length: 8 }, (_, place) => step('read', [at + 50, at + 60 + place], observe(id)));
      return [step(`create ${id}`, [at + 10, at + 40], create(id)), ...lost.flat(), ...reads];
    });
    expect(linearize(rounds, '-')).toBe('linearizable');
    const never = step('read what nobody made', [700, 701], {
      apply: (state) => (state === 'x' ? state : undefined),
      isRead: true,
    });
    expect(linearize([...rounds, never], '-')).toEqual({ stuckAt: 'read what nobody made' });
  });

  it('is undecided when too many different operations are concurrent', () => {
    const writes = Array.from({ length: 20 }, (_, place) => step(`write ${place}`, [0, 10], () => `${place}`));
    const never = step('read what nobody wrote', [20, 21], (state) => (state === 'x' ? state : undefined));
    expect(linearize([...writes, never], '')).toBe('undecided');
    expect(linearize([...writes.slice(0, 8), never], '')).toEqual({ stuckAt: 'read what nobody wrote' });
  });
});

/** Tries every order that respects real time. */
function hasOrder(left: readonly Step<string>[], state: string): boolean {
  if (left.every(({ returnedUs }) => returnedUs === NEVER)) return true;
  const limitUs = Math.min(...left.map(({ returnedUs }) => returnedUs));
  return left.some((each) => {
    const next = each.invokedUs > limitUs ? undefined : each.apply(state);
    return (
      next !== undefined &&
      hasOrder(
        left.filter((other) => other !== each),
        next,
      )
    );
  });
}

describe('linearize, compared with a search that tries every order', () => {
  const id = constantFrom('a', 'b', 'c');
  const effect = oneof(
    id.map(create),
    id.map(remove),
    id.map(removeLost),
    id.map(observe),
    id.map(isOther),
    constantFrom(createLost, isTaken, deleteLost, observe('-')),
  );
  const drawn = record({ effect, fromUs: nat(12), forUs: nat(6), isLost: integer({ min: 0, max: 3 }) }).map((each) =>
    step('drawn', [each.fromUs, each.isLost === 0 ? NEVER : each.fromUs + each.forUs], each.effect),
  );

  it('agrees', () => {
    const verdicts = { good: 0, bad: 0 };
    assert(
      property(array(drawn, { minLength: 1, maxLength: 7 }), (steps) => {
        const isGood = hasOrder(steps, '-');
        verdicts[isGood ? 'good' : 'bad'] += 1;
        expect(linearize(steps, '-') === 'linearizable').toBe(isGood);
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(verdicts.good, verdicts.bad)).toBeGreaterThan(300);
  });
});
