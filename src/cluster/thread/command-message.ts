/**
 * Encodes the commands of one turn of the front (link.ts) for the core thread at low cost.
 *
 * Proposals travel as one transferred buffer; when there is nothing else, which is nearly always, that buffer is the
 * whole message. All numbers are little-endian.
 *
 *   proposals   (f64 token | u32 group | u32 length | u8 1 tells admission + 2 stays here | payload)*
 */
import { giveBack, toGroupId } from '#base';
import type { Commands, CreateRequest, Proposal, ReadRequest } from '../link.ts';

/** Only proposals, or everything. */
export type CommandMessage = ArrayBuffer | FullCommands;

interface FullCommands {
  readonly kind: 'commands';
  readonly proposals: ArrayBuffer | undefined;
  readonly reads: readonly ReadRequest[];
  readonly creates: readonly CreateRequest[];
  readonly shown: number;
  readonly follows: boolean;
}

const PROPOSAL_HEADER_BYTES = 17;
const TELLS_ADMISSION = 1;
const STAYS_HERE = 2;
const NOTHING: readonly never[] = [];

export function packCommands({ proposals, reads, creates, shown, follows }: Commands): CommandMessage {
  const packed = proposals.length === 0 ? undefined : packProposals(proposals);
  const isAlone = reads.length + creates.length + shown === 0 && !follows;
  return packed !== undefined && isAlone
    ? packed
    : { kind: 'commands', proposals: packed, reads, creates, shown, follows };
}

/** The buffers that are transferred with a message. */
export function commandTransfers(message: CommandMessage): readonly ArrayBuffer[] {
  if (message instanceof ArrayBuffer) return [message];
  return message.proposals === undefined ? [] : [message.proposals];
}

export function unpackCommands(message: CommandMessage): Commands {
  if (message instanceof ArrayBuffer) {
    const proposals = unpackProposals(message);
    return { proposals, reads: NOTHING, creates: NOTHING, shown: 0, follows: false };
  }
  const { proposals, reads, creates, shown, follows } = message;
  const unpacked = proposals === undefined ? [] : unpackProposals(proposals);
  return { proposals: unpacked, reads, creates, shown, follows };
}

function packProposals(proposals: readonly Proposal[]): ArrayBuffer {
  let length = 0;
  for (const { payload } of proposals) length += PROPOSAL_HEADER_BYTES + payload.length;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { token, group, payload, tellsAdmission, staysHere } of proposals) {
    view.setFloat64(at, token, true);
    view.setUint32(at + 8, group, true);
    view.setUint32(at + 12, payload.length, true);
    view.setUint8(at + 16, (tellsAdmission ? TELLS_ADMISSION : 0) + (staysHere ? STAYS_HERE : 0));
    bytes.set(payload, at + PROPOSAL_HEADER_BYTES);
    at += PROPOSAL_HEADER_BYTES + payload.length;
    // The front has given it away, and the core gets the copy.
    giveBack(payload);
  }
  return bytes.buffer;
}

/** The payloads are views of the buffer, which the core owns now. */
function unpackProposals(buffer: ArrayBuffer): readonly Proposal[] {
  const view = new DataView(buffer);
  const proposals: Proposal[] = [];
  for (let at = 0; at < buffer.byteLength; ) {
    const length = view.getUint32(at + 12, true);
    proposals.push({
      token: view.getFloat64(at, true),
      group: toGroupId(view.getUint32(at + 8, true)),
      payload: new Uint8Array(buffer, at + PROPOSAL_HEADER_BYTES, length),
      tellsAdmission: (view.getUint8(at + 16) & TELLS_ADMISSION) !== 0,
      staysHere: (view.getUint8(at + 16) & STAYS_HERE) !== 0,
    });
    at += PROPOSAL_HEADER_BYTES + length;
  }
  return proposals;
}
