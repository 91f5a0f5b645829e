/** Finds free ports on loopback for servers of tests. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Linux gives outgoing connections the ports from 32,768, so none of those below is taken before the node binds it. */
const PORTS = { min: 10_000, end: 32_768 };

/** Loopback ports that were bound and closed again. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Map<number, Server>();
  while (ports.size < count) {
    const port = randomInt(PORTS.min, PORTS.end);
    const server = createServer();
    const isFree = await once(server.listen({ host: '127.0.0.1', port }), 'listening').then(
      () => true,
      () => false,
    );
    if (isFree) ports.set(port, server);
  }
  for (const server of ports.values()) server.close();
  return [...ports.keys()];
}
