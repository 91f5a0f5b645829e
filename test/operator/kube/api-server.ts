// An HTTPS API server for tests that answers each request.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { Api, HttpsTransport } from '../../../operator/src/kube/index.ts';
import { Authority } from '../../support/certificates.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface ServerPlan {
  /** Path of a proxy, a prefix of the path of the API. */
  readonly behind?: string;
  /** Alternative name in its certificate. */
  readonly name?: string;
  readonly tlsServerName?: string;
}

export type Answer = (received: Received, response: ServerResponse) => void;

/** Returns a client of a server that runs until the test ends. */
export async function startApiServer(
  answer: Answer,
  { behind = '', name = 'IP:127.0.0.1', tlsServerName = '' }: ServerPlan = {},
): Promise<Api> {
  const authority = new Authority();
  const server = createServer(authority.issue({ cn: 'api', names: [name] }), (request, response) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'https://api');
    void text(request).then((body) =>
      answer({ method: request.method ?? '', path, query, headers: request.headers, body }, response),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  const config = new KubeConfig();
  const caData = Buffer.from(authority.cert).toString('base64');
  config.loadFromClusterAndUser(
    {
      name: 'test',
      server: `https://127.0.0.1:${address.port}${behind}`,
      caData,
      skipTLSVerify: false,
      ...(tlsServerName !== '' && { tlsServerName }),
    },
    { name: 'test', token: 'a-token' },
  );
  return new Api(new HttpsTransport(config));
}

/** Responds with an object. */
export function reply(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
