// Decisions, folds and presentations are spans of the trace of their request.
import { beforeAll, expect, it } from 'vitest';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { startHttpNode } from '../support/http-node.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { endWithFile } from '../support/test-scope.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';
import { wat } from '../support/wasm/wat.ts';

const TRACE = 'c'.repeat(32);
const TRACED = { traceparent: `00-${TRACE}-${'b'.repeat(16)}-01` };

const receiver = await startOtlpReceiver();
endWithFile(() => receiver[Symbol.asyncDispose]());
const settings = [`--otlp-endpoint=${receiver.endpoint}`, '--trace-sample-ratio=0'];
const { api } = await startHttpNode('--guest-executors=1', ...settings);

beforeAll(async () => {
  await api.create('bank');
  const change = await builtComponent('examples/bank/accounts.ts');
  await api.publish('bank/state-changes', { state_change_name: 'accounts' }, change);
  const statement = { presenter_name: 'statement', content_types: ['text/csv'] };
  await api.publish('bank/presenters', statement, await wat(SHOWING));
  const view = { content_type: 'application/json', query_temporality: 'revision', presenter: 'statement' };
  const counted = await (await hashingView({ hasBatch: true, hasQuery: true })).bytes();
  await api.publish('bank/state-views', { ...view, event_selector: {}, state_view_name: 'balances' }, counted);
}, BUILD_MS);

it(
  'SPEC-TRACE-CONTEXT: a command, a fold and a presentation are in the trace of their request',
  async () => {
    const command = { method: 'POST', path: '/accounts/a', body: { owner: 'ann' } };
    const executed = await api.post('/api/v1/db/bank/state-changes/accounts/v1/execute', command, TRACED);
    expect(executed.status).toBe(200);
    const revision = executed.headers.get('x-revision');
    const path = `/api/v1/db/bank/${revision}/state-views/balances/v1`;
    expect(await api.get(path, { accept: 'text/csv', ...TRACED })).toMatchObject({ status: 200, text: '' });

    const wanted = ['cairn.decide', 'cairn.propose', 'cairn.execute_command', 'cairn.fold', 'cairn.present'];
    const spans = await receiver.until('spans of components', (all) =>
      wanted.every((name) => all.some((span) => span.name === name)),
    );
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    const [decide, propose, execute, fold, present] = wanted.map((name) => spans.find((span) => span.name === name));
    expect([decide?.parentId, propose?.parentId]).toEqual([execute?.spanId, execute?.spanId]);
    expect(decide?.attributes).toMatchObject({ 'cairn.component': 'accounts v1', 'cairn.result': 'decided' });
    expect(fold?.attributes).toMatchObject({ 'cairn.component': 'balances v1', 'cairn.revision': Number(revision) });
    expect(present?.attributes).toMatchObject({ 'cairn.component': 'statement v1' });
  },
  BUILD_MS,
);
