/** The methods that publish components. */
import { COMPONENT_BYTES_MAX, METADATA_BYTES_MAX } from '#model';
import type { PublishComponentReply } from '#service';
import {
  DefineStateChangeResponse,
  DefineStateViewResponse,
  PublishPresenterReply,
  PublishStateChangeReply,
  PublishStateViewReply,
} from '../../../proto/gen/cairn/v1/component.ts';
import { lettingGo } from '../let-go.ts';
import type { GrpcContext } from './context.ts';
import type { MessageType } from './messages.ts';
import { ledWrite, writeOf } from './metadata.ts';
import {
  type PublishRequest,
  parseDefineStateChange,
  parseDefineStateView,
  parsePublishPresenter,
  parsePublishStateChange,
  parsePublishStateView,
} from './publish-requests.ts';
import { type Answer, unary } from './unary.ts';
import { FRAME_HEADER_BYTES } from './wire/framing.ts';
import type { UnaryMethod } from './wire/method.ts';

/** Their replies and errors name the leader. */
export const PUBLICATIONS: readonly string[] = [
  'DefineStateView',
  'DefineStateChange',
  'PublishStateView',
  'PublishStateChange',
  'PublishPresenter',
];

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
  { service, leaderTrailers }: GrpcContext,
  name: string,
  parse: (message: Uint8Array) => PublishRequest,
  reply: MessageType<{ readonly version: number }>,
): UnaryMethod {
  const traits = { mustAnswer: true, messageBytesMax: COMPONENT_BYTES_MAX + METADATA_BYTES_MAX };
  return unary({ name, parse, reply, traits }, async (request, call) => {
    const { databaseName } = request;
    const publish = { ...request, ...writeOf(call) };
    const published = await lettingGo(call.message, FRAME_HEADER_BYTES, () =>
      ledWrite(service, databaseName, () => service.publishComponent(publish)),
    );
    return { ...answerOf(published), trailers: leaderTrailers.of(databaseName) };
  });
}

function answerOf(published: PublishComponentReply): Answer<{ readonly version: number }> {
  return { message: { version: published.version.version }, scope: published };
}
