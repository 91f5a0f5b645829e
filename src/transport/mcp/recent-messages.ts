/** The last messages of a session, numbered from 0, for a client that reconnects (Last-Event-ID). */
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';
import { KEPT_BYTES_MAX, KEPT_MESSAGES_MAX } from './limits.ts';

interface Kept {
  readonly id: number;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

export class RecentMessages implements EventStore {
  #kept: Kept[] = [];
  #bytes = 0;
  #next = 0;

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = this.#next++;
    const bytes = JSON.stringify(message).length;
    this.#kept.push({ id, stream, message, bytes });
    this.#bytes += bytes;
    while (this.#kept.length > KEPT_MESSAGES_MAX || this.#bytes > KEPT_BYTES_MAX) {
      this.#bytes -= this.#kept.shift()?.bytes ?? 0;
    }
    return String(id);
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#find(id)?.stream;
  }

  /**
   * Later messages of the same stream.
   * @throws Error when the message is not kept any more.
   */
  async replayEventsAfter(
    id: string,
    { send }: { readonly send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = this.#find(id);
    if (last === undefined) throw new Error(`The event ${id} is not kept; ask again`);
    for (const each of this.#kept) {
      if (each.id > last.id && each.stream === last.stream) await send(String(each.id), each.message);
    }
    return last.stream;
  }

  #find(id: string): Kept | undefined {
    return this.#kept.find((each) => String(each.id) === id);
  }
}
