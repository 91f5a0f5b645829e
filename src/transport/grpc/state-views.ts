/** The methods that render State Views. */
import { toAskedRevision } from '#base';
import type { OpenStateViewRequest, StateViewBindings } from '#service';
import { State } from '../../../proto/gen/cairn/v1/component.ts';
import type { Requests } from '../../../proto/gen/requests.ts';
import { sentInstant } from '../request-reader.ts';
import type { GrpcContext } from './metadata.ts';
import { floorsOf } from './metadata.ts';
import { type Answer, shape, unary } from './unary.ts';
import type { Call } from './wire/call.ts';
import type { UnaryMethod } from './wire/method.ts';

export function stateViewMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    unary(
      shape('FetchStateView', State),
      // The current state, also of a view in the order of effective time.
      (asked, call) => render(context, call, asked, { version: undefined, at: 'latest', cut: 'now' }),
    ),
    unary(shape('FetchStateViewAtRevision', State), (asked, call) => {
      const { version, revision, effectiveTimeEndAt: end } = asked;
      const cut = end === undefined ? undefined : sentInstant(end, 'effective_time_end_at');
      return render(context, call, asked, { version, at: toAskedRevision(revision), cut });
    }),
  ];
}

async function render(
  { service }: GrpcContext,
  call: Call,
  { databaseName, stateViewName: name, parameters: entries }: Requests['cairn.v1.FetchStateViewRequest'],
  { version, at, cut }: Pick<OpenStateViewRequest, 'version' | 'at'> & Pick<StateViewBindings, 'cut'>,
): Promise<Answer<State>> {
  const { signal } = call;
  const opened = await service.openStateView({ databaseName, name, version, at, signal, ...floorsOf(call) });
  const parameters = new Map(entries.map(({ key, value }) => [key, value]));
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
