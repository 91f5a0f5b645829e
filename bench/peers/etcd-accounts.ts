/**
 * Accounts in etcd for the contention workload: a key per account with the number of its last event, and a key per
 * event. A transaction puts both, if the account's key still has the revision that was read.
 */
import { closedLoop } from '../support/closed-loop.ts';
import { grpcHeaders, grpcMessage, Http2Connection } from '../support/http2-connection.ts';
import { bytesField, fieldsOf, message, varintField } from '../support/protobuf.ts';
import { messagesOf } from '../support/unary.ts';
import { ETCD_RANGE, ETCD_TXN, type Etcd } from './etcd.ts';

const PER_TRANSACTION = 100;
const CHECKERS = 16;
const RANGE_HEADERS = grpcHeaders(ETCD_RANGE);
const TXN_HEADERS = grpcHeaders(ETCD_TXN);
/** Field numbers in RangeResponse, KeyValue, TxnResponse and Compare. */
const [KVS, MOD_REVISION, VALUE, SUCCEEDED, TARGET_MOD] = [2, 3, 5, 2, 2];

export class EtcdAccounts {
  readonly #etcd: Etcd;
  readonly #prefix: string;
  readonly #data: Buffer;
  readonly #expected = new Map<number, number>();

  private constructor(etcd: Etcd, prefix: string, eventBytes: number) {
    this.#etcd = etcd;
    this.#prefix = prefix;
    this.#data = Buffer.alloc(eventBytes, 'x');
  }

  /** Creates accounts with number 0. */
  static async open(
    etcd: Etcd,
    prefix: string,
    { count, eventBytes }: { readonly count: number; readonly eventBytes: number },
  ): Promise<EtcdAccounts> {
    const accounts = new EtcdAccounts(etcd, prefix, eventBytes);
    let made = 0;
    const request = (): Buffer => {
      const puts = Array.from({ length: PER_TRANSACTION }, () => put(accounts.#keyOf(made++), '0'));
      return grpcMessage(message(...puts));
    };
    const load = { address: etcd.address, headers: TXN_HEADERS, clients: 16, seconds: 0 };
    const { failed } = await closedLoop({ ...load, calls: count / PER_TRANSACTION, request });
    if (failed > 0) throw new Error(`${failed} transactions of etcd failed while the accounts were made`);
    return accounts;
  }

  /** Puts the account's next event; returns whether it was committed. */
  async attempt(connection: Http2Connection, account: number): Promise<boolean> {
    const { number, revision } = await this.#read(connection, account);
    const key = this.#keyOf(account);
    const unchanged = message(varintField(2, TARGET_MOD), bytesField(3, key), varintField(6, revision));
    const puts = [put(key, String(number + 1)), put(`${key}/${number + 1}`, this.#data)];
    const request = grpcMessage(message(bytesField(1, unchanged), ...puts));
    const [reply] = await messagesOf(connection, TXN_HEADERS, request);
    if (reply === undefined) throw new Error(`a transaction of account ${account} failed`);
    return fieldsOf(reply).get(SUCCEEDED) === 1;
  }

  /** Checks that the number of each account equals the number of its commits. */
  async check(committed: ReadonlyMap<number, number>): Promise<void> {
    const connection = await Http2Connection.open(this.#etcd.address);
    const left = [...committed];
    const checker = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const [account, count] = next;
        const expected = (this.#expected.get(account) ?? 0) + count;
        this.#expected.set(account, expected);
        const { number } = await this.#read(connection, account);
        if (number !== expected) throw new Error(`account ${account} of etcd is at ${number}, not at ${expected}`);
      }
    };
    await Promise.all(Array.from({ length: CHECKERS }, checker));
    connection.close();
  }

  async #read(
    connection: Http2Connection,
    account: number,
  ): Promise<{ readonly number: number; readonly revision: number }> {
    const request = grpcMessage(message(bytesField(1, this.#keyOf(account))));
    const [reply] = await messagesOf(connection, RANGE_HEADERS, request);
    const found = reply === undefined ? undefined : fieldsOf(reply).get(KVS);
    if (!Buffer.isBuffer(found)) throw new Error(`account ${account} of etcd could not be read`);
    const fields = fieldsOf(found);
    return { number: Number(String(fields.get(VALUE))), revision: Number(fields.get(MOD_REVISION)) };
  }

  #keyOf(account: number): string {
    return `${this.#prefix}-${String(account).padStart(12, '0')}`;
  }
}

/** A RequestOp of the success branch of a transaction. */
function put(key: string, value: string | Uint8Array): Buffer {
  return bytesField(2, bytesField(2, message(bytesField(1, key), bytesField(2, value))));
}
