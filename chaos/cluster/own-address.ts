/**
 * Loaded into each node of a run on loopback before anything else: its connections to addresses of loopback come from
 * the address that the environment names, so that a proxy knows who asks. Nothing else of the node is touched.
 */
import { Socket } from 'node:net';

/** Not CAIRN_: a node takes whatever begins so for a setting of its own. */
export const ADDRESS_VARIABLE = 'CHAOS_ADDRESS';

/** What Node is to import. */
export const PRELOADED: string = import.meta.url;

const own = process.env[ADDRESS_VARIABLE];
if (own !== undefined) sendFrom(own);

function sendFrom(localAddress: string): void {
  const connect = Reflect.get(Socket.prototype, 'connect') as (this: Socket, ...args: unknown[]) => Socket;
  Socket.prototype.connect = function connectFrom(this: Socket, ...args: unknown[]): Socket {
    // As `net.connect` hands it on: the options are the first of a list.
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
