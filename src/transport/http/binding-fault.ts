/** What keeps a server from listening, and what would be right. */
export function bindingFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return 'another process listens there; give another port, or 0 for one that is free';
  if (code === 'EADDRNOTAVAIL')
    return 'this machine does not have the address; give one of its own, or 0.0.0.0 for all';
  if (code === 'EACCES') return 'this process may not; give a port from 1024 on, or the right to take lower ones';
  return error instanceof Error ? error.message : String(error);
}
