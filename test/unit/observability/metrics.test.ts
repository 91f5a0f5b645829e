// Goal: Prometheus reads the counts of the layers, and the number of values of each label has a limit. Method: the real
// registry, rendered as text.
import { expect, test } from 'vitest';
import { COUNTERS, createMetrics, describeMetric, GAUGES, HISTOGRAMS } from '#observability';
import { BUCKETS } from '../../../src/observability/metric-catalogue.ts';

test('a counter, a gauge and a histogram are rendered with their labels', async () => {
  const metrics = createMetrics({ runtime: false });
  const committed = metrics.counter('cairn_transactions_total', { origin: 'grpc', result: 'committed' });
  committed.add();
  committed.add(2);
  metrics.gauge('cairn_streams_open', { op: 'scan' }).set(3);
  metrics.gauge('cairn_streams_open', { op: 'scan' }).move(-1);
  metrics.histogram('cairn_wal_fsync_duration_seconds', {}).observe(0.003);

  const { body, contentType } = await metrics.render();

  expect(contentType).toContain('text/plain');
  expect(body).toContain('cairn_transactions_total{origin="grpc",result="committed"} 3');
  expect(body).toContain('cairn_streams_open{op="scan"} 2');
  expect(body).toContain('cairn_wal_fsync_duration_seconds_bucket{le="0.004"} 1');
  expect(body).toContain('cairn_wal_fsync_duration_seconds_bucket{le="0.002"} 0');
});

test('a count of events that have not happened is 0, and not absent (O1)', async () => {
  const metrics = createMetrics({ runtime: false });
  const { body } = await metrics.render();
  expect(body).toContain('cairn_transactions_total{origin="http",result="failed"} 0');
  expect(body).toContain('cairn_rejected_total{reason="overload"} 0');
  expect(body).toContain('cairn_raft_leader_changes_total 0');
  expect(body).toContain('cairn_raft_snapshot_duration_seconds_count{way="received"} 0');
  expect(body).toContain('cairn_wal_fsync_duration_seconds_bucket{le="+Inf"} 0');
  // The values of an open label are unknown, and a gauge that was never set is not 0.
  expect(seriesOf('cairn_peer_sent_bytes_total', body)).toEqual([]);
  expect(seriesOf('cairn_disk_threshold_bytes', body)).toEqual([]);

  metrics.counter('cairn_peer_sent_bytes_total', { peer: '2' });
  metrics.histogram('cairn_peer_round_trip_time_seconds', { peer: '2' });
  const { body: later } = await metrics.render();
  expect(later).toContain('cairn_peer_sent_bytes_total{peer="2"} 0');
  expect(later).toContain('cairn_peer_round_trip_time_seconds_count{peer="2"} 0');
});

test('values beyond the limit of an open label are counted together as "other" (O1)', async () => {
  const metrics = createMetrics({ runtime: false });
  for (let i = 0; i < 70; i++) metrics.counter('cairn_peer_sent_bytes_total', { peer: `${i}` }).add(10);

  const series = seriesOf('cairn_peer_sent_bytes_total', (await metrics.render()).body);

  expect(series).toHaveLength(65);
  expect(series.at(-1)).toBe('cairn_peer_sent_bytes_total{peer="other"} 60');
});

test('a gauge beyond the limit of an open label is omitted (O1)', async () => {
  const metrics = createMetrics({ runtime: false });
  for (let i = 0; i < 70; i++) metrics.gauge('cairn_peer_active', { peer: `${i}` }).set(i);

  const series = seriesOf('cairn_peer_active', (await metrics.render()).body);

  expect(series).toHaveLength(64);
  expect(series.at(-1)).toBe('cairn_peer_active{peer="63"} 63');
});

test('series that are set together replace the previous ones, up to the limit of the label (O1)', async () => {
  const metrics = createMetrics({ runtime: false });
  const set = async (names: readonly string[]): Promise<readonly string[]> => {
    metrics.setSeries(
      'cairn_database_revision',
      names.map((database, value) => ({ labels: { database }, value })),
    );
    return seriesOf('cairn_database_revision', (await metrics.render()).body);
  };

  expect(await set(Array.from({ length: 130 }, (_, i) => `db-${i}`))).toHaveLength(100);
  expect(await set(['new', 'db-7'])).toEqual([
    'cairn_database_revision{database="new"} 0',
    'cairn_database_revision{database="db-7"} 1',
  ]);
});

test('a removed node has no series, and another node can have its place (O1)', async () => {
  const metrics = createMetrics({ runtime: false });
  const show = (peer: string): void => {
    metrics.counter('cairn_peer_sent_bytes_total', { peer }).add(10);
    metrics.gauge('cairn_peer_active', { peer }).set(1);
    metrics.histogram('cairn_peer_round_trip_time_seconds', { peer }).observe(0.001);
  };
  for (let i = 0; i < 64; i++) show(`${i}`);
  await metrics.render();
  metrics.forgetPeer('7');
  expect((await metrics.render()).body).not.toContain('peer="7"');
  show('next');
  const { body } = await metrics.render();
  expect(seriesOf('cairn_peer_active', body)).toHaveLength(64);
  expect(body).toContain('cairn_peer_active{peer="next"} 1');
  expect(body).not.toContain('peer="other"');
  // A node that returns with the same name begins at zero.
  metrics.forgetPeer('8');
  show('8');
  expect((await metrics.render()).body).toContain('cairn_peer_sent_bytes_total{peer="8"} 10');
});

function seriesOf(name: string, body: string): readonly string[] {
  return body.split('\n').filter((line) => line.startsWith(`${name}{`));
}

test('a value outside a closed label is a bug and throws (O1)', () => {
  const metrics = createMetrics({ runtime: false });
  // @ts-expect-error: the compiler refuses it first.
  expect(() => metrics.gauge('cairn_streams_open', { op: 'dance' })).toThrow('no value dance');
});

test('the name of every metric follows the rules of promtool (O1)', () => {
  for (const [name, definition] of Object.entries({ ...COUNTERS, ...GAUGES, ...HISTOGRAMS })) {
    expect(name).toMatch(/^[a-z][a-z0-9_]*[a-z0-9]$/);
    expect(describeMetric(definition).help).toMatch(/^[A-Z0-9].*\.$/);
  }
  for (const name of Object.keys(COUNTERS)) expect(name).toMatch(/_total$/);
  for (const name of Object.keys(GAUGES)) expect(name).not.toMatch(/_total$/);
  for (const [name, buckets] of Object.entries(BUCKETS)) {
    expect(name).toMatch(/_(seconds|bytes|events|revisions)$/);
    expect(buckets.toSorted((a, b) => a - b)).toEqual(buckets);
  }
});
