/**
 * Accounts in Cairn for the contention workload. An account is a subject with numbered events; each event has the
 * number after the one that was read. An account with a gap or a repetition in its numbers has an incorrect commit.
 */
import { closedLoop } from '../support/closed-loop.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from '../support/http2-connection.ts';
import { bytesField, fieldsOf, message, varintField } from '../support/protobuf.ts';
import { messagesOf } from '../support/unary.ts';
import { appendRequests, type CairnNode, createDatabase, QUERY_EVENTS, SCAN_LOG, TRANSACT } from './cairn.ts';

const PER_TRANSACTION = 100;
const [SUBJECT, DATA, REVISION] = [5, 7, 13];
const QUERY_HEADERS = grpcHeaders(QUERY_EVENTS);
const TRANSACT_HEADERS = grpcHeaders(TRANSACT);

export class CairnAccounts {
  readonly #node: CairnNode;
  readonly #database: string;
  readonly #checked: Int32Array;
  #nextRevision = 1;
  #events = 0;

  private constructor(node: CairnNode, database: string, count: number) {
    this.#node = node;
    this.#database = database;
    this.#checked = new Int32Array(count);
  }

  /** Creates accounts with one event each, numbered 0. */
  static async open(node: CairnNode, database: string, count: number): Promise<CairnAccounts> {
    await createDatabase(node, database);
    const shape = { database, events: PER_TRANSACTION, eventBytes: 256, conditional: false };
    const template = appendRequests(shape, 0);
    const load = { address: node.address, headers: grpcHeaders(TRANSACT), clients: 16, seconds: 0 };
    const calls = count / PER_TRANSACTION;
    const { failed } = await closedLoop({ ...load, calls, request: () => template.next() });
    if (failed > 0) throw new Error(`${failed} transactions failed while the accounts were made`);
    const accounts = new CairnAccounts(node, database, count);
    accounts.#nextRevision = calls + 1;
    return accounts;
  }

  /** Appends the account's next event; returns whether it was committed. */
  async attempt(connection: Http2Connection, account: number): Promise<boolean> {
    const selector = bytesField(3, subjectOf(account));
    // Reads the last event: in reverse order, at most one.
    const query = message(bytesField(1, bytesField(1, selector)), varintField(4, 1), varintField(5, 1));
    const read = grpcMessage(message(bytesField(1, this.#database), bytesField(2, query)));
    const [event] = await messagesOf(connection, QUERY_HEADERS, read);
    if (event === undefined) throw new Error(`account ${account} could not be read`);
    const { number, revision } = accountEvent(event);
    this.#events += 1;
    const next = message(
      bytesField(1, `${this.#database}-${this.#events}`),
      bytesField(2, '1.0'),
      bytesField(3, 'com.example.account.moved'),
      bytesField(4, 'https://example.com/streams/accounts'),
      bytesField(5, subjectOf(account)),
      bytesField(7, `{"n":${number + 1},"note":"${'x'.repeat(100)}"}`),
    );
    const unchanged = bytesField(2, message(varintField(1, revision), bytesField(2, selector)));
    const transaction = message(bytesField(1, next), bytesField(2, unchanged));
    const write = grpcMessage(message(bytesField(1, this.#database), bytesField(2, transaction)));
    return (await messagesOf(connection, TRANSACT_HEADERS, write)).length > 0;
  }

  /** Reads the new events: their numbers must be consecutive and equal the acknowledged ones. */
  async check(committed: ReadonlyMap<number, number>): Promise<void> {
    const connection = await Http2Connection.open(this.#node.address);
    const request = grpcMessage(message(bytesField(1, this.#database), varintField(2, this.#nextRevision)));
    const wanted = [...committed.values()].reduce((total, count) => total + count, 0);
    const events = wanted === 0 ? [] : await messagesOf(connection, grpcHeaders(SCAN_LOG), request);
    connection.close();
    const found = new Map<number, number>();
    for (const event of events) {
      const { account, number } = accountEvent(event);
      const before = this.#checked[account] ?? 0;
      if (number !== before + 1) throw new Error(`wrong commit: account ${account} has ${number} after ${before}`);
      this.#checked[account] = number;
      found.set(account, (found.get(account) ?? 0) + 1);
    }
    for (const [account, count] of committed) {
      const stored = found.get(account) ?? 0;
      if (stored !== count) throw new Error(`account ${account} has ${stored} new events; ${count} were acknowledged`);
    }
    if (events.length !== wanted) throw new Error(`${events.length} events are new; ${wanted} were acknowledged`);
    this.#nextRevision += events.length;
  }
}

function subjectOf(account: number): string {
  return `subject-${String(account).padStart(12, '0')}`;
}

function accountEvent(event: Buffer): { readonly account: number; readonly number: number; readonly revision: number } {
  const fields = fieldsOf(event);
  const account = Number(String(fields.get(SUBJECT)).slice('subject-'.length));
  // The first event of an account has no number.
  const number = Number(/^\{"n":(\d+)/.exec(String(fields.get(DATA)))?.[1] ?? 0);
  return { account, number, revision: Number(fields.get(REVISION)) };
}
