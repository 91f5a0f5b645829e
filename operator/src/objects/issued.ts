/** Certificates that cert-manager issues. */
import type { CairnCluster } from '../api/index.ts';
import { certificateNames, namesOf, peerCertificateNames } from './names.ts';
import { metadataOf, type OwnedObject, owned } from './owned.ts';

/** A new private key with each certificate. */
const PRIVATE_KEY = { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always' };
/** Nodes are clients of each other. */
const USAGES = ['server auth', 'client auth'];

export function certificatesOf(cluster: CairnCluster): readonly OwnedObject[] {
  const { tls, peers } = cluster.spec;
  const names = namesOf(cluster);
  const wanted = [
    { issuerRef: tls.issuerRef, secretName: names.tls, dnsNames: certificateNames(cluster) },
    { issuerRef: peers.issuerRef, secretName: names.peer, dnsNames: peerCertificateNames(cluster) },
  ];
  const { duration, renewBefore } = tls;
  return wanted
    .filter(({ issuerRef }) => issuerRef !== undefined)
    .map((each) => {
      const spec = { ...each, duration, renewBefore, privateKey: PRIVATE_KEY, usages: USAGES };
      return owned('Certificate', metadataOf(cluster, { name: each.secretName }), { spec });
    });
}
