/**
 * A preloaded module for the nodes of a run on loopback. It makes outgoing loopback connections of the node come from
 * the address in the environment variable, so that a proxy can identify the node. It changes nothing else.
 */
import { Socket } from 'node:net';

/** Without the prefix CAIRN_, because a node reads such variables as its settings. */
export const ADDRESS_VARIABLE = 'CHAOS_ADDRESS';

/** URL for the option `--import` of Node.js. */
export const PRELOADED: string = import.meta.url;

const own = process.env[ADDRESS_VARIABLE];
if (own !== undefined) sendFrom(own);

function sendFrom(localAddress: string): void {
  const connect = Reflect.get(Socket.prototype, 'connect') as (this: Socket, ...args: unknown[]) => Socket;
  Socket.prototype.connect = function connectFrom(this: Socket, ...args: unknown[]): Socket {
    // `net.connect` passes its normalized arguments as a list whose first element has the options.
    const [first] = args;
    const options: unknown = Array.isArray(first) ? first[0] : first;
    if (isOnLoopback(options)) options.localAddress ??= localAddress;
    return connect.call(this, ...args);
  };
}

function isOnLoopback(options: unknown): options is { host: string; localAddress?: string } {
  if (typeof options !== 'object' || options === null || !('host' in options)) return false;
  return typeof options.host === 'string' && options.host.startsWith('127.');
}
