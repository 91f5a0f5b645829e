/**
 * The messages of cairn.admin.v1 that recover a database. Their readers take any bytes; what makes no sense is
 * undefined.
 */
import {
  beginMessage,
  isDatabaseId,
  isGroupId,
  isLogIndex,
  isNodeId,
  isReplicaId,
  isRevision,
  isTerm,
  ByteWriter as Writer,
  writeBytesField,
  writeTextField,
  writeVarintField,
} from '#base';
import type { AdminReply, HeldCopy, RecoveredDatabase, RecoveryOrder } from '#cluster';
import { isDatabaseName } from '#model';
import { nodeOrNone, readFields } from './admin-fields.ts';

/** Of a chain hash: it becomes an entry of the catalog as it is. */
const HASH_BYTES = 32;
const RECOVER = { NAME: 1, FROM: 2, ACCEPT_REVISION: 3 } as const;
const RECOVERED = { NAME: 1, DATABASE_ID: 2, BEFORE: 3, NODE: 4, REVISION: 5, CHAIN_HASH: 6 } as const;
const SAID = { CLUSTER_ID: 1, NODE: 2, COPY: 3 } as const;
const COPY = {
  REPLICA: 1,
  GROUP: 2,
  REVISION: 3,
  CHAIN_HASH: 4,
  LAST_INDEX: 5,
  LAST_TERM: 6,
  UNAPPLIED: 7,
  VOTERS: 8,
  OUTGOING_VOTERS: 9,
  LEADER: 10,
} as const;

export function writeRecoveryOrder(writer: Writer, { name, from, acceptRevision }: RecoveryOrder): void {
  writeTextField(writer, RECOVER.NAME, name);
  writeVarintField(writer, RECOVER.FROM, from);
  if (acceptRevision !== undefined) writeVarintField(writer, RECOVER.ACCEPT_REVISION, acceptRevision);
}

/** The order, or what is wrong with it. */
export function readRecoveryOrder(message: Uint8Array): RecoveryOrder | string {
  const fields = readFields(message);
  const from = fields?.number(RECOVER.FROM) ?? 0;
  if (fields === undefined || !isNodeId(from)) return `${from} is no number of a node; DescribeCluster lists them`;
  const name = fields.text(RECOVER.NAME);
  // The name stands in the reason of a refusal, and so in the trailers and in the audit log.
  if (!isDatabaseName(name)) return 'the name is no name of a database; DescribeCluster lists them';
  return { kind: 'recover', name, from, acceptRevision: fields.numbers(RECOVER.ACCEPT_REVISION).at(-1) };
}

export function writeRecovered(database: RecoveredDatabase): Buffer {
  const writer = new Writer();
  writeTextField(writer, RECOVERED.NAME, database.name);
  writeTextField(writer, RECOVERED.DATABASE_ID, database.databaseId);
  writeTextField(writer, RECOVERED.BEFORE, database.before);
  writeVarintField(writer, RECOVERED.NODE, database.node);
  writeVarintField(writer, RECOVERED.REVISION, database.revision);
  writeBytesField(writer, RECOVERED.CHAIN_HASH, database.chainHash);
  return Buffer.from(writer.view());
}

export function readRecovered(message: Uint8Array): AdminReply | undefined {
  const fields = readFields(message);
  if (fields === undefined) return undefined;
  const [databaseId, before] = [fields.text(RECOVERED.DATABASE_ID), fields.text(RECOVERED.BEFORE)];
  const [node, revision] = [fields.number(RECOVERED.NODE), fields.number(RECOVERED.REVISION)];
  const chainHash = Uint8Array.from(fields.bytes(RECOVERED.CHAIN_HASH));
  if (!isDatabaseId(databaseId) || !isDatabaseId(before) || !isNodeId(node) || !isRevision(revision)) return undefined;
  const name = fields.text(RECOVERED.NAME);
  return { kind: 'recovered', database: { name, databaseId, before, node, revision, chainHash } };
}

export function writeCopy(reply: Extract<AdminReply, { readonly kind: 'copy' }>): Buffer {
  const writer = new Writer();
  writeTextField(writer, SAID.CLUSTER_ID, reply.clusterId);
  writeVarintField(writer, SAID.NODE, reply.node);
  const { copy } = reply;
  if (copy === undefined) return Buffer.from(writer.view());
  const mark = beginMessage(writer, SAID.COPY);
  writeVarintField(writer, COPY.REPLICA, copy.replica);
  writeVarintField(writer, COPY.GROUP, copy.group);
  writeVarintField(writer, COPY.REVISION, copy.revision);
  writeBytesField(writer, COPY.CHAIN_HASH, copy.chainHash);
  writeVarintField(writer, COPY.LAST_INDEX, copy.last.index);
  writeVarintField(writer, COPY.LAST_TERM, copy.last.term);
  writeVarintField(writer, COPY.UNAPPLIED, copy.unapplied);
  for (const voter of copy.voters.incoming) writeVarintField(writer, COPY.VOTERS, voter);
  for (const voter of copy.voters.outgoing) writeVarintField(writer, COPY.OUTGOING_VOTERS, voter);
  if (copy.leader !== undefined) writeVarintField(writer, COPY.LEADER, copy.leader);
  writer.endLength(mark);
  return Buffer.from(writer.view());
}

export function readCopy(message: Uint8Array): AdminReply | undefined {
  const fields = readFields(message);
  const node = fields?.number(SAID.NODE) ?? 0;
  if (fields === undefined || !isNodeId(node)) return undefined;
  const said = { kind: 'copy', clusterId: fields.text(SAID.CLUSTER_ID), node } as const;
  const [bytes] = fields.messages(SAID.COPY);
  if (bytes === undefined) return { ...said, copy: undefined };
  const copy = readHeld(bytes);
  return copy && { ...said, copy };
}

function readHeld(bytes: Uint8Array): HeldCopy | undefined {
  const fields = readFields(bytes);
  if (fields === undefined) return undefined;
  const [replica, group] = [fields.number(COPY.REPLICA), fields.number(COPY.GROUP)];
  const revision = fields.number(COPY.REVISION);
  const [index, term] = [fields.number(COPY.LAST_INDEX), fields.number(COPY.LAST_TERM)];
  if (!isReplicaId(replica) || !isGroupId(group) || !isRevision(revision)) return undefined;
  const chainHash = Uint8Array.from(fields.bytes(COPY.CHAIN_HASH));
  if (!isLogIndex(index) || !isTerm(term) || chainHash.length !== HASH_BYTES) return undefined;
  return {
    replica,
    group,
    revision,
    chainHash,
    last: { index, term },
    unapplied: fields.number(COPY.UNAPPLIED),
    voters: {
      incoming: fields.numbers(COPY.VOTERS).filter(isReplicaId),
      outgoing: fields.numbers(COPY.OUTGOING_VOTERS).filter(isReplicaId),
    },
    leader: nodeOrNone(fields.number(COPY.LEADER)),
  };
}
