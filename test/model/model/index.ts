/** The reference model: a whole server as an array of transactions per database. It shares no code with `src`. */
import * as reads from './reads.ts';
import { Refusal, Store } from './store.ts';
import type { Answer, Sent } from './vocabulary.ts';
import * as writes from './writes.ts';

export class ReferenceModel {
  readonly store: Store = new Store();

  /** The right answer. From the actual answer `seen` it learns values that only the server decides. */
  answer(sent: Sent, seen: Answer): Answer {
    try {
      return this.#answer(sent, seen);
    } catch (refusal) {
      if (refusal instanceof Refusal) return refusal.answer;
      throw refusal;
    }
  }

  #answer({ request, minRevision, isTool = false }: Sent, seen: Answer): Answer {
    const { store } = this;
    const { database } = request;
    store.minRevision = minRevision;
    store.isTool = isTool;
    switch (request.kind) {
      case 'create':
        return writes.create(store, request, seen);
      case 'delete':
        return writes.remove(store, request);
      case 'publish':
        store.find(database).hasStateChange = true;
        return {};
      case 'transact':
        return writes.transact(store, request, seen);
      case 'query':
        return reads.answerQuery(store, request);
      case 'next':
        return reads.answerQuery(store, { ...request, query: request.saved.query });
      case 'scan':
        return reads.answerScan(store, request);
      case 'subscribe':
        return reads.answerSubscribe(store, request);
      case 'database':
        return reads.answerDatabase(store, request);
      case 'event':
        return reads.answerEvent(store, request);
      case 'names':
        return reads.answerNames(store, request);
      case 'lookup':
        writes.learn(store, database, seen);
        return reads.answerLookup(store, request);
      case 'catalog':
        return reads.answerCatalog(store);
      case 'malformed':
        return { error: 'invalid_argument' };
    }
  }
}
