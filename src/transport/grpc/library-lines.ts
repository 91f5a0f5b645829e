/** What grpc-js says by itself, as lines of the node's log: stderr carries nothing else (O2). */
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from '#observability';

/** For the whole process, as grpc-js has one logger: the last call counts. */
export function logLibraryLines(logger: Logger): void {
  setLogger({
    error: (...parts: readonly unknown[]) => logger.warn('grpc-library', { message: parts.join(' ') }),
  });
}
