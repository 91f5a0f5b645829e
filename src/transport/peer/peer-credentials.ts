/** Connections of grpc-js to a peer, secured like lanes, with the same verification and the same failures. */
import type { Socket } from 'node:net';
import { ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Address } from '#base';
import type { PeerTls } from './peer-tls.ts';

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Connected = Awaited<ReturnType<Connector['connect']>>;

export class PeerCredentials extends ChannelCredentials {
  readonly #tls: PeerTls;
  readonly #address: Address;
  /** Failure of the last TLS handshake; undefined: none. */
  failure: Error | undefined;

  constructor(tls: PeerTls, address: Address) {
    super();
    this.#tls = tls;
    this.#address = address;
  }

  override _isSecure(): boolean {
    return true;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(): Connector {
    return {
      connect: (socket) => this.#secure(socket),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => credentials.createEmpty(),
      destroy: () => undefined,
    };
  }

  #secure(dialled: Socket): Promise<Connected> {
    return new Promise((resolve, reject) => {
      const socket = this.#tls.secured(dialled, this.#address.host);
      const failed = (failure: Error): void => {
        this.failure = failure;
        reject(failure);
      };
      socket.on('error', failed);
      socket.once('secureConnect', () => {
        socket.off('error', failed).on('error', () => undefined);
        resolve({ socket, secure: true });
      });
    });
  }
}
