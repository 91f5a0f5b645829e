/**
 * A preloaded module (--import) that disables the limit on HTTP/2 frames (src/transport/frame-floods.ts) in a node:
 * every connection reports 0 read bytes.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
// Accepted connections have the same kind of handle as this listening socket.
const kind: unknown = Object.getPrototypeOf(Reflect.get(server, '_handle'));
if (typeof kind !== 'object' || kind === null) throw new TypeError('the handle of a port has a prototype');
Object.defineProperty(kind, 'bytesRead', { get: () => 0 });
server.close();
