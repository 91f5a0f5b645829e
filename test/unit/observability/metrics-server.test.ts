// Goal: the scrape endpoint answers on its own port, and nothing else does.
// Method: the real server on a free loopback port, asked by fetch.
import { afterEach, expect, test } from 'vitest';
import { createMetrics, type MetricsServer, silentLogger, startMetricsServer } from '#observability';

let server: MetricsServer | undefined;
afterEach(() => server?.close());

async function start(port = 0): Promise<{ url: string; metrics: ReturnType<typeof createMetrics> }> {
  const metrics = createMetrics({ runtime: true });
  server = await startMetricsServer({ host: '127.0.0.1', port, metrics, logger: silentLogger });
  return { url: `http://127.0.0.1:${server.address.port}`, metrics };
}

test('the endpoint serves the metrics of the node and of its runtime', async () => {
  const { url, metrics } = await start();
  metrics.counter('cairn_raft_election_total', { result: 'won' }).add();
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(200);
  const body = await response.text();
  expect(body).toContain('cairn_raft_election_total{result="won"} 1');
  expect(body).toContain('nodejs_eventloop_lag_p99_seconds');
});

test('another path is 404, another method 405, a failing collector 500', async () => {
  const { url, metrics } = await start();
  expect((await fetch(`${url}/`)).status).toBe(404);
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
  metrics.beforeScrape(() => Promise.reject(new Error('broken')));
  expect((await fetch(`${url}/metrics`)).status).toBe(500);
});

test('a port that is taken is refused with the address', async () => {
  await start();
  const port = server?.address.port ?? 0;
  const again = startMetricsServer({
    host: '127.0.0.1',
    port,
    metrics: createMetrics({ runtime: false }),
    logger: silentLogger,
  });
  await expect(again).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(`:${port}`) });
});
