/** The methods that publish components. */
import { COMPONENT_BYTES_MAX, METADATA_BYTES_MAX } from '#model';
import {
  DefineStateChangeResponse,
  DefineStateViewResponse,
  PublishPresenterReply,
  PublishStateChangeReply,
  PublishStateViewReply,
} from '../../../proto/gen/cairn/v1/component.ts';
import { lettingGo } from '../gathered-bytes.ts';
import type { GrpcContext } from './metadata.ts';
import {
  type PublishRequest,
  parseDefineStateChange,
  parseDefineStateView,
  parsePublishPresenter,
  parsePublishStateChange,
  parsePublishStateView,
} from './publish-requests.ts';
import { type MessageType, write } from './unary.ts';
import { FRAME_HEADER_BYTES } from './wire/framing.ts';
import type { UnaryMethod } from './wire/method.ts';

export function publishingMethods(context: GrpcContext): readonly UnaryMethod[] {
  return [
    publishing(context, 'DefineStateView', parseDefineStateView, DefineStateViewResponse),
    publishing(context, 'DefineStateChange', parseDefineStateChange, DefineStateChangeResponse),
    publishing(context, 'PublishStateView', parsePublishStateView, PublishStateViewReply),
    publishing(context, 'PublishStateChange', parsePublishStateChange, PublishStateChangeReply),
    publishing(context, 'PublishPresenter', parsePublishPresenter, PublishPresenterReply),
  ];
}

function publishing(
  context: GrpcContext,
  name: string,
  parse: (message: Uint8Array) => PublishRequest,
  reply: MessageType<{ readonly version: number }>,
): UnaryMethod {
  const { service } = context;
  const traits = { messageBytesMax: COMPONENT_BYTES_MAX + METADATA_BYTES_MAX };
  return write(context, { name, parse, reply, traits }, async (request, { message }) => {
    const published = await lettingGo(message, FRAME_HEADER_BYTES, () => service.publishComponent(request));
    return { message: { version: published.version.version }, scope: published };
  });
}
