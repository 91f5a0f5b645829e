// Goal: a command is decided, decided again after a conflict, refused or failed, and committed once under its id (F22).
// Method: the accounts of the bank with a view as text; components that misbehave.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CacheFolder,
  DEFAULT_STATE_CHANGES,
  type Execution,
  type ExecutionAsk,
  FoldSnapshots,
  type ReadableView,
  type RunnableArtifact,
  type StateChangeSettings,
  StateChanges,
  StateViews,
} from '#components';
import { eventToJson, ORIGIN, type TransactPayload, term } from '#model';
import { eventsOf } from '#query';
import { changeText, ONE_EVENT } from '../../support/components/change-text.ts';
import { askOn, commandOf, idOf, readable } from '../../support/components/deciding.ts';
import { linesView } from '../../support/components/lines-view.ts';
import { artifactOfBytes, builtArtifact, textArtifact } from '../../support/components/views.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';

/** A component of 12 MB is built and started on a busy machine. */
const BUILD_MS = 300_000;
const dir = tempDir();
const deciding = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } });
const folding = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } });
const built: { accounts?: RunnableArtifact; balances?: RunnableArtifact } = {};
let views: StateViews;

beforeAll(async () => {
  const path = join(dir.path, 'artifacts');
  built.accounts = await builtArtifact(path, 'state-change', 'examples/bank/accounts.ts');
  built.balances = await artifactOfBytes(path, 'state-view', await linesView(BALANCES));
  const folder = await CacheFolder.open({ path: join(dir.path, 'folds'), bytesMax: 1e6, memoryBytesMax: 1e6 });
  views = new StateViews(folding, new FoldSnapshots(folder));
}, BUILD_MS);
afterAll(async () => {
  await Promise.all([deciding[Symbol.asyncDispose](), folding[Symbol.asyncDispose]()]);
  dir[Symbol.dispose]();
});

function changes(settings: Partial<StateChangeSettings> = {}): StateChanges {
  return new StateChanges(deciding, views, { ...DEFAULT_STATE_CHANGES, ...settings });
}

function artifact(name: keyof typeof built): RunnableArtifact {
  const found = built[name];
  if (found === undefined) throw new Error(`${name} is not built`);
  return found;
}

/** Constant, so that no test waits for another component of 12 MB. */
const BALANCES = {
  first: '[{"account":"a","owner":"Ada","cents":500},{"account":"b","owner":"Bo","cents":0}',
  line: ' ',
  last: ']',
};

function bankEvent(type: string, data: object, subject: string = 'a'): EventSketch {
  return { source: 'accounts', type, subject, data: new TextEncoder().encode(JSON.stringify(data)), dataKind: 1 };
}

/** An account with a balance of five euros. */
async function bank(): Promise<KnownDatabase> {
  const known = new KnownDatabase(memoryKv());
  known.apply([bankEvent('account.opened', { owner: 'Ada' })], CREATED_AT_MS);
  known.apply([bankEvent('account.deposited', { cents: 500 })], CREATED_AT_MS);
  await known.flush();
  return known;
}

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly json?: unknown;
}

const WITHDRAWAL: Sent = { path: '/accounts/a/withdrawals', json: { cents: 400 } };

/** A command to the bank. `before` has the commits of others, one before each of its own commits. */
function asked(
  known: KnownDatabase,
  sent: Sent,
  {
    before = [],
    ...more
  }: Partial<ExecutionAsk> & { readonly before?: readonly EventSketch[]; readonly tried?: TransactPayload[] } = {},
): ExecutionAsk {
  const left = [...before];
  const selector = term('by-stream', 'accounts');
  const found = new Map<string, ReadableView>([['balances', readable('balances', artifact('balances'), { selector })]]);
  const ask = askOn(known, {
    artifact: artifact('accounts'),
    command: commandOf(sent),
    views: found,
    before: async () => {
      const event = left.shift();
      if (event !== undefined) known.apply([event], CREATED_AT_MS);
    },
    onCommit: (payload) => void more.tried?.push(payload),
  });
  return { ...ask, ...more };
}

function eventsIn(execution: Execution): readonly unknown[] {
  if (execution.kind !== 'committed') return [execution];
  return eventsOf(execution.transaction).map(({ bytes, position, recordedTimeMs }): unknown =>
    JSON.parse(eventToJson(bytes, { ...position, recordedTimeMs })),
  );
}

