/**
 * Ids of sessions: the number of their node, and an unpredictable UUID.
 *
 * ```
 *   3.5f0c1a52-7c1e-4b7c-9f0e-2d1f0f6f3a10
 * ```
 */
import { isNodeId, type NodeId } from '#base';

export const SESSION_HEADER = 'mcp-session-id';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const NUMBER = /^[1-9]\d{0,9}$/;
/** Length of a UUID, a dot, and the largest number. */
const LENGTH_MAX = 47;

export function sessionIdAt(node: NodeId, uuid: string): string {
  return `${node}.${uuid}`;
}

export function nodeOfSession(id: string): NodeId | undefined {
  if (id.length > LENGTH_MAX) return undefined;
  const at = id.indexOf('.');
  const [number, uuid] = [id.slice(0, Math.max(0, at)), id.slice(at + 1)];
  const node = Number(number);
  return NUMBER.test(number) && UUID.test(uuid) && isNodeId(node) ? node : undefined;
}
