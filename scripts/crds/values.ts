/** The values of the chart cairn-crds. */
import { flag, type Group, group, textMap, value } from '../chart/value.ts';

export const CRD_VALUES: Group = group('', {
  crds: group('The CustomResourceDefinitions.', {
    enabled: value(flag, true, 'Whether the release has them. false: they are installed in another way.'),
    keep: value(
      flag,
      true,
      'Whether they stay when the release is uninstalled. false: they are deleted, and with them every object of their kinds.',
    ),
    labels: value(textMap, {}, 'Labels of the definitions.'),
    annotations: value(textMap, {}, 'Annotations of the definitions.'),
  }),
});
