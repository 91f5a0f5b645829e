// Goal: every panel shows something. Method: a real Prometheus scrapes a cluster under requests of many kinds, with the
// shipped rules, and is asked each expression of the dashboards. Six panels may be empty (EMPTY_WITHOUT): they need a
// fault, a full pass of the scrub, an archive, certificates or a component, and the test has none of them. That they
// name metrics that are exported is in dashboards.test.ts.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it, vi } from 'vitest';
import { SubscribeEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
import { kubeBinaries } from '../../scripts/kube/binaries.ts';
import { dashboardFiles } from '../../scripts/observability/dashboard-file.ts';
import { RULES_PATH } from '../../scripts/observability/rules-file.ts';
import { cloudEvent, HttpClient } from '../support/http-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { startNodes } from '../support/server-cluster.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const TIMEOUT_MS = 120_000;
vi.setConfig({ testTimeout: TIMEOUT_MS });

/** Panels that may be empty, each with what fills it. docs/operations/cluster.md names them. */
const EMPTY_WITHOUT: readonly string[] = [
  // An alert that fires.
  'Overview / Alerts',
  // A replica so far behind that it receives a snapshot.
  'Raft and replication / Duration, p99',
  // Tables in the store, and a scrub that has read all of them.
  'Storage / Last whole scrub',
  // An archive.
  'Storage / Age of recovery points',
  // Certificates at the ports of clients and between nodes.
  'API / Certificates expire',
  // A State View of the mode Eager.
  'Components and State Views / Revisions that views lack',
];

interface PanelFile {
  readonly title: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

interface QueryAnswer {
  readonly status: string;
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

const PANELS = dashboardFiles().flatMap(({ content }) => {
  const { title, panels }: PanelFile = JSON.parse(content);
  return panels.flatMap((panel) =>
    (panel.targets ?? []).map(({ expr }) => ({ place: `${title.replace('Cairn / ', '')} / ${panel.title}`, expr })),
  );
});

const nodes = await startNodes(['--database-bytes-max=1GiB']);
const [{ client, http }] = nodes;
const api = new HttpClient(http);

/** Its address, once it listens. */
function startPrometheus(): Promise<string> {
  const dir = testDir();
  const targets = nodes.map(({ metrics }, place) => {
    return { targets: [new URL(metrics).host], labels: { namespace: 'shop', pod: `cairn-${place}` } };
  });
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(resolve(import.meta.dirname, '../..'), RULES_PATH)],
    scrape_configs: [{ job_name: 'cairn', static_configs: targets }],
  };
  const file = join(dir, 'prometheus.yaml');
  writeFileSync(file, JSON.stringify(config));
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    '--web.listen-address=127.0.0.1:0',
  ];
  const child = spawn(join(kubeBinaries(), 'prometheus'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  endWithTest(child);
  let said = '';
  return new Promise((done, fail) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const [, address] = /Listening on.*address=(127\.0\.0\.1:[1-9]\d*)/.exec(said) ?? [];
      if (address !== undefined) done(`http://${address}`);
    });
    child.once('exit', () => fail(new Error(`Prometheus has ended: ${said}`)));
  });
}

/** A finite value of a line, if it has any. */
async function hasData(prometheus: string, expr: string): Promise<boolean> {
  const chosen = expr.replaceAll('$__rate_interval', '15s').replaceAll(/\$(?:namespace|job|pod)/g, '.*');
  const reply = await fetch(`${prometheus}/api/v1/query`, {
    method: 'POST',
    body: new URLSearchParams({ query: chosen }),
  });
  const answer = (await reply.json()) as QueryAnswer;
  expect([expr, answer.status]).toEqual([expr, 'success']);
  return answer.data.result.some(({ value: [, text] }) => Number.isFinite(Number(text)));
}

async function emptyPanels(prometheus: string): Promise<readonly string[]> {
  const empty = new Set<string>();
  for (const { place, expr } of PANELS) if (!(await hasData(prometheus, expr))) empty.add(place);
  return [...empty].filter((place) => !EMPTY_WITHOUT.includes(place));
}

it.skipIf(lacksTool('kube'))('every panel shows values of a cluster that is used', async () => {
  const prometheus = await startPrometheus();
  const places = new Set(PANELS.map(({ place }) => place));
  expect(EMPTY_WITHOUT.filter((place) => !places.has(place))).toEqual([]);
  await api.create('shop');
  const request = SubscribeEventsRequest.fromPartial({ databaseName: 'shop' });
  const tail = client.open('subscribeEvents', request, { deadlineMs: TIMEOUT_MS });
  tail.on('error', () => undefined).resume();
  await vi.waitFor(
    async () => {
      await api.commit('shop', cloudEvent('a'));
      await api.get('/databases/shop/events');
      await client.send('fetchCatalog', {});
      expect(await emptyPanels(prometheus)).toEqual([]);
    },
    { timeout: TIMEOUT_MS - 20_000, interval: 500 },
  );
  tail.cancel();
});
