// Goal: the operator reads the calls of components from the metrics of nodes. Method: the metrics server of a node,
// with and without TLS, and servers with invalid answers.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Calls, callsOf } from '../../../operator/src/client/index.ts';
import { Authority } from '../../support/certificates.ts';

async function serve(answer: RequestListener, tls?: { readonly cert: string; readonly key: string }): Promise<string> {
  const server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return `127.0.0.1:${port}`;
}

describe('the calls of a component', () => {
  const shown = (digest: string, result: string, counts: readonly number[]): string =>
    counts
      .map(
        (count, at) =>
          `cairn_component_call_duration_seconds_bucket{le="${[0.001, 0.002, '+Inf'][at]}",digest="${digest}",result="${result}"} ${count}\n`,
      )
      .concat(`cairn_component_call_duration_seconds_count{digest="${digest}",result="${result}"} ${counts.at(-1)}\n`)
      .join('');

  it('are the sum over all nodes, and unknown while one node does not answer', async () => {
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
    const broken = await serve((_request, response) => response.writeHead(503).end(shown('aa', 'answered', [1, 1, 2])));
    expect(await callsOf(ports(first, broken), 'sha256:aa')).toBeUndefined();
    expect(await callsOf(ports(first, '127.0.0.1:1'), 'sha256:aa')).toBeUndefined();
    expect(await callsOf([], 'sha256:aa')).toBeUndefined();
  });

  it('are read over TLS only from nodes of the trusted authority', async () => {
    const authority = new Authority('authority of the cluster');
    const tls = authority.issue({ cn: 'node', names: ['IP:127.0.0.1'] });
    const address = await serve((_request, response) => response.end(shown('aa', 'failed', [1, 2, 3])), tls);
    const read = ({ cert: authorities }: Authority): Promise<Calls | undefined> =>
      callsOf([{ address, identity: { tls: { authorities } } }], 'sha256:aa');
    expect(await read(authority)).toMatchObject({ failed: 3 });
    expect(await read(new Authority('another one'))).toBeUndefined();
  });
});
