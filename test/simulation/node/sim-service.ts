// The service of a simulated node, with an additional method for definition entries. Publishing would compile
// components in real threads and time; this method proposes the resulting entries directly.
import { DatabaseError } from '#base';
import type { Node } from '#cluster';
import { type DefinitionEntry, encodeDefinitionEntry } from '#model';
import type { Service } from '#service';
import type { DefinitionTold } from '../history.ts';

export interface SimService extends Service {
  define(name: string, entry: DefinitionEntry): Promise<DefinitionTold>;
}

export function withDefine(service: Service, node: Node): SimService {
  return {
    ...service,
    define: async (name, entry) => {
      await node.currentCatalog();
      const binding = node.catalog.lookup(name);
      if (binding === undefined) throw new DatabaseError('not_found', `There is no database ${name}`);
      const absence = node.absence(binding.group);
      if (absence !== undefined) throw absence;
      const outcome = await node.define(binding.group, encodeDefinitionEntry(entry));
      return { databaseId: binding.databaseId, outcome };
    },
  };
}
