/**
 * A manifest: everything that an archive of a database has, at one moment (docs/formats/archive.md). It needs no other
 * manifest; `basis` only shows which one its writer knew.
 *
 * ```
 * file := manifest as JSON, line feed, the SHA-256 of both as a JSON string, line feed
 * ```
 * A manifest has exactly one encoding. So a reader encodes what it has parsed, and compares.
 */
import { caught, compareBytes, decodeUtf8, encodeUtf8 } from '#base';
import type { NewHash } from './object-store.ts';

/** An object of an archive, and where the history is at its end. */
export interface ArchivedObject {
  /** SHA-256 of its bytes, which is in its name. */
  readonly hash: string;
  readonly bytes: number;
  /** Position in the history behind the last record. */
  readonly end: number;
  /** The last transaction up to there, and its recorded time; both 0 if there is none. */
  readonly revision: number;
  readonly recordedTimeMs: number;
}

/** Records of the open segment. */
export interface ArchivedTail extends ArchivedObject {
  /** Number of the manifest that it was written for, which is in its name. */
  readonly number: number;
}

export interface ArchivedDatabase {
  readonly id: string;
  /** The instance that the chain of hashes begins with. */
  readonly root: string;
  readonly name: string;
  readonly createdAtMs: number;
}

export interface Manifest {
  readonly database: ArchivedDatabase;
  /** From 1 on. */
  readonly number: number;
  /** The manifest that it continues; null for the first one. */
  readonly basis: ManifestMark | null;
  /** Name of the node that wrote it, and its clock. */
  readonly writer: string;
  readonly writtenAtMs: number;
  /** Chain hash of the last revision. */
  readonly chainHash: string;
  /** Sealed segments, from position 0 on. */
  readonly segments: readonly ArchivedObject[];
  readonly tails: readonly ArchivedTail[];
}

export interface ManifestMark {
  readonly number: number;
  readonly hash: string;
}

const FORMAT = 1;
/** In the order in which they are written, whatever they belong to. */
const FIELDS: string[] = (
  'format database id root name createdAtMs number basis writer writtenAtMs chainHash ' +
  'segments tails hash bytes end revision recordedTimeMs'
).split(' ');
const HASH = /^[0-9a-f]{64}$/;
const LINE_FEED = 0x0a;

export function encodeManifest(newHash: NewHash, manifest: Manifest): Uint8Array {
  const text = `${JSON.stringify({ format: FORMAT, ...manifest }, FIELDS)}\n`;
  return encodeUtf8(`${text}"${hashOfText(newHash, encodeUtf8(text))}"\n`);
}

/** The manifest of the database with this number; as text: why it is none. */
export function decodeManifest(
  newHash: NewHash,
  bytes: Uint8Array,
  { databaseId, number }: { readonly databaseId: string; readonly number: number },
): Manifest | string {
  const end = bytes.indexOf(LINE_FEED) + 1;
  if (end === 0) return 'it is cut';
  const text = bytes.subarray(0, end);
  const hash = encodeUtf8(`"${hashOfText(newHash, text)}"\n`);
  if (compareBytes(bytes.subarray(end), hash) !== 0) return 'it does not match its hash';
  const manifest: unknown = caught(
    (): unknown => JSON.parse(decodeUtf8(text) ?? ''),
    () => undefined,
  );
  if (!isObject(manifest)) return 'it is no JSON object';
  if (manifest['format'] !== FORMAT) {
    return `it has format ${JSON.stringify(manifest['format'])}, and this release reads format ${FORMAT}`;
  }
  if (!isManifest(manifest)) return 'a field is missing or has another type';
  if (manifest.number !== number || manifest.database.id !== databaseId) {
    return `it is manifest ${manifest.number} of database ${manifest.database.id}`;
  }
  return faultInObjects(manifest) ?? faultInEncoding(newHash, manifest, bytes) ?? manifest;
}

/** The hash of a manifest, as the next one names it. */
export function markOf(newHash: NewHash, bytes: Uint8Array, { number }: Manifest): ManifestMark {
  return { number, hash: hashOfText(newHash, bytes) };
}

/** The objects of a manifest, in the order of their positions. */
function objectsOf({ segments, tails }: Pick<Manifest, 'segments' | 'tails'>): readonly ArchivedObject[] {
  return [...segments, ...tails];
}

/** The end of the history in the archive. */
export function endOf(manifest: Pick<Manifest, 'segments' | 'tails'>): ArchiveEnd {
  const { end: position, revision, recordedTimeMs } = objectsOf(manifest).at(-1) ?? NOTHING;
  return { position, revision, recordedTimeMs };
}

export interface ArchiveEnd {
  readonly position: number;
  readonly revision: number;
  readonly recordedTimeMs: number;
}

const NOTHING = { end: 0, revision: 0, recordedTimeMs: 0 };

function faultInObjects(manifest: Manifest): string | undefined {
  let before = NOTHING;
  const objects = objectsOf(manifest);
  for (const [index, object] of objects.entries()) {
    const isTail = index >= manifest.segments.length;
    const isLater = object.end > before.end && object.revision >= before.revision;
    if (!isLater || (isTail && object.bytes !== object.end - before.end)) {
      return `object ${object.hash} does not continue the one before it`;
    }
    before = object;
  }
  return undefined;
}

function faultInEncoding(newHash: NewHash, manifest: Manifest, bytes: Uint8Array): string | undefined {
  const isSame = compareBytes(encodeManifest(newHash, manifest), bytes) === 0;
  return isSame ? undefined : 'it has an unknown field, or is written in another way';
}

type Check = (value: unknown) => boolean;
type Shape<Value> = { readonly [Name in keyof Value]-?: Check };

const MARK: Shape<ManifestMark> = { number: isCount, hash: isHash };
const DATABASE: Shape<ArchivedDatabase> = { id: isText, root: isText, name: isText, createdAtMs: isCount };
const OBJECT: Shape<ArchivedObject> = {
  hash: isHash,
  bytes: isCount,
  end: isCount,
  revision: isCount,
  recordedTimeMs: isCount,
};
const TAIL: Shape<ArchivedTail> = { ...OBJECT, number: isCount };
const MANIFEST: Shape<Manifest> = {
  database: (value) => hasShape(value, DATABASE),
  number: isCount,
  basis: (value) => value === null || hasShape(value, MARK),
  writer: isText,
  writtenAtMs: isCount,
  chainHash: isHash,
  segments: (value) => haveShape(value, OBJECT),
  tails: (value) => haveShape(value, TAIL),
};

function haveShape(values: unknown, shape: Readonly<Record<string, Check>>): boolean {
  return Array.isArray(values) && values.every((each) => hasShape(each, shape));
}

function isManifest(value: object): value is Manifest {
  return hasShape(value, MANIFEST);
}

function hasShape(value: unknown, shape: Readonly<Record<string, Check>>): boolean {
  return isObject(value) && Object.entries(shape).every(([name, isValid]) => isValid(value[name]));
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && HASH.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function hashOfText(newHash: NewHash, bytes: Uint8Array): string {
  const hash = newHash();
  hash.update(bytes);
  return hash.hex();
}
