// Goal: a request has a span until its answer, and log lines about it have its trace id. Method: a failing route with a
// tracer that keeps spans.
import { expect, it } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { keptSpans } from '../../../support/kept-spans.ts';

const TRACE = 'a'.repeat(32);

it('the span of a request that fails has an error, and the log has its trace id', async () => {
  const { tracer, ended } = keptSpans();
  const handle = (): never => {
    throw new TypeError('a bug');
  };
  await using world = await startHttpWorld({ tracer, routes: [{ method: 'GET', path: '/bug/{name}', handle }] });
  const answer = await world.client.get('/bug/some', { traceparent: `00-${TRACE}-${'b'.repeat(16)}-01` });
  expect(answer.status).toBe(500);
  expect(world.logged).toEqual(['http-request-failed']);
  expect(world.fields[0]).toMatchObject({ route: '/bug/{name}', trace_id: TRACE });
  await eventually(() => expect(ended).toHaveLength(1));
  expect(ended[0]).toMatchObject({
    name: 'GET /bug/{name}',
    status: { code: 2 },
    attributes: { 'http.response.status_code': 500, 'error.type': '500' },
  });
});
