/**
 * A command: a State Change decides it at a revision on the node of the client, and the leader commits it unless its
 * reads have changed (ADR 0108).
 *
 * ```
 *   name, database, floor ──▶ faults ──▶ recorded under its id? ──▶ version ──▶ decide, commit, again ──▶ reply
 * ```
 */
import { type AskedRevision, assert, parseUuid, type Revision, toRevision, uuidv7Bytes } from '#base';
import type { Binding } from '#cluster';
import type { DecisionBasis, Execution } from '#components';
import { parseTransactionId } from '#model';
import type { ServiceContext } from '../context.ts';
import { assertHeld, onInstance, type ReadView, refusalBy, scopeOf, unlessAborted } from '../instance.ts';
import type { ReadScope } from '../operations.ts';
import { latestRevision, openRevision, untilAtFloor } from '../read-scope.ts';
import { recordedReply, recordedUnder } from '../transact.ts';
import { openDecision } from './decision-ask.ts';
import { decisionLog } from './decision-log.ts';
import type { ExecuteCommandReply, ExecuteCommandRequest } from './operations.ts';

export function executeCommand(context: ServiceContext, request: ExecuteCommandRequest): Promise<ExecuteCommandReply> {
  const { faults, command, signal, origin, options, requireLeader = false, span } = request;
  return onInstance(context.node, request.databaseName, signal, (binding, bind) =>
    unlessAborted(execute(binding, bind), signal),
  );

  async function execute(binding: Binding, bind: () => void): Promise<ExecuteCommandReply> {
    assertHeld(context.node, binding);
    await untilAtFloor(context, request, binding);
    const transactionId = transactionIdOf(context, request);
    // A repeated command gets its recorded result, even if it differs or its version is gone. The latest revision is
    // requested once and shared.
    let asked: Promise<Revision> | undefined;
    const latest = (): Promise<Revision> => {
      asked ??= latestRevision(context.node, binding);
      return asked;
    };
    const recorded =
      request.batchId === undefined
        ? undefined
        : await recordedUnder(context, { binding, revision: await latest() }, transactionId);
    if (recorded !== undefined) {
      return { ...scopeOf({ binding, revision: recorded.revision }), kind: 'committed', transaction: recorded };
    }
    faults.throwIfAny('The command is malformed');
    assert(command !== undefined, 'A command that has no faults is there');
    const refusal = requireLeader ? context.node.notLeading(binding.group) : undefined;
    // A component is not run when its result could not be committed.
    if (refusal !== undefined) throw refusalBy(binding, refusal);
    const basis = await basisOf(context, binding, { ...request, latest });
    const revision = toRevision(basis.revision);
    const { ask, changes } = await openDecision(context, { binding, revision }, { ...request, command });
    const log = decisionLog(context, binding, { requireLeader, signal, span }, bind);
    const execution = await context.reads.read(binding, () =>
      changes.execute({ ...ask, basis, log, transactionId, origin, options }),
    );
    return replyOf({ binding, revision }, execution, transactionId);
  }
}

/** The 16 bytes of the given id, or of a new one. A malformed id adds a fault. */
function transactionIdOf({ clock, random }: ServiceContext, request: ExecuteCommandRequest): Uint8Array {
  const { batchId, batchIdField, faults } = request;
  const minted = uuidv7Bytes(clock.nowMs(), random);
  if (batchId === undefined) return minted;
  const id = parseTransactionId(batchId, batchIdField, faults);
  return id === undefined ? minted : (parseUuid(id) ?? minted);
}

async function basisOf(
  context: ServiceContext,
  binding: Binding,
  { lastSeen, at = 'latest', signal, latest }: ExecuteCommandRequest & { readonly latest: () => Promise<Revision> },
): Promise<DecisionBasis> {
  if (lastSeen !== undefined) return { kind: 'last-seen', revision: await applied(lastSeen) };
  if (at === 'latest') return { kind: 'latest', revision: await latest() };
  if (at === 'cached') return { kind: 'revision', revision: await openRevision(context, { signal }, binding, at) };
  return { kind: 'revision', revision: await applied(at) };

  function applied(revision: AskedRevision): Promise<number> {
    return openRevision(context, { signal }, binding, revision);
  }
}

function replyOf(view: ReadView, execution: Execution, transactionId: Uint8Array): ExecuteCommandReply {
  const { binding } = view;
  const at = (revision: number): ReadScope => scopeOf({ binding, revision: toRevision(revision) });
  switch (execution.kind) {
    case 'committed': {
      const { transaction: stored, isReplayed } = execution;
      const transaction = { ...recordedReply(binding, transactionId, stored), replayed: isReplayed };
      return { ...at(stored.revision), kind: 'committed', transaction };
    }
    case 'nothing':
      return { ...at(execution.at), kind: 'nothing' };
    case 'refused':
      return { ...at(execution.at), kind: 'refused', refusal: execution };
    case 'failed':
      return { ...scopeOf(view), kind: 'failed', failure: execution };
    case 'conflict': {
      const { message, revision, violations } = execution;
      return { ...at(revision), kind: 'conflict', message, violations };
    }
  }
}
