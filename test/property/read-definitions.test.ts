// Goal: readers of definitions get the result of the flushed entries, wherever they continue from (D24). Method: random
// entries and flushes; three kinds of readers, against naive-ledger.ts.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { toRevision } from '#base';
import { type Definitions, LEDGER_LIMITS, ReadDefinitions } from '#database';
import { type ComponentTitle, type DefinedVersion, decodeDefinitionEntry } from '#model';
import { DatabaseHost } from '../support/database-host.ts';
import { arbRequest, payloadOf, stampMs } from '../support/database-requests.ts';
import { arbDefining, DEFINITIONS } from '../support/definition-entries.ts';
import { NaiveLedger } from '../support/naive-ledger.ts';
import { runs } from '../support/runs.ts';

const TIMEOUT_MS = 60_000;
const RUNS = { numRuns: runs(30) };
const REVISIONS = [0, 1, 2, 5, Number.MAX_SAFE_INTEGER].map(toRevision);

const NAMES: readonly ComponentTitle[] = DEFINITIONS.map(({ kind: component, name }) => ({ component, name }));

type Step = { readonly kind: 'transact' | 'define'; readonly payload: Uint8Array } | { readonly kind: 'flush' | 'ask' };

const arbSteps: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: arbDefining.map((payload): Step => ({ kind: 'define', payload })) },
      {
        weight: 1,
        arbitrary: arbRequest({ variety: 40, eventsMax: 4 }).map(
          (request): Step => ({ kind: 'transact', payload: payloadOf({ ...request, stampedMs: stampMs(1, 0) }) }),
        ),
      },
      { weight: 2, arbitrary: fc.constantFrom<Step>({ kind: 'flush' }, { kind: 'ask' }) },
    ),
    { minLength: 20, maxLength: 80, size: 'max' },
  )
  .map((steps) => [...steps, { kind: 'flush' }, { kind: 'ask' }]);

/** A host with an oracle of the stored definitions; a transaction may also store earlier entries. */
class Watched {
  readonly host: DatabaseHost = new DatabaseHost();
  readonly #naive: NaiveLedger = new NaiveLedger(LEDGER_LIMITS);
  #waiting: { readonly index: number; readonly apply: () => unknown }[] = [];
  #index = 0;

  async take(step: Step): Promise<void> {
    if (step.kind === 'flush') await this.host.flush();
    if (step.kind !== 'transact' && step.kind !== 'define') return;
    this.#index += 1;
    if (step.kind === 'transact') await this.host.apply(step.payload);
    else this.#define(step.payload);
  }

  #define(payload: Uint8Array): void {
    const timed = decodeDefinitionEntry(payload);
    if (timed === undefined) throw new Error('the entry is one');
    const revision = toRevision(this.host.machine.applied.revision);
    const apply = (): unknown => this.#naive.apply(timed.entry, revision, timed.recordedTimeMs);
    this.#waiting.push({ index: this.#index, apply });
    this.host.define(payload);
  }

  expected(): unknown {
    const stored = this.host.reader().applied()?.index ?? 0;
    for (const { apply } of this.#waiting.filter(({ index }) => index <= stored)) apply();
    this.#waiting = this.#waiting.filter(({ index }) => index > stored);
    return REVISIONS.map((revision) => {
      const all = this.#naive.list(revision);
      const isOf = ({ definition: { kind, name } }: DefinedVersion, title: ComponentTitle): boolean =>
        kind === title.component && name === title.name;
      return [all, NAMES.map((title) => all.filter((each) => isOf(each, title)))];
    });
  }
}

function told(definitions: Definitions): unknown {
  return REVISIONS.map((revision) => [
    definitions.list(revision),
    NAMES.map((name) => definitions.versions(name, revision)),
  ]);
}

it(
  'readers get the definitions of the flushed entries, wherever they continue (D24)',
  async () => {
    const property = fc.asyncProperty(arbSteps, async (steps) => {
      const watched = new Watched();
      const follower = new ReadDefinitions(watched.host.source);
      for (const step of steps) {
        await watched.take(step);
        if (step.kind !== 'ask') continue;
        const [one, other] = await Promise.all([follower.current(), follower.current()]);
        const fresh = await new ReadDefinitions(watched.host.source).current();
        expect([one, other, fresh].map(told)).toEqual(Array.from({ length: 3 }, () => watched.expected()));
      }
    });
    await fc.assert(property, RUNS);
  },
  TIMEOUT_MS,
);
