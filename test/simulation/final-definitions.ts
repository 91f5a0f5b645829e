/**
 * Reads the definitions of a database from one replica: its rows, its answer to a listing, and the bytes of components.
 */

import { componentBytes, DatabaseReader } from '#database';
import { nativeSha256 } from '../../src/cluster/native.ts';
import { recordsBehind } from '../../src/database/stored-definitions.ts';
import type { FinalDefinitions } from './checks/evidence.ts';
import type { NodeProcess } from './node/process.ts';

/** Undefined when the node cannot answer now. */
export async function finalDefinitions(process: NodeProcess, name: string): Promise<FinalDefinitions | undefined> {
  const { node, service } = process;
  const binding = node?.catalog.lookup(name);
  if (node === undefined || service === undefined || binding === undefined) return undefined;
  const { signal } = new AbortController();
  const source = { kv: node.reader, group: binding.group, sha256: nativeSha256 };
  const { versions } = await service.listVersions({ databaseName: name, at: 'latest', signal });
  const reader = new DatabaseReader(source);
  const mark = reader.applied()?.definitions;
  const records = mark === undefined ? [] : recordsBehind(reader, mark, 0);
  const bytes = new Map<string, Uint8Array | undefined>();
  for (const { component } of versions) bytes.set(component.digest, await componentBytes(source, component));
  return {
    records: records.map(({ revision, timed }) => ({ revision, ...timed })),
    versions,
    bytes,
  };
}
