// Types for the part of the package ws that the harness uses; the package has no types of its own.
declare module 'ws' {
  import type { EventEmitter } from 'node:events';

  export class WebSocket extends EventEmitter {
    send(data: Uint8Array): void;
    close(code: number): void;
  }

  export class WebSocketServer {
    constructor(options: { readonly noServer: true });
    handleUpgrade(request: object, socket: object, head: Buffer, then: (client: WebSocket) => void): void;
  }
}
