/** Finds free ports on loopback for servers of tests. */
import { createServer } from 'node:net';

/** Loopback ports that were bound and closed again; other processes are unlikely to take them before the node does. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve));
      return server;
    }),
  );
  return servers.map((server) => {
    const address = server.address();
    server.close();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  });
}
