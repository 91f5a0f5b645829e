{{- /* Generated from operator/src/rights.ts by `npm run docs`. */ -}}
{{- define "cairn-operator.rights.watched" -}}
- {apiGroups: ["cairn.dev"], resources: [cairnclusters], verbs: [get, list, patch, watch]}
- {apiGroups: ["cairn.dev"], resources: [cairnclusters/status], verbs: [patch]}
- {apiGroups: ["cairn.dev"], resources: [eventaccesses], verbs: [list, patch, watch]}
- {apiGroups: ["cairn.dev"], resources: [eventaccesses/status], verbs: [patch]}
- {apiGroups: ["cairn.dev"], resources: [eventdatabases], verbs: [list, patch, watch]}
- {apiGroups: ["cairn.dev"], resources: [eventdatabases/status], verbs: [patch]}
- {apiGroups: ["cairn.dev"], resources: [presenters], verbs: [list, patch, watch]}
- {apiGroups: ["cairn.dev"], resources: [presenters/status], verbs: [patch]}
- {apiGroups: ["cairn.dev"], resources: [statechanges], verbs: [list, patch, watch]}
- {apiGroups: ["cairn.dev"], resources: [statechanges/status], verbs: [patch]}
- {apiGroups: ["cairn.dev"], resources: [stateviews], verbs: [list, patch, watch]}
- {apiGroups: ["cairn.dev"], resources: [stateviews/status], verbs: [patch]}
- {apiGroups: ["cairn.dev"], resources: [cairnclusters/finalizers], verbs: [update]}
- {apiGroups: ["cairn.dev"], resources: [eventaccesses/finalizers], verbs: [update]}
- {apiGroups: [""], resources: [services], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["networking.k8s.io"], resources: [networkpolicies], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["policy"], resources: [poddisruptionbudgets], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["apps"], resources: [statefulsets], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["cert-manager.io"], resources: [certificates], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["networking.k8s.io"], resources: [ingresses], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["gateway.networking.k8s.io"], resources: [grpcroutes], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["gateway.networking.k8s.io"], resources: [httproutes], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["gateway.networking.k8s.io"], resources: [tlsroutes], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["monitoring.coreos.com"], resources: [servicemonitors], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["monitoring.coreos.com"], resources: [podmonitors], verbs: [create, delete, list, patch, watch]}
- {apiGroups: ["monitoring.coreos.com"], resources: [prometheusrules], verbs: [create, delete, list, patch, watch]}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [create, list, patch, watch]}
- {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, watch]}
- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [delete, list, patch, watch]}
- {apiGroups: [""], resources: [pods], verbs: [create, delete, list, patch, watch]}
- {apiGroups: [""], resources: [secrets], verbs: [create, get, patch, update]}
- {apiGroups: ["events.k8s.io"], resources: [events], verbs: [create, patch]}
{{- end }}
{{- define "cairn-operator.rights.cluster" -}}
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
{{- end }}
{{- define "cairn-operator.rights.own" -}}
- {apiGroups: ["coordination.k8s.io"], resources: [leases], verbs: [create, get, update]}
{{- end }}
