/** The gRPC methods of the peer port: cairn.peer.v1 and cairn.admin.v1. */
import { formatAddress } from '#base';
import type { Administer, Asker, Belonging, JoinReply, JoinRequest } from '#cluster';
import {
  ADMIN_METHOD_NAMES,
  ADMIN_METHODS,
  readAdminRequest,
  statusOfRefusal,
  writeAdminReply,
} from '../admin-messages.ts';
import type { Call } from '../grpc/wire/call.ts';
import type { CallStream } from '../grpc/wire/call-stream.ts';
import { frame } from '../grpc/wire/framing.ts';
import type { UnaryMethod } from '../grpc/wire/method.ts';
import type { CallStatus } from '../grpc/wire/status.ts';
import { JOIN, PING, readJoinRequest, writeJoinReply, writePong } from './peer-messages.ts';

export interface PeerMethodsOptions {
  readonly belonging: () => Belonging;
  /** A store asks to be registered, or a node announces its address; its cluster is this one, if it has one. */
  readonly onJoin: (request: JoinRequest, asker: Asker) => Promise<JoinReply>;
  /** An operator sends an admin request. */
  readonly onAdmin: Administer;
}

type Answer = (message: Uint8Array, call: Call) => Promise<Uint8Array | CallStatus>;

const IS_NEW = 'the node belongs to no cluster itself yet';

export function peerMethods(options: PeerMethodsOptions): readonly UnaryMethod[] {
  const { belonging, onAdmin } = options;
  return [
    method(PING, async () => writePong(belonging())),
    method(JOIN, async (message, call) => writeJoinReply(await join(options, message, call))),
    ...ADMIN_METHOD_NAMES.map((name) =>
      method(ADMIN_METHODS[name], async (message, call) => {
        const request = readAdminRequest(name, message);
        if (typeof request === 'string') return { code: 'INVALID_ARGUMENT', message: request };
        const reply = await onAdmin({ ...request, signal: call.signal }, askerOf(call.peer));
        return 'reason' in reply ? { code: statusOfRefusal(reply), message: reply.reason } : writeAdminReply(reply);
      }),
    ),
  ];
}

async function join({ belonging, onJoin }: PeerMethodsOptions, message: Uint8Array, call: Call): Promise<JoinReply> {
  const request = readJoinRequest(message);
  if (request.kind === 'failure') return { kind: 'refused', reason: request.reason };
  const own = belonging();
  if (own.kind !== 'member') return { kind: 'later', reason: own.kind === 'new' ? IS_NEW : 'the node is starting' };
  const { clusterId } = request.value;
  if (clusterId === undefined || clusterId === own.clusterId) {
    return onJoin({ ...request.value, signal: call.signal }, askerOf(call.peer));
  }
  return { kind: 'later', reason: `it belongs to the cluster ${own.clusterId}, and not to ${clusterId}` };
}

function method(path: string, answer: Answer): UnaryMethod {
  const [, service = '', name = ''] = path.split('/');
  const handle = async (call: Call, message: Uint8Array): Promise<void> => {
    const answered = await answer(message, call);
    if (answered instanceof Uint8Array) call.reply(frame(answered));
    else call.finish(answered);
  };
  return { kind: 'unary', service, name, handle };
}

/** A certificate may have several common names, which Node gives as a list; all are named. */
export function askerOf({ client, certificate }: Pick<CallStream, 'client' | 'certificate'>): Asker {
  const address = client === undefined ? 'unknown' : formatAddress(client);
  const name: string | readonly string[] | undefined = certificate?.toLegacyObject().subject.CN;
  return name === undefined ? { address } : { address, certificate: [name].flat().join(', ') };
}
