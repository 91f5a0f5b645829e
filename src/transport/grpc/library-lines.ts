/** What grpc-js says by itself, as lines of the node's log: stderr carries nothing else (O2). */
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from '#observability';

/** The address cannot be had: `WireServer.listen` rejects with the same words and the cause. */
const NOT_BOUND = 'No address added';

/** For the whole process, as grpc-js has one logger: the last call counts. */
export function logLibraryLines(logger: Logger): void {
  setLogger({
    error: (...parts: readonly unknown[]) => {
      const message = parts.join(' ');
      if (!message.startsWith(NOT_BOUND)) logger.warn('grpc-library', { message });
    },
  });
}
