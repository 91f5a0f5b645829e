/**
 * Transactions: committing one in either family, and reading one by its id.
 *
 * The shape of a body is checked first: known members, each once, and lists that are lists. Faults inside them are
 * collected: the service reports them only after it has checked whether the database exists, whether the transaction_id
 * is recorded already and whether the transaction is too large (SPEC-TRANSACTION-ORDER-OF-CHECKS).
 */

import type { DatabaseError } from '#base';
import {
  acceptJsonEvent,
  type Constraint,
  checkConstraints,
  constraintsFromJson,
  describeNode,
  Faults,
  isPresent,
  itemsFrom,
  type JsonNode,
  member,
  NO_OPTIONS,
  OPTION_NAMES,
  ORIGIN,
  optionsFromJson,
  parseTransactionId,
  RAW_DATA,
  readMember,
  refuseOthers,
  TRANSACTION_EVENTS_MAX,
  textFrom,
} from '#model';
import {
  type ProposedTransaction,
  type RecordedTransaction,
  refusalError,
  type TransactReply,
  type TransactRequest,
} from '#service';
import { transact, transactionPage } from '#ui';
import { type JsonBody, readJsonBody } from './body.ts';
import { BATCH_ID } from './command-headers.ts';
import { errorReply, invalidField } from './errors.ts';
import type { JsonMembers } from './json-text.ts';
import { ITEM_ANSWER_BYTES, PIECE_BYTES, TRANSACT_BODY_BYTES_MAX } from './limits.ts';
import { firstOf } from './paging.ts';
import { type HttpReply, jsonReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Handler, Route, RouteContext } from './route.ts';
import { show } from './show.ts';
import { acceptedTransaction, storedTransaction, transactionReceipt, transactionRecord } from './transaction-json.ts';

const TRANSACTING = {
  bodyBytesMax: TRANSACT_BODY_BYTES_MAX,
  headers: [BATCH_ID],
  // A repeated id is answered with the recorded result (V3).
  isRepeatable: (request: HttpRequest) => toTransactRequest(request).transactionId !== undefined,
};

export const TRANSACT_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/v1/db/{database}',
    ...TRANSACTING,
    handle: transacting(transactionRecord),
    offered: ({ database = '' }) => transact({ databaseName: database }),
  },
  {
    method: 'POST',
    path: '/databases/{database}/events',
    ...TRANSACTING,
    handle: transacting(transactionReceipt),
  },
  {
    method: 'POST',
    path: '/api/v1/db/{database}/async',
    status: 202,
    ...TRANSACTING,
    handle: transactWithoutWaiting,
  },
  {
    method: 'GET',
    path: '/api/v1/db/{database}/transaction/{transaction_id}',
    answerBytes: ITEM_ANSWER_BYTES,
    handle: lookUp,
  },
];

/** `conditions` is the name in one family, `constraints` in the other. Both families accept both. */
const CONSTRAINT_NAMES = ['constraints', 'conditions'];

const BODY_NAMES = ['transaction_id', 'events', ...CONSTRAINT_NAMES, ...OPTION_NAMES];

function transacting(toJson: (recorded: RecordedTransaction) => JsonMembers): Handler {
  return async (request, { service }) => {
    const reply = await service.transact(await readTransaction(request));
    if (reply.kind === 'recorded') return jsonReply(200, toJson(reply), scopeHeaders(reply));
    return errorReply(refusalError(reply));
  };
}

/**
 * Returns 202 as soon as the transaction is a log entry, or a refusal. Its outcome, also a violated condition, is read
 * by its id later.
 */
async function transactWithoutWaiting(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const { promise: accepted, resolve: onAdmitted } = Promise.withResolvers<ProposedTransaction>();
  const decided = context.service.transact({ ...(await readTransaction(request)), onAdmitted });
  const { databaseName, databaseId, transactionId } = await Promise.race([accepted, decided.then(asProposed)]);
  context.goOn(decided);
  return jsonReply(202, acceptedTransaction({ databaseName, databaseId, transactionId }), {
    location: `/api/v1/db/${databaseName}/transaction/${transactionId}`,
    'x-database-id': databaseId,
  });
}

/** Without a proposal only a recorded result resolves the promise; other refusals reject it. */
function asProposed(reply: TransactReply): ProposedTransaction {
  if (reply.kind === 'recorded') return reply;
  throw refusalError(reply);
}

/** A large one is parsed in its turn (TH11). */
async function readTransaction(request: HttpRequest): Promise<TransactRequest> {
  const isLarge = request.body().length > PIECE_BYTES;
  return isLarge ? request.inTurn(() => toTransactRequest(request)) : toTransactRequest(request);
}

