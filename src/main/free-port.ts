/**
 * Waits for a port that nobody listens on and that cannot be had all the same.
 *
 * Connections that go out take any port of the range that the system keeps for them, which the usual ports of gRPC are
 * in (`net.ipv4.ip_local_port_range`, 32768 to 60999), and hold it for another minute after their end (TIME_WAIT of
 * TCP). A node that asked others before it listens, or runs where another one has just ended, may find its own port
 * taken so.
 */
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Address, formatAddress } from '#base';
import type { Logger } from '#observability';

/** TIME_WAIT, and a little more. */
const HELD_MS_MAX = 65_000;
const LOOK_MS = 200;
const ANSWERS_WITHIN_MS = 500;

/**
 * Resolves when the port can be bound, or when waiting is of no use: somebody listens there, or the address is not one
 * of this machine. Whoever listens then hears why.
 */
export async function untilFree(address: Address, logger: Logger): Promise<void> {
  if (address.port === 0) return;
  const endMs = performance.now() + HELD_MS_MAX;
  for (let isTold = false; (await codeOfBinding(address)) === 'EADDRINUSE'; isTold = true) {
    if (performance.now() > endMs || (await isAnswered(address))) return;
    if (!isTold) logger.warn('port-held', { address: formatAddress(address) });
    await delay(LOOK_MS);
  }
}

/** Why the port cannot be bound now; undefined: it can. */
function codeOfBinding({ host, port }: Address): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (failure: NodeJS.ErrnoException) => resolve(failure.code));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

function isAnswered({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: ANSWERS_WITHIN_MS });
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('connect', () => end(true));
    // Whoever does not answer at once may be too busy, and listens.
    socket.once('timeout', () => end(true));
    socket.once('error', () => end(false));
  });
}
