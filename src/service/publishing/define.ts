/** Proposes entries that define something, for the instance that a name means. */
import type { Binding, DefinitionOutcome } from '#cluster';
import { type DefinitionEntry, encodeDefinitionEntry } from '#model';
import type { ServiceContext } from '../context.ts';
import { assertHeld, onInstance, refusalBy } from '../instance.ts';
import { untilAtFloor } from '../read-scope.ts';
import type { DefiningRequest } from './operations.ts';

export type Define = (entry: DefinitionEntry) => Promise<DefinitionOutcome>;

/** Runs the work once the node has what the request says that it must have. */
export function defining<Reply>(
  context: ServiceContext,
  { databaseName, floor, requireLeader, span }: DefiningRequest,
  work: (binding: Binding, define: Define) => Promise<Reply>,
): Promise<Reply> {
  const { node } = context;
  // Whoever has an outcome was told of the instance.
  let isBound = false;
  const run = async (binding: Binding): Promise<Reply> => {
    assertHeld(node, binding);
    await untilAtFloor(context, { floor, span }, binding);
    return work(binding, async (entry) => {
      try {
        // Said here, it names the leader of this database.
        const refusal = requireLeader ? node.notLeading(binding.group) : undefined;
        if (refusal !== undefined) throw refusal;
        const outcome = await node.define(binding.group, encodeDefinitionEntry(entry), { requireLeader });
        isBound = true;
        return outcome;
      } catch (failure) {
        throw refusalBy(binding, failure);
      }
    });
  };
  return onInstance(node, databaseName, { run, isBound: () => isBound, signal: floor?.signal });
}
