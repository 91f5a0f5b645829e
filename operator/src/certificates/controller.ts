/** The controller of the Secrets of CairnClusters. It reads Secrets by their names, and lists none. */
import type { CairnCluster } from '../api/index.ts';
import {
  type Api,
  CONFIG_MAP,
  type ConfigMap,
  type Controller,
  type EventRecorder,
  type Finding,
  type Kind,
  type Outcome,
  SECRET,
  type Secret,
} from '../kube/index.ts';
import { mountedSecrets, namesOf } from '../objects/index.ts';
import { planSecrets, type SecretAction, type SecretFault, secretSources } from './plan.ts';
import type { FoundObjects } from './secrets.ts';
import { writeSecret } from './write.ts';

/** Secrets of the user and of cert-manager change without a message of a watch. */
const RECHECK_MS = 60_000;

export interface SecretsPorts {
  readonly api: Api;
  readonly clusterOf: (key: string) => CairnCluster | undefined;
  readonly events: Pick<EventRecorder, 'record'>;
}

export interface SecretsState {
  readonly adminSecretName?: string | undefined;
  readonly caSecretName?: string | undefined;
  readonly tls: Finding;
}

interface Observed {
  readonly key: string;
  readonly cluster: CairnCluster;
  readonly found: FoundObjects;
  readonly nowMs: number;
}

interface Reported {
  readonly uid: string;
  readonly faults: readonly SecretFault[];
  readonly isComplete: boolean;
}

export class SecretsController implements Controller<Observed, SecretAction> {
  readonly name = 'secrets';
  readonly #ports: SecretsPorts;
  /** Result of the last pass, by the key of the cluster. */
  readonly #reported = new Map<string, Reported>();

  constructor(ports: SecretsPorts) {
    this.#ports = ports;
  }

  recheckMs(): number {
    return RECHECK_MS;
  }

  async observe(key: string, signal: AbortSignal): Promise<Observed | undefined> {
    const { api, clusterOf } = this.#ports;
    const cluster = clusterOf(key);
    if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) {
      this.#reported.delete(key);
      return undefined;
    }
    const { namespace } = cluster.metadata;
    const read = async <Item>(kind: Kind, names: readonly string[]): Promise<ReadonlyMap<string, Item>> => {
      const found = new Map<string, Item>();
      for (const name of names) {
        const object = await api.find<Item>(kind, { namespace, name }, { signal });
        if (object !== undefined) found.set(name, object);
      }
      return found;
    };
    const { secrets, configMaps } = secretSources(cluster);
    const found = {
      secrets: await read<Secret>(SECRET, secrets),
      configMaps: await read<ConfigMap>(CONFIG_MAP, configMaps),
    };
    return { key, cluster, found, nowMs: api.runtime.wallMs() };
  }

  plan({ cluster, found, nowMs }: Observed): readonly SecretAction[] {
    return planSecrets(cluster, found, nowMs).actions;
  }

  /** Each write changes what the others depend on. */
  isIrreversible(): boolean {
    return true;
  }

  act(action: SecretAction): Promise<void> {
    return writeSecret(this.#ports.api, action);
  }

  async report({ key, cluster, found, nowMs }: Observed, { plan, done }: Outcome<SecretAction>): Promise<void> {
    const { faults } = planSecrets(cluster, found, nowMs);
    this.#reported.set(key, { uid: cluster.metadata.uid, faults, isComplete: plan.length === 0 });
    for (const { name, why } of plan.slice(0, done)) {
      const note = `writes Secret ${name}: ${why}`;
      this.#ports.events.record(cluster, { type: 'Normal', reason: 'SecretWritten', action: 'WriteSecret', note });
    }
    for (const { reason, message: note } of faults)
      this.#ports.events.record(cluster, { type: 'Warning', reason, action: 'WriteSecret', note });
  }

  stateOf(cluster: CairnCluster): SecretsState {
    const { namespace, name, uid } = cluster.metadata;
    const { disabled } = cluster.spec.tls;
    return {
      adminSecretName: mountedSecrets(cluster).auth,
      caSecretName: disabled ? undefined : namesOf(cluster).ca,
      tls: findingOf(this.#reported.get(`${namespace}/${name}`), uid, disabled),
    };
  }
}

function findingOf(reported: Reported | undefined, uid: string, isDisabled: boolean): Finding {
  if (reported?.uid !== uid) return ['Unknown', 'NotObserved', 'the Secrets are read'];
  const [fault] = reported.faults;
  if (fault !== undefined) return ['False', fault.reason, reported.faults.map(({ message }) => message).join('; ')];
  if (!reported.isComplete) return ['False', 'Issuing', 'keys and certificates are made'];
  if (isDisabled) return ['True', 'Disabled', 'tls.disabled is true'];
  return ['True', 'Issued', 'the certificates are valid and are renewed in time'];
}
