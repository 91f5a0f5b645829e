/** The methods that render State Views. */
import type { StateViewBindings } from '#service';
import { State } from '../../../proto/gen/cairn/v1/component.ts';
import { AskedStateView } from './asked-requests.ts';
import type { GrpcContext } from './context.ts';
import { decoding } from './messages.ts';
import { floorsOf } from './metadata.ts';
import { sentInstant } from './sent-instant.ts';
import { type Answer, unary } from './unary.ts';
import type { Call } from './wire/call.ts';
import type { UnaryMethod } from './wire/method.ts';

export function stateViewMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    unary(
      { name: 'FetchStateView', parse: decoding(AskedStateView, 'FetchStateViewRequest'), reply: State },
      // The state of now, also of a view in the order of effective time.
      (asked, call) => render(context, call, { asked, at: 'latest', cut: 'now' }),
    ),
    unary(
      {
        name: 'FetchStateViewAtRevision',
        parse: decoding(AskedStateView, 'FetchStateViewAtRevisionRequest'),
        reply: State,
      },
      (asked, call) => {
        const { revision: at, effectiveTimeEndAt: end } = asked;
        const cut = end === undefined ? undefined : sentInstant(end, 'effective_time_end_at');
        return render(context, call, { asked, at, cut });
      },
    ),
  ];
}

interface Render {
  readonly asked: AskedStateView;
  readonly at: AskedStateView['revision'] | 'latest';
  readonly cut: StateViewBindings['cut'];
}

async function render(
  { service }: GrpcContext,
  call: Call,
  { asked: { databaseName, name, version, parameters }, at, cut }: Render,
): Promise<Answer<State>> {
  const { signal } = call;
  const opened = await service.openStateView({ databaseName, name, version, at, signal, ...floorsOf(call) });
  const view = opened.bind({ parameters, field: 'parameters', cut });
  const { bytes } = await view.render({ signal });
  const { definition, version: found } = view.version;
  const message: State = {
    bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
    contentType: definition.contentType,
    revision: view.revision,
    version: found,
  };
  return { message, scope: view };
}
