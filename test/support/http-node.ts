/** A real node for the tests of one file, with a client of its HTTP API. */
import { HttpClient } from './http-client.ts';
import { type RunningServer, startTestServer } from './server.ts';
import { endWithFile } from './test-scope.ts';

export interface HttpNode {
  readonly server: RunningServer;
  readonly api: HttpClient;
}

/** Starts a node that runs until the last test of the file has ended. `settings` are command-line options. */
export async function startHttpNode(...settings: readonly string[]): Promise<HttpNode> {
  const server = await startTestServer(...settings);
  endWithFile(() => server[Symbol.asyncDispose]());
  return { server, api: new HttpClient(server.http) };
}
