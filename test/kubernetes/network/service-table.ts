/** The Services of a cluster and the addresses behind them, as DNS and virtual addresses need them. */
import { type Api, Informer } from '../../../operator/src/kube/index.ts';
import { type EndpointSlice, keyOf, namespaceOf, type Service } from '../objects.ts';

export interface Endpoint {
  readonly address: string;
  /** The pod by the name that its Service gives it. */
  readonly hostname: string | undefined;
}

const SERVICE = 'kubernetes.io/service-name';

export class ServiceTable {
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;

  /** Calls `onChange` after every change. */
  constructor(api: Api, { onChange, onError }: { onChange: () => void; onError: (error: unknown) => void }) {
    const handlers = { onSet: onChange, onDelete: onChange, onError };
    this.#services = new Informer(api, '/api/v1/services', handlers);
    this.#slices = new Informer(api, '/apis/discovery.k8s.io/v1/endpointslices', handlers);
  }

  run(signal: AbortSignal): void {
    void this.#services.run(signal);
    void this.#slices.run(signal);
  }

  get services(): Iterable<Service> {
    return this.#services.items.values();
  }

  find(namespace: string, name: string): Service | undefined {
    return this.#services.items.get(`${namespace}/${name}`);
  }

  /** Those that are ready. */
  endpointsOf(service: Service): readonly Endpoint[] {
    return this.#slicesOf(service).flatMap(readyOf);
  }

  /** `address . port` of those that are ready, for a port of the Service. */
  backendsOf(service: Service, portName: string): readonly string[] {
    return this.#slicesOf(service).flatMap((slice) => {
      const port = slice.ports?.find(({ name }) => (name ?? '') === portName)?.port;
      return port === undefined ? [] : readyOf(slice).map(({ address }) => `${address} . ${port}`);
    });
  }

  #slicesOf(service: Service): readonly EndpointSlice[] {
    return [...this.#slices.items.values()].filter((slice) => {
      const name = slice.metadata.labels?.[SERVICE] ?? '';
      return `${namespaceOf(slice)}/${name}` === keyOf(service);
    });
  }
}

function readyOf({ endpoints }: EndpointSlice): readonly Endpoint[] {
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return ready.flatMap(({ addresses, hostname }) => addresses.map((address) => ({ address, hostname })));
}
