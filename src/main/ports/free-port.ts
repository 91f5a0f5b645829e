/**
 * Waits for a port that is in use although no process listens on it.
 *
 * Outgoing connections use any port in a range of the system that contains the usual gRPC ports
 * (`net.ipv4.ip_local_port_range`, 32768 to 60999), and keep it for a minute after they end (TCP TIME_WAIT). A node
 * that connected to others before it listens, or that starts right after another one has stopped, may find its port
 * used that way.
 */
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Address, formatAddress } from '#base';
import type { Logger } from '#observability';

/** TIME_WAIT, and a little more. */
const HELD_MS_MAX = 65_000;
const POLL_MS = 200;
const ANSWERS_WITHIN_MS = 500;

/**
 * Resolves when the port can be bound, or when waiting does not help: a process listens there, or the address does not
 * belong to this machine. A later listen then fails with the reason.
 */
export async function untilFree(address: Address, logger: Logger): Promise<void> {
  if (address.port === 0) return;
  const endMs = performance.now() + HELD_MS_MAX;
  for (let isReported = false; (await codeOfBinding(address)) === 'EADDRINUSE'; isReported = true) {
    if (performance.now() > endMs || (await isAnswered(address))) return;
    if (!isReported) logger.warn('port-held', { address: formatAddress(address) });
    await delay(POLL_MS);
  }
}

/** Error code of binding the port now; undefined when it can be bound. */
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
    // A listener that does not answer at once may only be busy.
    socket.once('timeout', () => end(true));
    socket.once('error', () => end(false));
  });
}