function toTransactRequest(request: HttpRequest): TransactRequest {
  const faults = new Faults();
  const parts = partsOf(transactionIn(readJsonBody(request, { raw: RAW_DATA })), faults);
  const { items = [] } = parts;
  const events = acceptEvents(items, faults);
  const inHeader = request.header(BATCH_ID);
  const id = idOf(parts, inHeader);
  if (id === undefined) faults.add(BATCH_ID, 'must be the transaction_id of the body where both are given', inHeader);
  if (id === undefined || !parts.isShaped) throw misshapen(parts, inHeader, faults);
  return {
    ...request.write(),
    transactionId: id.value,
    origin: ORIGIN.HTTP_TRANSACTION,
    options: parts.options,
    constraints: parts.constraints,
    eventCount: items.length,
    ...events,
    faults,
    fields: { transactionId: id.field, events: 'events', constraints: parts.constraintsField },
  };
}

/** The id of the body or of the equivalent header; undefined when they differ. */
function idOf(
  { namesId, transactionId }: Pick<TransactionParts, 'namesId' | 'transactionId'>,
  inHeader: string | undefined,
): { readonly value: string | undefined; readonly field: string } | undefined {
  if (inHeader === undefined) return { value: transactionId, field: 'transaction_id' };
  if (!namesId) return { value: inHeader, field: BATCH_ID };
  if (transactionId?.toLowerCase() === inHeader.toLowerCase()) return { value: transactionId, field: 'transaction_id' };
  return undefined;
}

/**
 * Error for a body of another shape or for two different ids, with all other faults. The service is not called, even
 * when an id is recorded, because it is unclear which transaction is meant (ADR 0011).
 */
function misshapen(
  { transactionId, items, constraints, constraintsField }: TransactionParts,
  inHeader: string | undefined,
  faults: Faults,
): DatabaseError {
  if (inHeader !== undefined) parseTransactionId(inHeader, BATCH_ID, faults);
  if (transactionId !== undefined) parseTransactionId(transactionId, 'transaction_id', faults);
  if (items?.length === 0) faults.add('events', 'must have at least one event');
  checkConstraints(constraints, constraintsField, faults);
  return faults.toError('The transaction is malformed');
}

interface TransactionParts extends Pick<TransactRequest, 'transactionId' | 'options' | 'constraints'> {
  /** True when all members are known and occur once, the id is a text and the lists are lists. */
  readonly isShaped: boolean;
  /** True when the body has a transaction_id, valid or not. */
  readonly namesId: boolean;
  /** The events, unchecked; undefined when the member is not a list, which is already a fault. */
  readonly items: readonly JsonNode[] | undefined;
  /** Name of the constraints in this body. */
  readonly constraintsField: string;
}

const NO_CONSTRAINTS: readonly Constraint[] = [];

/** A body of CloudEvents is a transaction with no other members. */
function transactionIn({ type, node }: JsonBody): JsonNode {
  if (type === 'json') return node;
  if (type === 'cloudevent-batch' && node.kind !== 'array') {
    throw invalidField('body', 'must be an array of events', node.kind);
  }
  const events: JsonNode = type === 'cloudevent' ? { kind: 'array', items: [node] } : node;
  return { kind: 'object', members: new Map([['events', events]]) };
}

function partsOf(node: JsonNode, faults: Faults): TransactionParts {
  if (node.kind !== 'object') throw invalidField('body', 'must be a JSON object', describeNode(node));
  refuseOthers(node, BODY_NAMES, { field: '', faults });
  const constraintsField = CONSTRAINT_NAMES.find((spelling) => node.members.has(spelling)) ?? 'constraints';
  const transactionId = readMember(node, ['transaction_id'], { field: '', faults }, textFrom);
  const items = isPresent(node.members.get('events'))
    ? readMember(node, ['events'], { field: '', faults }, itemsFrom)
    : [];
  const constraints = member(node, CONSTRAINT_NAMES, { field: constraintsField, faults });
  return {
    isShaped: faults.none && (constraints === undefined || constraints.kind === 'array'),
    namesId: isPresent(node.members.get('transaction_id')),
    transactionId,
    items,
    constraints: (constraints && constraintsFromJson(constraints, constraintsField, faults)) ?? NO_CONSTRAINTS,
    constraintsField,
    options: optionsFromJson(node, { field: '', faults }) ?? NO_OPTIONS,
  };
}

/** The valid events in canonical bytes. Beyond the limit none is parsed: the count alone refuses them. */
function acceptEvents(items: readonly JsonNode[], faults: Faults): Pick<TransactRequest, 'events' | 'eventBytes'> {
  if (items.length > TRANSACTION_EVENTS_MAX) return { events: [], eventBytes: 0 };
  const events = items.flatMap((item, index) => acceptJsonEvent(item, { faults, list: 'events', index }) ?? []);
  return { events, eventBytes: events.reduce((sum, { length }) => sum + length, 0) };
}

async function lookUp(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const reply = await context.service.fetchTransaction({
    ...request.read(),
    transactionId: request.param('transaction_id'),
  });
  const { events } = reply.transaction;
  const shown = request.rendering() === undefined ? events : firstOf(events, request.listSizes());
  return show(request, {
    body: await request.inTurn(() => storedTransaction(reply, shown)),
    headers: scopeHeaders(reply),
    describe: () => transactionPage(reply, shown.length),
  });
}
