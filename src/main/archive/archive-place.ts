/** The object store that the commands for archives use, and the databases in it. */
import { createHash } from 'node:crypto';
import { type ArchivePorts, archivedDatabases, type Hash, type OpenedArchive, openArchive } from '#archive';
import { DatabaseError, quote } from '#base';
import { DirectoryStore, openS3Store } from '#objects';
import { archivePlace, archiveUrl } from '../settings/archive-url.ts';

/** A database of an archive: its newest manifest, and what is wrong with later ones. */
export interface FoundArchive {
  readonly databaseId: string;
  readonly opened: OpenedArchive;
}

/** The archive at a path or URL. @throws DatabaseError when it is neither */
export async function archiveAt(text: string): Promise<ArchivePorts> {
  const place = archivePlace(text);
  if (place === undefined) {
    throw new DatabaseError(
      'invalid_argument',
      `${quote(text)} is no archive: name a directory, or ${archiveUrl.expects}`,
    );
  }
  if ('directory' in place) return { store: new DirectoryStore(place.directory), newHash };
  const isPathStyle = (process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL']) !== undefined;
  const store = await openS3Store({ ...place.s3, isPathStyle }, newHash);
  return { store, newHash };
}

function newHash(): Hash {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

/**
 * The instances with one of these names or ids; without any, all.
 * @throws DatabaseError when there is none
 */
export async function findArchives(ports: ArchivePorts, wanted: readonly string[]): Promise<readonly FoundArchive[]> {
  const found: FoundArchive[] = [];
  for (const databaseId of await archivedDatabases(ports.store)) {
    found.push({ databaseId, opened: await openArchive(ports, databaseId) });
  }
  if (wanted.length === 0 && found.length > 0) return found;
  if (wanted.length === 0) throw new DatabaseError('not_found', 'the archive has no database');
  const isNamed = (each: FoundArchive, name: string): boolean => [each.databaseId, nameOf(each)].includes(name);
  const unknown = wanted.find((name) => !found.some((each) => isNamed(each, name)));
  if (unknown === undefined) return found.filter((each) => wanted.some((name) => isNamed(each, name)));
  const known = found.map(nameOf).join(', ');
  throw new DatabaseError('not_found', `the archive has no database ${unknown}; it has ${known || 'none'}`);
}

/** Throws DatabaseError when several instances have the same name. */
export function refuseTwins(found: readonly FoundArchive[]): void {
  for (const name of new Set(found.map(nameOf))) {
    const instances = found.filter((each) => nameOf(each) === name);
    if (instances.length === 1) continue;
    const ids = instances.map(describe).join('; ');
    throw new DatabaseError('invalid_argument', `${name} means several instances; name one by --database ID: ${ids}`);
  }
}

/** Its name; its id while no manifest can be read. */
export function nameOf({ databaseId, opened }: FoundArchive): string {
  return opened.newest?.manifest.database.name ?? databaseId;
}

function describe({ databaseId, opened }: FoundArchive): string {
  const written = opened.newest?.manifest.writtenAtMs ?? 0;
  return `${databaseId}, archived last at ${new Date(written).toISOString()}`;
}
