/** Events of pods, which `kubectl describe` shows. */
import type { Api } from '../../../operator/src/kube/index.ts';
import { namespaceOf, type Resource } from '../objects.ts';
import { nowText } from './container.ts';

let count = 0;

/** Records an event; one that cannot be recorded is lost, as with any kubelet. */
export async function recordEvent(
  api: Api,
  { metadata }: Resource,
  { reason, message }: { readonly reason: string; readonly message: string },
): Promise<void> {
  const { name, uid } = metadata;
  const namespace = namespaceOf({ metadata });
  const time = nowText();
  count += 1;
  const event = {
    metadata: { name: `${name}.${uid.slice(0, 8)}.${count}` },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
    type: 'Warning',
    reason,
    message: message.slice(0, 1000),
    source: { component: 'kubelet' },
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
  };
  await api.create(`/api/v1/namespaces/${namespace}/events`, event).catch(() => undefined);
}
