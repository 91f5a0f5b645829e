// A node compares the tag of a State View before it folds anything.
import { expect, it } from 'vitest';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { cloudEvent, HttpClient } from '../support/http-client.ts';
import { startNodes } from '../support/server-cluster.ts';

const EVENTS = 130;
const PATH = '/api/v1/db/bank/1/state-views/counts/v1';
const FOLDED = /^cairn_stateview_events_folded_total\{by="reads"\} (\d+)$/m;
const NOT_MODIFIED =
  /^http_server_request_duration_seconds_count\{.*state-views\/\{name\}\/v\{version\}".*code="304"\} (\d+)$/m;

const nodes = await startNodes(['--guest-executors=1']);
const [one, other] = [new HttpClient(nodes[0].http), new HttpClient(nodes[1].http)];
await one.create('bank');
await one.commit('bank', ...Array.from({ length: EVENTS }, (_, at) => cloudEvent(`${at}`)));
const view = await (await hashingView({ hasBatch: true, hasQuery: true })).bytes();
const metadata = { state_view_name: 'counts', content_type: 'text/x', query_temporality: 'revision' };
await one.publish('bank/state-views', { ...metadata, event_selector: {} }, view);

function foldedAfter(answers: number): Promise<number> {
  return eventually(async () => {
    const text = await (await fetch(nodes[1].metrics)).text();
    expect(Number(NOT_MODIFIED.exec(text)?.[1])).toBe(answers);
    return Number(FOLDED.exec(text)?.[1] ?? 0);
  });
}

it('SPEC-HTTP-R6: a tag is compared before anything is folded', { timeout: 120_000 }, async () => {
  const rendered = await one.get(PATH);
  const etag = rendered.headers.get('etag') ?? '';
  expect([rendered.status, etag]).toEqual([200, expect.stringMatching(/^W\/"/)]);
  const held = { 'if-none-match': `"other", ${etag}` };
  const answer = await other.get(PATH, held);
  expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', etag]);
  expect(await foldedAfter(1)).toBe(0);
  expect((await other.get(PATH)).text).toBe(rendered.text);
  await other.get(PATH, held);
  expect(await foldedAfter(2)).toBe(EVENTS);
});