describe('a State Change', { timeout: 120_000 }, () => {
  it('commits the events that it decides with ids, origin, and the revision of the decision', async () => {
    const tried: TransactPayload[] = [];
    const principalAttributes = new Map([['sub', 'ada']]);
    const options = { principalAttributes, commitMessage: 'rent', lastReadRevision: 1 };
    const around = { origin: ORIGIN.GRPC_STATE_CHANGE, options, tried };
    const execution = await changes().execute(asked(await bank(), WITHDRAWAL, around));
    const transaction = { revision: 3 };
    expect(execution).toMatchObject({ kind: 'committed', isReplayed: false, attempts: 1, transaction });
    const event = { id: 'minted-0', source: 'accounts', type: 'account.withdrawn', subject: 'a', revision: 3 };
    expect(eventsIn(execution)).toMatchObject([{ ...event, data: { cents: 400 } }]);
    expect(tried).toMatchObject([
      {
        origin: ORIGIN.GRPC_STATE_CHANGE,
        transactionId: idOf(1),
        options: { principalAttributes, commitMessage: 'rent', lastReadRevision: 2 },
        constraints: [{ kind: 'max-revision', revision: 2 }],
      },
    ]);
  });

  it('refuses a command with the code and message of the component', async () => {
    const known = await bank();
    const sent = { ...WITHDRAWAL, json: { cents: 501 } };
    expect(await changes().execute(asked(known, sent))).toEqual({
      kind: 'refused',
      at: 2,
      code: 'ValidationFailed',
      message: 'There is not enough on the account',
      reason: 'overdrawn',
      details: '{"balance":500,"asked":501}',
    });
    const unknown = await changes().execute(asked(known, { path: '/accounts/a/gifts' }));
    expect(unknown).toMatchObject({ kind: 'refused', code: 'UnknownCommand' });
    expect(known.revision).toBe(2);
  });

  it('reads a State View during the decision, in an executor that is not blocked by the read', async () => {
    const known = await bank();
    const execution = await changes().execute(asked(known, { method: 'DELETE', path: '/accounts/a' }));
    expect(eventsIn(execution)).toMatchObject([{ type: 'account.withdrawn', data: { cents: 500 } }]);
    const empty = { method: 'DELETE', path: '/accounts/b' };
    const again = await changes().execute(asked(known, empty, { transactionId: idOf(2) }));
    expect(again).toEqual({ kind: 'nothing', at: 3, attempts: 1 });
  });

  it('ends in a conflict after the maximum number of attempts', async () => {
    const known = await bank();
    const before = Array.from({ length: 3 }, () => bankEvent('account.deposited', { cents: 1 }));
    const execution = await changes({ attemptsMax: 3 }).execute(asked(known, WITHDRAWAL, { before }));
    expect(execution).toMatchObject({
      kind: 'conflict',
      attempts: 3,
      revision: 5,
      message: 'What the command was decided by at revision 4 has changed; the database is at 5',
      violations: [{ index: 0, kind: 'max-revision', found: 5 }],
    });
    expect(known.revision).toBe(5);
  });

  it('is committed within a few attempts, for many concurrent commands on one account (F23)', async () => {
    const known = await bank();
    const own = changes();
    const deposit = { path: '/accounts/a/deposits', json: { cents: 1 } };
    // A commit is delayed, so that all decisions made in the meantime conflict.
    const commits = Array.from({ length: 40 }, (_, number) => {
      const ask = asked(known, deposit, { transactionId: idOf(number + 1) });
      const commit: typeof ask.log.commit = async (payload) => {
        await new Promise((resolve) => setImmediate(resolve));
        return ask.log.commit(payload);
      };
      return own.execute({ ...ask, log: { ...ask.log, commit } });
    });
    const executions = await Promise.all(commits);
    const attempts = executions.map((execution) => (execution.kind === 'committed' ? execution.attempts : execution));
    expect(new Set(attempts)).toEqual(new Set([1, 2]));
    expect(known.revision).toBe(2 + 40);
  });
});

const ERROR = '(i32.store8 (i32.const 16) (i32.const 1)) (i32.const 16)';

describe('a State Change that misbehaves', { timeout: 60_000 }, () => {
  it.each<readonly [string, string, number, string, RegExp]>([
    ['traps', 'unreachable', 2, 'WasmExecutionError', /^Trap: /],
    ['does not end', '(loop $l (br $l)) unreachable', 2, 'WasmExecutionError', /^FuelExhausted: /],
    ['returns a pointer outside its memory', '(i32.const 65532)', 1, 'WasmExecutionError', /^AbiViolation: /],
    ['emits no event', ONE_EVENT, 1, 'ValidationError', /events\[0\] must be a record cloudevent of cairn\.wit/],
    ['refuses without a reason', ERROR, 1, 'WasmExecutionError', /answers an error internal-error, as cairn\.wit/],
  ])('that %s commits nothing', async (...[, body, calls, code, says]) => {
    const known = await bank();
    const text = await textArtifact(join(dir.path, 'artifacts'), 'state-change', changeText(body));
    const before = deciding.figures().calls;
    const { guest } = DEFAULT_STATE_CHANGES;
    const few = { ...guest, limits: { ...guest.limits, fuel: 1_000_000 } };
    const execution = await changes({ guest: few }).execute(asked(known, { path: '/' }, { artifact: text }));
    expect(execution).toEqual({ kind: 'failed', code, message: expect.stringMatching(says) });
    expect([deciding.figures().calls - before, known.revision]).toEqual([calls, 2]);
  });

  it('that is aborted commits nothing', async () => {
    const known = await bank();
    const signal = AbortSignal.abort();
    const execution = await changes().execute(asked(known, WITHDRAWAL, { signal }));
    expect(execution).toMatchObject({ kind: 'failed', message: expect.stringMatching(/^Cancelled: /) });
    expect(known.revision).toBe(2);
  });

  it('that gets no executor fails with Busy', async () => {
    await using idle = executors({ waitingMax: 0 });
    const full = new StateChanges(idle, views);
    expect(await full.execute(asked(await bank(), WITHDRAWAL))).toMatchObject({ kind: 'failed', code: 'Busy' });
  });
});
