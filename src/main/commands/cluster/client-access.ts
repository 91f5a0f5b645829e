/** Reads the credentials with which a command connects to the gRPC port of a node. */
import { readFileSync } from 'node:fs';
import { DatabaseError, messageOf } from '#base';
import type { ClientAccess } from '#transport/peer';
import type { ClientFiles } from './cluster-arguments.ts';

const STDIN = 0;

/** @throws DatabaseError when a file cannot be read */
export function readClientAccess({ keyFile, isTls, tlsCaFile, tlsCertFile, tlsKeyFile }: ClientFiles): ClientAccess {
  const [ca, cert, key] = [tlsCaFile, tlsCertFile, tlsKeyFile].map((file) =>
    file === undefined ? undefined : contentOf(file),
  );
  const files = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
  return {
    key: keyFile === undefined ? undefined : contentOf(keyFile).toString('utf8').trim(),
    tls: isTls ? files : undefined,
  };
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? STDIN : file);
  } catch (cause) {
    throw new DatabaseError('invalid_argument', `The file ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
