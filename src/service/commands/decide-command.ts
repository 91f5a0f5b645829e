/** The dry run of a State Change: it decides and commits nothing. */
import { assert, toRevision } from '#base';
import type { ServiceContext } from '../context.ts';
import { scopeOf, unlessAborted } from '../instance.ts';
import { openView } from '../read-scope.ts';
import { openDecision } from './decision-ask.ts';
import type { DecideCommandReply, DecideCommandRequest } from './operations.ts';

export async function decideCommand(
  context: ServiceContext,
  request: DecideCommandRequest,
): Promise<DecideCommandReply> {
  const { faults, command, signal } = request;
  const view = await openView(context, request, request.at);
  faults.throwIfAny('The command is malformed');
  assert(command !== undefined, 'A command that has no faults is there');
  const { ask, changes, version } = await openDecision(context, view, { ...request, command });
  const work = context.reads.read(view.binding, () => changes.decide(ask, view.revision));
  const decision = await unlessAborted(work, signal);
  const scope = scopeOf(view);
  switch (decision.kind) {
    case 'decided':
      return {
        ...scope,
        kind: 'decided',
        version,
        events: decision.events.map((bytes, index) => ({
          position: { revision: toRevision(view.revision + 1), index },
          recordedTimeMs: ask.receivedAtMs,
          bytes,
        })),
        guards: decision.guards,
      };
    case 'refused':
      return { ...scope, kind: 'refused', refusal: decision };
    case 'failed':
      return { ...scope, kind: 'failed', failure: decision };
  }
}
