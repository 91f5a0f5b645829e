/** Security settings of a cluster: authentication, authorization, and TLS for clients and between nodes. */
import { databasePattern, duration, objectName, ROLES } from './fragments.ts';
import { hostNames } from './network.ts';
import * as f from './schema.ts';

const ISSUER: f.Shape = f.shape('IssuerRef', {
  name: objectName('The name of the issuer.'),
  kind: f.text('Issuer, ClusterIssuer, or the kind of an external issuer.', 63, { min: 1, default: 'Issuer' }),
  group: f.text('Its API group.', 253, { min: 1, default: 'cert-manager.io' }),
});

const CLIENT_CERTIFICATES: f.Shape = f.shape('ClientCertificates', {
  mode: f.choice('Require: every client of gRPC shows a certificate. Request: a client may show one.', [
    'Request',
    'Require',
  ]),
  caSecretName: objectName('A Secret with the authorities of clients, as ca.crt. Those of the nodes are added.'),
});

const AUTHORITIES =
  'A ConfigMap with authorities as ca.crt, which are trusted instead of the one in the Secret: two of them while one replaces the other. Changes in it restart no pod.';

/** An authority of the operator's own is replaced by the operator. */
const AUTHORITIES_RULE: f.Rule = {
  rule: '!has(self.caConfigMapName) || has(self.issuerRef) || has(self.secretName)',
  message: 'caConfigMapName needs issuerRef or secretName: set one of them, or remove caConfigMapName',
};

export const TLS: f.Shape = f.shape(
  'TLS',
  {
    'issuerRef?': f.object('The issuer of cert-manager that signs the certificate.', ISSUER),
    'secretName?': objectName(
      'An existing Secret with tls.crt, tls.key and ca.crt, for the names of the pods (*.NAME-headless.NAMESPACE.svc.DOMAIN) and of the Service. A renewed certificate is used within seconds.',
    ),
    'caConfigMapName?': objectName(AUTHORITIES),
    disabled: f.flag('true: keys and events travel unencrypted. TLS cannot be disabled once a cluster has it.', {
      default: false,
    }),
    'dnsNames?': hostNames('Further names in the certificate, such as those that clients use outside.'),
    duration: duration('Validity of a certificate.', { default: '2160h' }),
    renewBefore: duration('Time before its end at which a certificate is renewed.', { default: '720h' }),
    'clientCertificates?': f.object('Certificates that clients of gRPC show.', CLIENT_CERTIFICATES),
  },
  [
    f.atMostOne('issuerRef', 'secretName'),
    {
      rule: '!self.disabled || !(has(self.issuerRef) || has(self.secretName) || has(self.clientCertificates))',
      message: 'issuerRef, secretName and clientCertificates have no effect while disabled is true: remove them',
    },
    AUTHORITIES_RULE,
    {
      rule: '!self.disabled || oldSelf.disabled',
      message: 'disabled cannot become true, because the clients of this cluster use TLS: leave it false',
    },
    {
      rule: 'duration(self.renewBefore) < duration(self.duration)',
      message: 'renewBefore must be shorter than duration: lower renewBefore, or raise duration',
    },
    {
      rule: "duration(self.duration) >= duration('1h') && duration(self.renewBefore) >= duration('5m')",
      message:
        'duration must be at least 1h and renewBefore at least 5m: pods see a new certificate after a minute or two',
    },
  ],
);

export const PEERS: f.Shape = f.shape(
  'Peers',
  {
    'issuerRef?': f.object(
      'The issuer of cert-manager that signs certificates for the nodes of this cluster alone.',
      ISSUER,
    ),
    'secretName?': objectName('An existing Secret with tls.crt, tls.key and ca.crt for servers and clients.'),
    'caConfigMapName?': objectName(AUTHORITIES),
  },
  [
    f.atMostOne('issuerRef', 'secretName'),
    AUTHORITIES_RULE,
    {
      rule: '(has(self.issuerRef) || has(self.secretName)) == (has(oldSelf.issuerRef) || has(oldSelf.secretName))',
      message:
        'issuerRef and secretName cannot be added or removed later, because nodes with certificates and nodes with a shared secret refuse each other: set what was there',
    },
  ],
);

const PROVIDER_GRANT: f.Shape = f.shape('ProviderGrant', {
  role: f.choice('The role of Cairn (docs/security.md).', ROLES),
  databases: databasePattern('Names of databases, where * stands for any characters.', { default: '*' }),
});

const PROVIDER_ROLE: f.Shape = f.shape('ProviderRole', {
  name: f.text('The role, as the identity provider names it.', 255, { min: 1 }),
  grants: f.list('Roles of Cairn that it has.', f.object('A role of Cairn on databases.', PROVIDER_GRANT), 32, {
    min: 1,
  }),
});

export const AUTH: f.Shape = f.shape(
  'Auth',
  {
    enabled: f.flag('true: requests need a credential. false: everybody who reaches a port may do everything.', {
      default: true,
    }),
    'adminSecretName?': objectName(
      'An existing Secret with the key of the first administrator, as bootstrap-key. Without it the operator makes a random key, in the Secret that status.adminSecretName names.',
    ),
    'roles?': f.list(
      'Roles of your identity provider and their permissions. A change restarts the pods.',
      f.object('One role.', PROVIDER_ROLE),
      64,
      { merge: { keys: ['name'] } },
    ),
  },
  [
    {
      rule: 'self.enabled || (!has(self.roles) && !has(self.adminSecretName))',
      message: 'roles and adminSecretName have no effect while enabled is false: remove them, or set enabled to true',
    },
  ],
);
