// Goal: the operator learns how full volumes are, and what components do, from the metrics of nodes.
// Method: the metrics server of a node, with and without TLS, and servers that do not answer as one does.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { callsOf, usageOf } from '../../../operator/src/client/index.ts';
import { Authority } from '../../support/certificates.ts';
import { startTestServer } from '../../support/server.ts';

const METRICS = `# HELP cairn_disk_available_bytes Room.
# TYPE cairn_disk_available_bytes gauge
cairn_disk_available_bytes 5
cairn_disk_capacity_bytes 200
cairn_store_size_bytes{kind="wal"} 7
`;

async function serve(answer: RequestListener, tls?: { readonly cert: string; readonly key: string }): Promise<string> {
  const server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return `127.0.0.1:${port}`;
}

describe('the usage of volumes', () => {
  it('is the share that is not available, of the nodes that answer', async () => {
    const full = await serve((_request, response) => response.end(METRICS));
    const broken = await serve((_request, response) => response.writeHead(503).end(METRICS));
    const other = await serve((_request, response) => response.end('cairn_disk_level 0\n'));
    const addresses = { 'shop-0': full, 'shop-1': broken, 'shop-2': other, 'shop-3': '127.0.0.1:1' };
    const nodes = Object.entries(addresses).map(([name, address]) => [name, { address, identity: {} }] as const);
    expect(await usageOf(new Map(nodes))).toEqual(new Map([['shop-0', 97.5]]));
  });

  it('is read over TLS from nodes of the trusted authority alone', async () => {
    const authority = new Authority('authority of the cluster');
    const tls = authority.issue({ cn: 'node', names: ['IP:127.0.0.1'] });
    const address = await serve((_request, response) => response.end(METRICS), tls);
    const read = (authorities: string): Promise<ReadonlyMap<string, number>> =>
      usageOf(new Map([['shop-0', { address, identity: { tls: { authorities } } }]]));
    expect(await read(authority.cert)).toEqual(new Map([['shop-0', 97.5]]));
    expect(await read(new Authority('another one').cert)).toEqual(new Map());
  });

  it('is in the metrics of a node', async () => {
    await using node = await startTestServer();
    const port = { address: new URL(node.metrics).host, identity: {} };
    expect([...(await usageOf(new Map([['node', port]]))).keys()]).toEqual(['node']);
  });
});

describe('the calls of a component', () => {
  const shown = (digest: string, result: string, counts: readonly number[]): string =>
    counts
      .map(
        (count, at) =>
          `cairn_component_call_duration_seconds_bucket{le="${[0.001, 0.002, '+Inf'][at]}",digest="${digest}",result="${result}"} ${count}\n`,
      )
      .concat(`cairn_component_call_duration_seconds_count{digest="${digest}",result="${result}"} ${counts.at(-1)}\n`)
      .join('');

  it('are the sum over all nodes, and are not known while one of them is silent', async () => {
    const first = await serve((_request, response) =>
      response.end(
        shown('aa', 'answered', [5, 7, 8]) + shown('aa', 'trapped', [1, 1, 1]) + shown('bb', 'failed', [9, 9, 9]),
      ),
    );
    const second = await serve((_request, response) => response.end(shown('aa', 'answered', [1, 1, 2])));
    const ports = (...addresses: readonly string[]) => addresses.map((address) => ({ address, identity: {} }));
    expect(await callsOf(ports(first, second), 'sha256:aa')).toEqual({
      answered: 10,
      failed: 0,
      trapped: 1,
      within: new Map([
        [1, 7],
        [2, 9],
      ]),
    });
    expect(await callsOf(ports(first, '127.0.0.1:1'), 'sha256:aa')).toBeUndefined();
    expect(await callsOf([], 'sha256:aa')).toBeUndefined();
  });
});
