// Three real nodes in this process that hold every database, seen as one server: each protocol is spoken by a node of
// its own, so that what a test writes by one and reads by another has gone from node to node.
import { spending } from './costs.ts';
import { eventually } from './eventually.ts';
import { seriesAt } from './metrics-page.ts';
import { startServerIn, startTestServer, type TestServer } from './server.ts';
import { tempDir } from './temp-dir.ts';
import { endWithFile } from './test-scope.ts';

/** A scrape takes milliseconds of the processor that the nodes need. */
const SCRAPED = { interval: 100 };

/** Settings are those of each node. */
export function startServerCluster(...settings: readonly string[]): Promise<TestServer> {
  return spending('starting nodes', () => startThree(settings));
}

async function startThree(settings: readonly string[]): Promise<TestServer> {
  await using starting = new AsyncDisposableStack();
  const start = async (name: string, ...own: readonly string[]): Promise<TestServer> => {
    const dir = starting.adopt(tempDir(), (each) => each[Symbol.dispose]());
    return starting.use(await startServerIn(dir.path, `--node-name=${name}`, '--peer-port=0', ...own, ...settings));
  };
  const one = await start('one');
  const [two, three] = await Promise.all([start('two', `--join=${one.peer}`), start('three', `--join=${one.peer}`)]);
  await untilAllAreVoters(one, 3);
  const nodes = starting.move();
  const { http, metricsOfHttp } = three;
  const each = [one, two, three].flatMap((node) => node.nodes);
  return { ...two, http, metricsOfHttp, mcp: one.mcp, nodes: each, [Symbol.asyncDispose]: () => nodes.disposeAsync() };
}

export type Nodes = readonly [one: TestServer, two: TestServer, three: TestServer, ...others: TestServer[]];

/** Nodes of one cluster, called one, two, three, and the others; they run until the last test of the file is over. */
export async function startNodes(settings: readonly string[] = [], others: readonly string[] = []): Promise<Nodes> {
  const start = async (name: string, ...own: readonly string[]): Promise<TestServer> => {
    const server = await startTestServer(`--node-name=${name}`, '--peer-port=0', ...own, ...settings);
    endWithFile(() => server[Symbol.asyncDispose]());
    return server;
  };
  const one = await start('one');
  const join = (name: string): Promise<TestServer> => start(name, `--join=${one.peer}`);
  const [two, three] = await Promise.all([join('two'), join('three')]);
  await untilAllAreVoters(one, 3);
  return [one, two, three, ...(await Promise.all(others.map(join)))];
}

/** Until then a database may get fewer copies than there are nodes. */
export async function untilAllAreVoters(node: Pick<TestServer, 'metrics'>, count: number): Promise<void> {
  await eventually(async () => {
    const voters = await seriesAt(node.metrics, 'cairn_raft_members{role="voter"}');
    if (voters !== count) throw new Error(`The catalog has ${voters} voters yet`);
  }, SCRAPED);
}
