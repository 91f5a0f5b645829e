// The Secrets and ConfigMaps of a namespace in memory, and a controller that carries out plans for them.
import type { CairnCluster } from '../../../operator/src/api/index.ts';
import { planSecrets, type SecretPlan, secretOf } from '../../../operator/src/certificates/index.ts';
import { type ConfigMap, dataOf, type Secret, textIn } from '../../../operator/src/kube/index.ts';

/** More passes than any plan needs. */
const PASSES_MAX = 10;

export class Namespace {
  readonly secrets: Map<string, Secret> = new Map();
  readonly configMaps: Map<string, ConfigMap> = new Map();

  plan(cluster: CairnCluster, nowMs: number): SecretPlan {
    return planSecrets(cluster, this, nowMs);
  }

  /** Plans and acts until nothing is left to do. Returns the reasons of the actions in order. */
  async reconcile(cluster: CairnCluster, nowMs: number): Promise<readonly string[]> {
    const done: string[] = [];
    for (let pass = 0; pass < PASSES_MAX; pass += 1) {
      const { actions } = this.plan(cluster, nowMs);
      if (actions.length === 0) return done;
      for (const action of actions) {
        const made: Secret = JSON.parse(JSON.stringify(await secretOf(action)));
        this.secrets.set(action.name, made);
        done.push(`${action.name}: ${action.why}`);
      }
    }
    throw new Error(`the plan does not become empty: ${done.join('; ')}`);
  }

  text(name: string, key: string): string {
    return textIn(this.secrets.get(name), key) ?? '';
  }

  set(name: string, texts: Readonly<Record<string, string>>, metadata: object = {}): void {
    const whole = { namespace: 'prod', name, uid: name, resourceVersion: '1', ...metadata };
    this.secrets.set(name, { metadata: whole, data: dataOf(texts) });
  }
}
