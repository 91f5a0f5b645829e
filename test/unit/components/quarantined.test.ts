// Goal: whoever asks for a component that is in quarantine is told that this passes, and when; not that it is broken.
// Method: components as text that do not end, in executors that put a component away for a minute after one kill, by a
// clock that stands still; the errors are those that transports give.
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type DatabaseError, toRevision } from '#base';
import {
  CacheFolder,
  DEFAULT_STATE_CHANGES,
  DEFAULT_STATE_VIEWS,
  type Execution,
  FoldSnapshots,
  type RunnableArtifact,
  StateChanges,
  StateViews,
  type ViewAnswer,
} from '#components';
import { memoryKv } from '#kv';
import { ALL } from '#model';
import { undecidedError } from '#service';
import { stateViewFailed } from '../../../src/service/errors.ts';
import { changeText } from '../../support/components/change-text.ts';
import { askOn, commandOf } from '../../support/components/deciding.ts';
import { textArtifact } from '../../support/components/views.ts';
import { CREATED_AT_MS, DATABASE_ID, KnownDatabase } from '../../support/known-database.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';
import { guestText } from '../../support/wasm/guests.ts';

const WHERE = { databaseId: DATABASE_ID, revision: toRevision(1) };
const SCOPE = { ...WHERE, databaseName: 'known' };
const guest = {
  limits: { fuel: Number.MAX_SAFE_INTEGER, outputBytesMax: 60_000, hostCallsMax: 10 },
  time: { wallMs: 50, cpuMs: 60_000 },
};
const dir = tempDir();
const artifacts = join(dir.path, 'artifacts');
const own = executors({ quarantine: { killsMax: 1, windowMs: 60_000 } }, () => 1000.5);
afterAll(async () => {
  await own[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

async function database(): Promise<KnownDatabase> {
  const known = new KnownDatabase(memoryKv());
  known.apply([{ source: 'a', type: 't' }], CREATED_AT_MS);
  await known.flush();
  return known;
}

async function views(): Promise<StateViews> {
  const folder = await CacheFolder.open({ path: join(dir.path, 'folds'), bytesMax: 1e6, memoryBytesMax: 1e6 });
  return new StateViews(own, new FoldSnapshots(folder), { ...DEFAULT_STATE_VIEWS, guest });
}

function loopingView(): Promise<RunnableArtifact> {
  return textArtifact(artifacts, 'state-view', guestText('(loop $l (br $l)) (i32.const 16)'));
}

function viewError(answer: ViewAnswer): DatabaseError | undefined {
  return answer.kind === 'failed' ? stateViewFailed(SCOPE, answer) : undefined;
}

function commandError(execution: Execution): DatabaseError | undefined {
  return execution.kind === 'failed' ? undecidedError({ ...execution, ...SCOPE, failure: execution }) : undefined;
}

const QUARANTINED = {
  code: 'unavailable',
  message: expect.stringContaining('60 s'),
  details: { reason: 'Quarantined', retryAfterMs: 60_000, scope: WHERE },
};

describe('a component in quarantine', { timeout: 60_000 }, () => {
  it('is not called for a State View, whose readers are told for how long', async () => {
    const known = await database();
    const rendering = await views();
    const read = {
      source: known.source,
      databaseId: DATABASE_ID,
      view: 'view/v1',
      foldEpoch: 1,
      artifact: await loopingView(),
      selector: ALL,
      order: 'revision',
      parameters: new Map(),
      at: known.revision,
    } as const;
    expect(await rendering.render(read)).toMatchObject({ code: 'WasmExecutionError' });
    expect(viewError(await rendering.render(read))).toMatchObject(QUARANTINED);
  });

  it('decides no command, which is no answer of its State Change', async () => {
    const known = await database();
    const changes = new StateChanges(own, await views(), { ...DEFAULT_STATE_CHANGES, guest });
    const artifact = await textArtifact(artifacts, 'state-change', changeText('(loop $l (br $l)) unreachable'));
    const ask = askOn(known, { artifact, command: commandOf({ path: '/' }) });
    expect(await changes.execute(ask)).toMatchObject({ code: 'WasmExecutionError' });
    expect(commandError(await changes.execute(ask))).toMatchObject(QUARANTINED);
  });
});
