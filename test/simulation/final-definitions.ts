/**
 * Reads the definitions of a database from one replica: its rows, its answer to a listing, and the bytes of components.
 */

import { componentBytes, DatabaseReader, definitionsBetween } from '#database';
import { nativeSha256 } from '../../src/cluster/system-ports.ts';
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
  const records = await definitionsBetween(reader, 0, reader.applied()?.definitions ?? 0);
  const bytes = new Map<string, Uint8Array | undefined>();
  for (const { component } of versions) bytes.set(component.digest, await componentBytes(source, component));
  return {
    records,
    versions,
    bytes,
  };
}
