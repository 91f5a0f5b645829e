/** Names of the objects of an archive, and the fault of one of them. */
import { DatabaseError } from '#base';
import type { ArchivedTail } from './manifest.ts';
import type { ObjectStore } from './object-store.ts';

const DATABASES = 'databases/';
/** Prefix of the names of all catalogs. */
export const CATALOGS = 'catalogs/';
const OF_MANIFEST = /^databases\/([^/]+)\/manifests\//;
const NUMBER_DIGITS = 12;
const NUMBER = /\/(\d{12})(?:-[\da-f]{64})?$/;

export function segmentObject(hash: string): string {
  return `segments/${hash}`;
}

export function tailObject(databaseId: string, { number, hash }: Pick<ArchivedTail, 'number' | 'hash'>): string {
  return `${tailsOf(databaseId)}${digitsOf(number)}-${hash}`;
}

export function manifestObject(databaseId: string, number: number): string {
  return `${manifestsOf(databaseId)}${digitsOf(number)}`;
}

/** The catalog of a cluster, by a node. */
export function catalogObject(cluster: string, node: number): string {
  return `${CATALOGS}${cluster}/${node}`;
}

function digitsOf(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

/** Prefix of the names of all tails of a database. */
export function tailsOf(databaseId: string): string {
  return `${DATABASES}${databaseId}/tails/`;
}

/** Prefix of the names of all manifests of a database. */
export function manifestsOf(databaseId: string): string {
  return `${DATABASES}${databaseId}/manifests/`;
}

/** The ids of the databases in the store. */
export async function archivedDatabases(store: Pick<ObjectStore, 'list'>): Promise<readonly string[]> {
  const names = await store.list(DATABASES);
  return [...new Set(names.flatMap((name) => OF_MANIFEST.exec(name)?.[1] ?? []))];
}

/** The number in the name of a manifest or tail; 0 for another name. */
export function numberIn(name: string): number {
  return Number(NUMBER.exec(name)?.[1] ?? 0);
}

/** An object that is missing or damaged, or has other bytes than its name says. */
export class ArchiveFault extends DatabaseError {
  readonly object: string;
  readonly fault: string;

  /** `fault` says what is wrong with the object, as in "its hash is …". */
  constructor(object: string, fault: string, hint: string = '') {
    super('internal', `object ${object} of the archive cannot be used: ${fault}${hint}`);
    this.object = object;
    this.fault = fault;
  }
}
