/** A real node for the tests of one file, and a client that sends any bytes to its gRPC port. */
import { RawGrpc } from './raw-grpc.ts';
import { startTestServer, type TestServer } from './server.ts';
import { endWithFile } from './test-scope.ts';

export interface GrpcNode {
  readonly server: TestServer;
  readonly raw: RawGrpc;
}

/** Runs when the promise resolves, until the last test of the file is over. Settings are those of the command line. */
export async function startGrpcNode(...settings: readonly string[]): Promise<GrpcNode> {
  const server = await startTestServer(...settings);
  const raw = new RawGrpc(server.port);
  endWithFile(async () => {
    await raw.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, raw };
}
