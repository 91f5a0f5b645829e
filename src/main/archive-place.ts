/** The object store that the commands for archives use, and the databases in it. */
import { createHash } from 'node:crypto';
import { type ArchivePorts, archivedDatabases, type Hash, type OpenedArchive, openArchive } from '#archive';
import { DatabaseError, quote } from '#base';
import { DirectoryStore, openS3Store } from '#objects';
import { archivePlace, archiveUrl } from './archive-url.ts';

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
 * The databases with these names or ids; without any, all databases.
 * @throws DatabaseError when there is none, or a name means several
 */
export async function findArchives(ports: ArchivePorts, wanted: readonly string[]): Promise<readonly FoundArchive[]> {
  const found: FoundArchive[] = [];
  for (const databaseId of await archivedDatabases(ports.store)) {
    found.push({ databaseId, opened: await openArchive(ports, databaseId) });
  }
  const names = wanted.length > 0 ? wanted : [...new Set(found.map(nameOf))];
  if (names.length === 0) throw new DatabaseError('not_found', 'the archive has no database');
  return names.map((name) => {
    const [one, ...others] = found.filter((each) => each.databaseId === name || nameOf(each) === name);
    if (one === undefined) {
      const known = found.map(nameOf).join(', ');
      throw new DatabaseError('not_found', `the archive has no database ${name}; it has ${known || 'none'}`);
    }
    if (others.length > 0) {
      const ids = [one, ...others].map(describe).join('; ');
      throw new DatabaseError('invalid_argument', `${name} means several instances; name one by --database ID: ${ids}`);
    }
    return one;
  });
}

/** Its name; its id while no manifest can be read. */
function nameOf({ databaseId, opened }: FoundArchive): string {
  return opened.newest?.manifest.database.name ?? databaseId;
}

function describe({ databaseId, opened }: FoundArchive): string {
  const written = opened.newest?.manifest.writtenAtMs ?? 0;
  return `${databaseId}, archived last at ${new Date(written).toISOString()}`;
}
