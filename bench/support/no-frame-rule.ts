/**
 * Turns off the rule about frames of HTTP/2 (src/transport/frame-floods.ts) in a node that loads this first (--import):
 * every connection looks as if nothing had been read from it.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
// A client's connection has the same kind of handle as the port.
const kind: unknown = Object.getPrototypeOf(Reflect.get(server, '_handle'));
if (typeof kind !== 'object' || kind === null) throw new TypeError('the handle of a port has a prototype');
Object.defineProperty(kind, 'bytesRead', { get: () => 0 });
server.close();
