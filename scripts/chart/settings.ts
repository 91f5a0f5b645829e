/** The settings of a node as the chart has them under `config`: all that the chart does not decide itself. */
import { variableName } from '../../src/main/settings/setting.ts';
import { buildConfig, type Config } from '../../src/main/settings/settings.ts';
import type { Json, Schema } from './value.ts';

/** Settings that the chart derives from other values, or from the pod. */
export const SET_BY_CHART: readonly (keyof Config)[] = [
  'dataDir',
  'host',
  'grpcPort',
  'httpPort',
  'mcpPort',
  'metricsPort',
  'metricsHost',
  'peerPort',
  'peerHost',
  'advertiseHost',
  'bootstrap',
  'join',
  'learner',
  'zone',
  'nodeName',
  'auth',
  'authBootstrapKeyFile',
  'authGrantsFile',
  'tlsCertFile',
  'tlsKeyFile',
  'tlsCaFile',
  'tlsClientCaFile',
  'tlsClientAuth',
  'peerTlsCertFile',
  'peerTlsKeyFile',
  'peerTlsCaFile',
  'peerSecretFile',
  'peerTls',
];

interface OwnSetting {
  readonly key: string;
  readonly variable: string;
  /** The default in the server's notation. */
  readonly defaultText: string;
  readonly schema: Schema;
}

/** In the order of docs/configuration.md. */
export function ownSettings(): readonly OwnSetting[] {
  const found: OwnSetting[] = [];
  const setByChart = new Set<string>(SET_BY_CHART);
  buildConfig((key, { type, default: ownDefault, help }) => {
    const isOwn = !setByChart.has(key);
    // Helm reads `off` and `on` without quotes as booleans, as YAML 1.1 has it; the template writes the words again.
    const hasWords = type.read('on') !== undefined || type.read('off') !== undefined;
    const types: Json = hasWords ? ['string', 'number', 'boolean'] : ['string', 'number'];
    const description = `${help} Value: ${type.expects}.`;
    const schema = { type: types, description, ...boundsIn(type.expects) };
    if (isOwn) found.push({ key, variable: variableName(key), defaultText: type.write(ownDefault), schema });
    return ownDefault;
  });
  return found;
}

/** Bounds of whole numbers. A schema applies them to numbers only, so words such as `off` remain valid. */
function boundsIn(expects: string): Schema {
  const { minimum, maximum } = /, (?<minimum>\d+) to (?<maximum>\d+)$/.exec(expects)?.groups ?? {};
  return maximum === undefined ? {} : { minimum: Number(minimum), maximum: Number(maximum) };
}

export function configSchema(): Schema {
  const properties = Object.fromEntries(ownSettings().map(({ key, schema }) => [key, schema]));
  return { type: 'object', additionalProperties: false, properties };
}
