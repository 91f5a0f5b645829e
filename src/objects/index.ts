/**
 * #objects: object stores behind the port of #archive.
 *
 * For: a directory of this machine, or of a file server that is mounted on it; a bucket of S3, or of a service like it.
 *
 * Not here: what the objects contain (#archive), and when a failed call is repeated, other than by a client library.
 *
 * A store of another kind gets a file beside this one, and its client library has its home in this folder.
 *
 * Invariants:
 *   X6  An object in a directory is there whole, under its name, or not at all; also after a power loss.
 */
import type { NewHash, ObjectStore } from '#archive';
import type { S3Place } from './s3-store.ts';

export { DirectoryStore } from './directory-store.ts';
export type { S3Place } from './s3-store.ts';

/** Loads the client of S3 only now: it takes 30 MiB of memory. */
export async function openS3Store(place: S3Place, newHash: NewHash): Promise<ObjectStore> {
  const { S3Store } = await import('./s3-store.ts');
  return new S3Store(place, newHash);
}
