// The service of a simulated node, with a door for entries that define something. Publishing looks at components and
// makes them programs, which takes threads and time of the real world; what it proposes is what is proposed here.
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
