/** TLS files of a node for tests, with the settings that name them. */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import type { Authority, Issued } from './certificates.ts';

/** Names in a certificate for a node on loopback. */
export const LOOPBACK_NAMES: readonly string[] = ['IP:127.0.0.1', 'DNS:localhost'];

export class TlsFiles {
  readonly #directory: string;
  #generation = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Writes the files like Kubernetes updates a mounted Secret: each generation has a new folder, and a symbolic link is
   * replaced.
   */
  put({ cert, key }: Issued): void {
    this.#generation += 1;
    const folder = join(this.#directory, `..generation-${this.#generation}`);
    mkdirSync(folder);
    writeFileSync(join(folder, 'tls.crt'), cert);
    writeFileSync(join(folder, 'tls.key'), key);
    const [next, link] = [join(this.#directory, '..next'), join(this.#directory, '..data')];
    symlinkSync(folder, next);
    renameSync(next, link);
    if (this.#generation > 1) return;
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(this.#directory, name));
  }

  /** Writes a file with these CA certificates. */
  authorities(name: string, ...those: readonly Authority[]): string {
    const file = join(this.#directory, name);
    writeFileSync(file, those.map(({ cert }) => cert).join(''));
    return file;
  }

  /** Settings of a node or command that presents the written certificate to nodes and trusts these authorities. */
  peerSettings(...those: readonly Authority[]): readonly string[] {
    return [
      `--peer-tls-cert-file=${join(this.#directory, 'tls.crt')}`,
      `--peer-tls-key-file=${join(this.#directory, 'tls.key')}`,
      `--peer-tls-ca-file=${this.authorities('peers.crt', ...those)}`,
    ];
  }

  /** Settings of a node that presents the written certificate to clients. */
  get settings(): readonly string[] {
    return [
      `--tls-cert-file=${join(this.#directory, 'tls.crt')}`,
      `--tls-key-file=${join(this.#directory, 'tls.key')}`,
    ];
  }
}

/** Credentials of a gRPC client that trusts the authority and presents a certificate if given. */
export function channelOf({ cert }: Authority, shown?: Issued): ReturnType<typeof credentials.createSsl> {
  const [key, chain] = [shown?.key, shown?.cert].map((text) => (text === undefined ? null : Buffer.from(text)));
  return credentials.createSsl(Buffer.from(cert), key, chain);
}
