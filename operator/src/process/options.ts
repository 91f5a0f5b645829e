/**
 * Settings of the operator. They are flags and not variables: for a Service named cairn-operator Kubernetes adds
 * variables such as CAIRN_OPERATOR_PORT.
 */
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';

export interface OperatorOptions {
  /** Repository of the image of nodes, for clusters that name none. */
  readonly image: string;
  /** Namespace whose resources it reconciles; undefined: all namespaces. */
  readonly watchNamespace: string | undefined;
  /** Port of /healthz, /readyz and /metrics. */
  readonly port: number;
  /** Unique name of this process. */
  readonly podName: string;
  /** Namespace of the Lease. */
  readonly podNamespace: string;
}

const PORT_MAX = 65_535;

/** @throws Error with a sentence for people when a flag is unknown or has no valid value. */
export function readOptions(args: readonly string[]): OperatorOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      image: { type: 'string', default: 'cairn' },
      'watch-namespace': { type: 'string', default: '' },
      port: { type: 'string', default: '8080' },
      'pod-name': { type: 'string', default: hostname() },
      'pod-namespace': { type: 'string', default: 'default' },
    },
  });
  const { image, port: portText, 'pod-name': podName, 'pod-namespace': podNamespace } = values;
  const watchNamespace = values['watch-namespace'] === '' ? undefined : values['watch-namespace'];
  const port = Number(portText);
  if (!/^\d+$/.test(portText) || port > PORT_MAX)
    throw new Error(`--port is ${JSON.stringify(portText)}: it must be a port, 0 to ${PORT_MAX}`);
  return { image, watchNamespace, port, podName, podNamespace };
}
