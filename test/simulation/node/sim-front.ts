// The front of a simulated node: the real one, with a count of unanswered requests, and with writes in the format of
// the cluster's level.
import { type DatabaseId, type GroupId, LEVELS } from '#base';
import { FrontNode, type Node } from '#cluster';

export class SimFront extends FrontNode {
  #unanswered = 0;

  /** Number of unanswered requests. */
  get unanswered(): number {
    return this.#unanswered;
  }

  override createDatabase(
    name: string,
    options?: Parameters<Node['createDatabase']>[1],
  ): ReturnType<Node['createDatabase']> {
    return this.#counted(super.createDatabase(name, options));
  }

  override deleteDatabase(
    name: string,
    databaseId?: DatabaseId,
    options?: Parameters<Node['deleteDatabase']>[2],
  ): ReturnType<Node['deleteDatabase']> {
    return this.#counted(super.deleteDatabase(name, databaseId, options));
  }

  override transact(
    group: GroupId,
    payload: Uint8Array,
    options?: Parameters<Node['transact']>[2],
  ): ReturnType<Node['transact']> {
    const { level } = this.catalog;
    if (level > LEVELS.max) payload[0] = level;
    return this.#counted(super.transact(group, payload, options));
  }

  override define(...asked: Parameters<Node['define']>): ReturnType<Node['define']> {
    return this.#counted(super.define(...asked));
  }

  async #counted<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#unanswered += 1;
    try {
      return await answer;
    } finally {
      this.#unanswered -= 1;
    }
  }
}
