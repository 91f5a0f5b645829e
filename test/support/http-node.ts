/** A real node for the tests of one file, and a client of its HTTP API. */
import { HttpClient } from './http-client.ts';
import { type RunningServer, startTestServer } from './server.ts';
import { endWithFile } from './test-scope.ts';

export interface HttpNode {
  readonly server: RunningServer;
  readonly api: HttpClient;
}

/** Runs when the promise resolves, until the last test of the file is over. Settings are those of the command line. */
export async function startHttpNode(...settings: readonly string[]): Promise<HttpNode> {
  const server = await startTestServer(...settings);
  endWithFile(() => server[Symbol.asyncDispose]());
  return { server, api: new HttpClient(server.http) };
}
