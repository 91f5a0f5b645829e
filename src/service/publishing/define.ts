/** Proposes entries that change definitions, for the instance that a name means. */
import type { Binding, DefinitionOutcome } from '#cluster';
import { type DefinitionEntry, encodeDefinitionEntry } from '#model';
import type { ServiceContext } from '../context.ts';
import { assertHeld, onInstance, refusalBy } from '../instance.ts';
import { untilAtFloor } from '../read-scope.ts';
import type { DefiningRequest } from './operations.ts';

export type Define = (entry: DefinitionEntry) => Promise<DefinitionOutcome>;

/** Runs the work once the node has the revision that the request requires. */
export function defining<Reply>(
  context: ServiceContext,
  { databaseName, floor, requireLeader, span }: DefiningRequest,
  work: (binding: Binding, define: Define) => Promise<Reply>,
): Promise<Reply> {
  const { node } = context;
  return onInstance(node, databaseName, floor?.signal, async (binding, bind) => {
    assertHeld(node, binding);
    await untilAtFloor(context, { floor, span }, binding);
    return work(binding, async (entry) => {
      try {
        // Checked here, the error names the leader of this database.
        const refusal = requireLeader ? node.notLeading(binding.group) : undefined;
        if (refusal !== undefined) throw refusal;
        const outcome = await node.define(binding.group, encodeDefinitionEntry(entry), { requireLeader });
        // A client that has an outcome knows the instance.
        bind();
        return outcome;
      } catch (failure) {
        throw refusalBy(binding, failure);
      }
    });
  });
}
